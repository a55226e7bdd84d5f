import ArgumentParser
import BBDongles
import BBTiming
import BBTransport
import BBTransportUSB
import Foundation

/// The options for the firmware of dongles.
struct FirmwareOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Firmware folder with rtl_bt and intel in it, or none to load nothing. Default: the variable \
            \(FirmwareFolders.variable), or /lib/firmware.
            """, valueName: "folder"), completion: .directory)
    var firmware: String?
    @Flag(help: "Open USB dongles that are known to fail, such as on macOS 26 or with an unknown class.") var forceUSB = false
    @Option(
        help: ArgumentHelp("Factor for the start timeouts of USB dongles.", valueName: "factor", visibility: .hidden))
    var usbTimeout = 1.0
    @OptionGroup var known: KnownDonglesOptions

    /// Returns the options for opening USB dongles, with the table of known dongles.
    func usb() throws -> USBOptions {
        var options = USBOptions().knowing(try known.read())
        options.isForced = forceUSB
        options.limits = options.limits.scaled(by: max(0.01, usbTimeout))
        return options
    }

    func opener(asksEveryChip: Bool = false) throws -> DeviceOpener {
        DeviceOpener(firmware: folders, asksEveryChip: asksEveryChip, usb: try usb())
    }

    var folders: FirmwareFolders { FirmwareFolders(firmware ?? ProcessInfo.processInfo.environment[FirmwareFolders.variable]) }

    /// Opens a device for a tool that uses only this device. A dongle receives its firmware; another device only if a folder is given.
    func open(_ selector: DeviceSelector, on loop: BBTiming.RunLoop) throws -> any HCITransport {
        guard selector != .virtual else {
            throw CommandFailure(
                .usage, "a virtual device has nobody else on its air: serve some with `bluebench dongle --tcp 0 --count 2` and use tcp:")
        }
        let transport = try opener(asksEveryChip: firmware != nil).open(selector, on: loop)
        guard let outcome = transport.firmware else { return transport }
        let isNews = if case .loaded = outcome { true } else { transport.dongle == nil }
        if isNews { Console.line("\(transport.name): \(outcome)") }
        return transport
    }
}
