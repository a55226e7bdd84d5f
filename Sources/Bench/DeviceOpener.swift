import BBDongles
import BBTiming
import BBTransport
import BBTransportUSB

/// Opens devices by selector: the pipe, the firmware that the device needs, and what is known of it. Nothing else opens a device.
public struct DeviceOpener: Sendable {
    public var firmware: FirmwareFolders
    /// False to ask a dongle for the firmware that it needs, without loading it.
    public var loadsFirmware = true
    /// True to check chips behind a socket or a serial line for missing firmware, too. Some controllers do not tolerate the check.
    public var asksEveryChip: Bool
    /// Options for USB dongles; workarounds and refusals come from the table of known dongles.
    public var usb: USBOptions
    private let table: KnownDongles?
    /// The table of known dongles.
    public var known: KnownDongles { table ?? .builtIn }

    /// - Parameter known: nil for the built-in table, which is read when it is needed.
    public init(
        firmware: FirmwareFolders = .system, known: KnownDongles? = nil, usb: USBOptions = USBOptions(), asksEveryChip: Bool = false
    ) {
        self.firmware = firmware
        self.usb = usb
        self.asksEveryChip = asksEveryChip
        table = known
    }

    /// The device of a selector. Firmware is loaded when its pipe is opened, before the first packet of the opener.
    ///
    /// - Throws: `TransportError`. A virtual device cannot be opened from outside its simulation.
    public func device(_ selector: DeviceSelector, on loop: RunLoop) throws -> BenchDevice {
        BenchDevice(pipe: try pipe(to: selector, on: loop), known: table)
    }

    /// Opens the pipe of a device and runs the loop until the device has its firmware.
    public func open(_ selector: DeviceSelector, on loop: RunLoop) throws -> BenchDevice {
        let device = try device(selector, on: loop)
        if device.isChecked { try loop.run { try await device.prepare() } }
        return device
    }

    private func pipe(to selector: DeviceSelector, on loop: RunLoop) throws -> any HCITransport {
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
        case .usb(let dongle): return checked(try USBTransport(dongle, options: usb.knowing(known), on: loop), on: loop)
        }
        return asksEveryChip ? checked(pipe, on: loop) : pipe
    }

    private func checked(_ pipe: any HCITransport, on loop: RunLoop) -> any HCITransport {
        FirmwareTransport(pipe, folders: firmware, onlyAsks: !loadsFirmware, on: loop)
    }
}
