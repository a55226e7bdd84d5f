import BBHCI
import BBPackets
import BBTiming
import BBTraffic
import BBTransport

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
    private var tracker = ConnectionTracker()
    /// The open connections by their index in the scheduler, which avoids a search for each packet.
    private var rows: [PeerLink?] = []
    private var voices: [ConnectionHandle: SynchronousConnection] = [:]
    /// Data received before the event that announces its connection, on transports with several pipes.
    private var eventOrder = EventOrder()
    private var orderTimer: Timer?
    private var loop: RunLoop { context.loop }
    private var scheduler: ACLScheduler { context.scheduler }

    init(loop: RunLoop, transport: any HCITransport, server: GATTServer) {
        self.transport = transport
        context = HostContext(loop: loop, scheduler: ACLScheduler(), server: server)
        context.scheduler.transmit = { [unowned self] in send($0) }
        context.scheduler.onWritable = { [unowned self] slot, lane in
            link(at: slot)?.acl.multiplexer.becameWritable(lane: lane)
        }
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

    var links: [PeerLink] { rows.compactMap { $0 } }

    private func link(at slot: Int) -> PeerLink? { rows.indices.contains(slot) ? rows[slot] : nil }
    private func link(_ handle: ConnectionHandle) -> PeerLink? { scheduler.slot(of: handle.rawValue).flatMap { link(at: $0) } }

    func connection(_ handle: ConnectionHandle) -> Connection? { link(handle)?.le }
    func classicConnection(_ handle: ConnectionHandle) -> ClassicConnection? { link(handle)?.classic }
    func classicConnection(to address: BDADDR) -> ClassicConnection? { links.lazy.compactMap(\.classic).first { $0.address == address } }

    func add(_ link: PeerLink, slot: Int) {
        while rows.count <= slot { rows.append(nil) }
        rows[slot] = link
    }

    func remove(_ link: ACLLink) {
        let handle = link.handle.rawValue
        guard let slot = scheduler.slot(of: handle), self.link(at: slot)?.acl === link else { return }
        rows[slot] = nil
        scheduler.close(handle: handle)
    }

    func add(_ voice: SynchronousConnection) { voices[voice.handle] = voice }

    /// The handle's connection has ended.
    func closed(_ handle: ConnectionHandle, _ reason: ErrorCode) {
        voices.removeValue(forKey: handle)?.ended(reason)
        if let link = link(handle) { host?.end(link.acl, reason) }
    }

    /// All connections have ended; all buffers are free.
    func endConnections(_ error: HostError, reason: ErrorCode) {
        for (_, voice) in voices.sorted(by: { $0.key < $1.key }) { voice.ended(reason) }
        for link in links { link.acl.ended(error, reason: reason) }
        voices.removeAll()
        rows.removeAll()
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
        guard let link = link(header.handle) else { return hold(packet) }
        link.acl.multiplexer.received(boundary: header.boundary, fragment)
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

    /// The change of a connection that an event reports.
    func change(by event: HCIPacket) throws(PDUError) -> ConnectionChange? { try tracker.received(event) }

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
