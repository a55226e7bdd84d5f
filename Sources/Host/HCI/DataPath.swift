import HCI
import Packets
import Timing
import Transport

/// The host's end of the pipe: processing of each packet, without suspension.
///
/// ACL data is passed to its connection, completed packets to the scheduler, events to the host. The connection tracker sees all packets.
final class DataPath: HCITransportSink {
    let transport: any HCITransport
    let observers = Listeners<PacketObserver>()
    let context: HostContext
    /// The host, until everything has ended.
    var host: Host?
    /// State of the connections from the packets.
    var tracker = ConnectionTracker()
    private(set) var connections = ConnectionTable<Connection>()
    private(set) var classicConnections = ConnectionTable<ClassicConnection>()
    var voices: [ConnectionHandle: SynchronousConnection] = [:]
    /// Data received before the event that announces its connection, on transports with several pipes.
    private var eventOrder = EventOrder()
    private var orderTimer: Timer?
    private var loop: RunLoop { context.loop }
    private var scheduler: ACLScheduler { context.scheduler }

    init(loop: RunLoop, transport: any HCITransport, server: GATTServer) {
        self.transport = transport
        // The scheduler must not retain the path that owns it.
        let outlet = Outlet()
        context = HostContext(loop: loop, scheduler: ACLScheduler { outlet.path?.send($0) }, server: server)
        outlet.path = self
        context.scheduler.onWritable = { [unowned self] slot, lane in
            if let connection = connections[slot] { return connection.becameWritable(lane: lane) }
            classicConnections[slot]?.becameWritable(lane: lane)
        }
    }

    private final class Outlet {
        unowned var path: DataPath?
    }

    /// Number of packets dropped because their connection was never reported.
    var droppedData: Int { eventOrder.statistics.dropped }

    func send(_ packet: HCIPacket) {
        observers.tell { $0(.sent, packet, loop.now) }
        if packet.kind == .command { _ = tracker.sent(packet) }
        transport.send(packet)
    }

    // MARK: HCITransportSink

    func received(_ packet: HCIPacket, at time: Microseconds) {
        observers.tell { $0(.received, packet, time) }
        switch packet.kind {
        case .acl: receivedData(packet)
        case .event:
            if packet.eventCode == HCIEvents.NumberOfCompletedPackets.code {
                receivedCredits(packet)
            } else {
                host?.received(event: packet)
            }
        case .sco: receivedVoice(packet)
        case .command, .iso: context.counters.unknownEvents += 1
        }
    }

    func closed(_ reason: TransportError) {
        host?.transportClosed(reason)
    }

    // MARK: Connections

    func add(_ connection: Connection, slot: Int) { connections[slot] = connection }

    func remove(_ connection: Connection) {
        let handle = connection.handle.rawValue
        guard let slot = scheduler.slot(of: handle), connections[slot] === connection else { return }
        connections[slot] = nil
        scheduler.close(handle: handle)
    }

    func add(_ connection: ClassicConnection, slot: Int) { classicConnections[slot] = connection }

    func remove(_ connection: ClassicConnection) {
        let handle = connection.handle.rawValue
        guard let slot = scheduler.slot(of: handle), classicConnections[slot] === connection else { return }
        classicConnections[slot] = nil
        scheduler.close(handle: handle)
    }

    func classicConnection(_ handle: ConnectionHandle) -> ClassicConnection? {
        scheduler.slot(of: handle.rawValue).flatMap { classicConnections[$0] }
    }

    func connection(_ handle: ConnectionHandle) -> Connection? { scheduler.slot(of: handle.rawValue).flatMap { connections[$0] } }

    /// All connections have ended; all buffers are free.
    func forgetConnections() {
        voices.removeAll()
        connections.removeAll()
        classicConnections.removeAll()
        scheduler.closeAll()
    }

    // MARK: Data

    private func receivedData(_ packet: HCIPacket) {
        let span = packet.bytes.span.bytes
        guard let header = ACLHeader(span), Int(header.length) == span.byteCount - ACLHeader.octets else {
            context.counters.malformedData += 1
            return
        }
        let fragment = span.extracting(ACLHeader.octets...)
        if let connection = connection(header.handle) { return connection.received(boundary: header.boundary, fragment) }
        guard let connection = classicConnection(header.handle) else { return hold(packet) }
        connection.received(boundary: header.boundary, fragment)
    }

    /// Voice received before its connection is reported, or after its end, is dropped.
    private func receivedVoice(_ packet: HCIPacket) {
        guard packet.isWhole, let data = try? HCIData.SynchronousData(prefixOf: packet.bytes) else {
            context.counters.malformedData += 1
            return
        }
        guard let voice = voices[data.connectionHandle] else {
            context.counters.strayData += 1
            return
        }
        voice.receive(data)
    }

    private func receivedCredits(_ packet: HCIPacket) {
        let isWhole = HCIEvents.NumberOfCompletedPackets.forEach(in: packet) { scheduler.completed(handle: $0.rawValue, count: $1) }
        if !isWhole { context.counters.malformedEvents += 1 }
    }

    // MARK: Order of data and events

    /// Delivers data that was held for this change.
    func order(_ change: ConnectionChange) {
        let released = eventOrder.changed(change, at: loop.now)
        context.counters.heldData += released.count
        for packet in released { receivedData(packet) }
    }

    private func hold(_ packet: HCIPacket) {
        if eventOrder.admit(packet, at: loop.now) { context.counters.strayData += 1 }
        watchOrder()
    }

    private func watchOrder() {
        guard orderTimer == nil, let deadline = eventOrder.deadline else { return }
        orderTimer = loop.schedule(at: deadline) { [weak self] in
            guard let self else { return }
            orderTimer = nil
            for packet in eventOrder.expire(at: loop.now) { receivedData(packet) }
            watchOrder()
        }
    }
}
