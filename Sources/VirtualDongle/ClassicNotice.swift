import Packets
import Timing
import Transport

/// Wraps LE-only controllers and reports, once per controller, that a host uses BR/EDR commands.
public final class ClassicNotice: DongleBackend {
    public var count: Int { inner.count }
    private let inner: any DongleBackend
    private let tell: (_ controller: Int, _ command: String) -> Void
    private var told: Set<Int> = []

    public init(_ inner: any DongleBackend, tell: @escaping (_ controller: Int, _ command: String) -> Void) {
        self.inner = inner
        self.tell = tell
    }

    public func attach(_ index: Int, to end: any HCITransport) throws {
        try inner.attach(
            index,
            to: Tap(end) { [weak self] name in
                guard let self, told.insert(index).inserted else { return }
                tell(index, name)
            })
    }

    public func portWasReset(_ index: Int) { inner.portWasReset(index) }
    public func wasOpened(_ index: Int) { inner.wasOpened(index) }

    /// A controller's end of a pipe that watches for unknown commands.
    private final class Tap: HCITransport, HCITransportSink {
        var name: String { inner.name }
        private let inner: any HCITransport
        private let refused: (String) -> Void
        private var sink: (any HCITransportSink)?

        init(_ inner: any HCITransport, refused: @escaping (String) -> Void) {
            self.inner = inner
            self.refused = refused
        }

        func open(_ sink: any HCITransportSink) throws(TransportError) {
            self.sink = sink
            try inner.open(self)
        }

        func send(_ packet: HCIPacket) {
            if let name = Self.unknownCommand(packet) { refused(name) }
            inner.send(packet)
        }

        func close() {
            sink = nil
            inner.close()
        }

        func received(_ packet: HCIPacket, at time: Microseconds) { sink?.received(packet, at: time) }

        func closed(_ reason: TransportError) {
            let sink = self.sink
            self.sink = nil
            sink?.closed(reason)
        }

        /// Name of the BR/EDR command that an answer reports as unknown: a command of the specification outside the LE group.
        private static func unknownCommand(_ packet: HCIPacket) -> String? {
            let status =
                (try? packet.event(as: HCIEvents.CommandStatus.self))?.status.rawValue
                ?? (try? packet.event(as: HCIEvents.CommandComplete.self))?.returnParameters.first
            guard status == ErrorCode.unknownHCICommand.rawValue, let opcode = packet.answeredOpcode, opcode >> 10 < 0x08 else {
                return nil
            }
            return PDUCatalog.command(opcode: opcode)?.name
        }
    }
}
