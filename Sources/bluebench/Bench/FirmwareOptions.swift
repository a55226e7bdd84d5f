import ArgumentParser
import BBBench
import BBTiming
import BBTransport
import BBTransportUSB
import Foundation

extension USBMode: ExpressibleByArgument {}

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
        help: ArgumentHelp(
            "Mode of HCI over USB: auto, legacy or serialised (Bulk Serialization). auto is legacy until the host needs ISO data.",
            valueName: "mode"))
    var usbMode = USBMode.auto
    @Option(
        help: ArgumentHelp("Factor for the start timeouts of USB dongles.", valueName: "factor", visibility: .hidden))
    var usbTimeout = 1.0
    @OptionGroup var known: KnownDonglesOptions

    func opener(asksEveryChip: Bool = false) throws -> DeviceOpener {
        var usb = USBOptions()
        usb.isForced = forceUSB
        usb.mode = usbMode
        usb.limits = usb.limits.scaled(by: max(0.01, usbTimeout))
        return DeviceOpener(firmware: folders, known: try known.read(), usb: usb, asksEveryChip: asksEveryChip)
    }

    /// Opens the devices of a tool. A dongle receives its firmware; another device only if a folder is given.
    func toolOpener() throws -> DeviceOpener { try opener(asksEveryChip: firmware != nil) }

    private var folders: FirmwareFolders { FirmwareFolders(firmware ?? ProcessInfo.processInfo.environment[FirmwareFolders.variable]) }

    /// Opens a device for a tool that uses only this device.
    func open(_ selector: DeviceSelector, on loop: BBTiming.RunLoop) throws -> BenchDevice {
        guard selector != .virtual else {
            throw CommandFailure(
                .usage, "'virtual' has no peers here: start some with `bluebench dongle --tcp 0 --count 2`, then use tcp:HOST:PORT")
        }
        let device = try toolOpener().open(selector, on: loop)
        guard let outcome = device.firmware else { return device }
        let isNews = if case .loaded = outcome { true } else { device.dongle == nil }
        if isNews { Console.line("\(device.name): \(outcome)") }
        return device
    }
}
