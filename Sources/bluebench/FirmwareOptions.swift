import ArgumentParser
import Foundation
import TransportUSB

/// Where dongles that wait for firmware get it from.
struct FirmwareOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Where firmware for dongles is: a folder with rtl_bt and intel in it, or none to load nothing. Else the variable \
            \(FirmwareFolders.variable), else /lib/firmware.
            """, valueName: "folder"))
    var firmware: String?

    var folders: FirmwareFolders { FirmwareFolders(firmware ?? ProcessInfo.processInfo.environment[FirmwareFolders.variable]) }
}
