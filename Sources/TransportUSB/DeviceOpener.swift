import Timing
import Transport

/// Opens devices by their selectors and gives them the firmware that they need.
public struct DeviceOpener: Sendable {
    public var firmware: FirmwareFolders
    /// Also a chip behind a socket or a serial line is asked whether it needs firmware. Not every controller likes that.
    public var asksEveryChip: Bool

    /// How dongles on USB are opened.
    public var usb: USBOptions

    public init(firmware: FirmwareFolders, asksEveryChip: Bool = false, usb: USBOptions = USBOptions()) {
        self.firmware = firmware
        self.usb = usb
        self.asksEveryChip = asksEveryChip
    }

    /// The pipe to a device. Firmware is brought in when the pipe is opened, before the first packet of whoever opens it.
    ///
    /// - Throws: `TransportError`; a virtual device has no pipe from outside its simulation.
    public func transport(to selector: DeviceSelector, on loop: RunLoop) throws -> any HCITransport {
        let pipe: any HCITransport
        switch selector {
        case .virtual: throw TransportError.unreachable("a virtual device from outside the simulation")
        case .socket(let address): pipe = try H4Transport.connect(to: address, on: loop)
        case .guarded(let address): pipe = try H4Transport.connectWithToken(to: address, on: loop)
        case .serial(let path, let speed): pipe = try H4Transport.serial(path, speed: speed, on: loop)
        case .usb(let dongle): return FirmwareTransport(try USBTransport(dongle, options: usb, on: loop), folders: firmware, on: loop)
        }
        return asksEveryChip ? FirmwareTransport(pipe, folders: firmware, on: loop) : pipe
    }

    /// The pipe to a device that has its firmware; the loop runs until then.
    public func open(_ selector: DeviceSelector, on loop: RunLoop) throws -> any HCITransport {
        let transport = try transport(to: selector, on: loop)
        if let transport = transport as? FirmwareTransport { _ = try loop.run { try await transport.prepare() } }
        return transport
    }
}
