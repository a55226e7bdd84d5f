import BBDongles
import BBHCI
import BBHost
import BBTiming
import BBTransport
import BBTransportUSB

/// A device of the bench: the pipe to its controller, and what is known of the controller.
public struct BenchDevice {
    /// The pipe for the user of the device.
    public let transport: any HCITransport
    /// The pipe without observers.
    private let pipe: any HCITransport
    private let table: KnownDongles?

    init(pipe: any HCITransport, known table: KnownDongles?) { self.init(pipe, seenThrough: pipe, table) }

    private init(_ pipe: any HCITransport, seenThrough transport: any HCITransport, _ table: KnownDongles?) {
        (self.pipe, self.transport, self.table) = (pipe, transport, table)
    }

    public var name: String { transport.name }
    /// The USB dongle; nil for another device.
    public var dongle: USBTransport? { pipe.dongle }
    /// Result of the firmware check; nil before it, after a failure, and for a device that is not checked.
    public var firmware: FirmwareOutcome? { pipe.firmware }
    /// The entries of the controller in the table of known dongles.
    public var knowledge: ControllerKnowledge { (table ?? .builtIn).knowledge(of: pipe) }
    /// True if the device is checked for missing firmware.
    var isChecked: Bool { pipe is FirmwareTransport }

    /// Opens the pipe and waits until the chip has its firmware; returns at once for a device that is not checked.
    ///
    /// - Throws: `TransportError.unprepared` with the cause, or the reason why the pipe ended.
    public func prepare() async throws { try await pipe.loadFirmware() }

    /// The device with a transport that observes its packets.
    public func observed(by wrap: (any HCITransport) throws -> any HCITransport) rethrows -> BenchDevice {
        BenchDevice(pipe, seenThrough: try wrap(transport), table)
    }

    /// Returns a host on the device, which works around what is known of its controller.
    ///
    /// - Parameter seed: determines addresses and keys on a loop in virtual time.
    public func host(on loop: RunLoop, database: GATTDatabase = GATTDatabase(), seed: UInt64 = 0) -> Host {
        let host = Host(loop: loop, transport: transport, database: database, seed: seed)
        host.knowledge = knowledge
        return host
    }
}
