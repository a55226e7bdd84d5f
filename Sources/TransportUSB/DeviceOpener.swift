import BBTiming
import BBTransport

/// Opens devices by selector and loads the firmware they need.
public struct DeviceOpener: Sendable {
    public var firmware: FirmwareFolders
    /// True to check chips behind a socket or a serial line for missing firmware, too. Some controllers do not tolerate the check.
    public var asksEveryChip: Bool

    /// Options for USB dongles.
    public var usb: USBOptions

    public init(firmware: FirmwareFolders, asksEveryChip: Bool = false, usb: USBOptions = USBOptions()) {
        self.firmware = firmware
        self.usb = usb
        self.asksEveryChip = asksEveryChip
    }

    /// The pipe to a device. Firmware is loaded when the pipe is opened, before the first packet of the opener.
    ///
    /// - Throws: `TransportError`. A virtual device cannot be opened from outside its simulation.
    public func transport(to selector: DeviceSelector, on loop: RunLoop) throws -> any HCITransport {
        let pipe: any HCITransport
        switch selector {
        case .virtual: throw TransportError.unreachable("a virtual device from outside the simulation")
        case .socket(let address): pipe = try H4Transport.connect(to: address, on: loop)
        case .guarded(let address): pipe = try H4Transport.connectWithToken(to: address, on: loop)
        case .virtualTime(let address, let clients):
            guard loop.mode == .virtual, loop.watchesDescriptors, loop.gate == nil else {
                throw TransportError.unreachable(
                    "\(selector): only one device of a command can be in virtual time: the tester of run, or the device of a tool")
            }
            return try VirtualTimeClient(address, clients: clients, on: loop)
        case .serial(let path, let speed): pipe = try H4Transport.serial(path, speed: speed, on: loop)
        case .usb(let dongle): return FirmwareTransport(try USBTransport(dongle, options: usb, on: loop), folders: firmware, on: loop)
        }
        return asksEveryChip ? FirmwareTransport(pipe, folders: firmware, on: loop) : pipe
    }

    /// Opens the pipe and runs the loop until the device has its firmware.
    public func open(_ selector: DeviceSelector, on loop: RunLoop) throws -> any HCITransport {
        let transport = try transport(to: selector, on: loop)
        if transport is FirmwareTransport { try loop.run { try await transport.loadFirmware() } }
        return transport
    }
}
