import HCI
import Packets
import Timing
import Transport

/// Which way a packet crossed the host controller interface, seen from the host.
public enum PacketDirection: Sendable, Hashable {
    case sent
    case received
}

/// Sees every packet between host and controller, as it crosses, on the loop.
public typealias PacketObserver = (PacketDirection, HCIPacket, Microseconds) -> Void

/// Identifies an observer so that it can be removed.
public struct ObserverID: Sendable, Hashable {
    let value: Int
}

/// Things a host counts about its controller's conduct; all zero with a good one.
public struct HostCounters: Sendable, Equatable {
    /// Events with a length that does not match, or fields that do not fit.
    public var malformedEvents = 0
    public var unknownEvents = 0
    /// ACL packets whose length does not match or whose fragments make no PDU.
    public var malformedData = 0
    /// ACL packets for handles that never became links.
    public var strayData = 0
    /// ACL packets that came before their connection's event, held and then delivered.
    public var heldData = 0
    /// PDUs on channels that nobody listens to.
    public var unknownChannels = 0
    /// Hardware Error events.
    public var hardwareErrors = 0
    /// Data Buffer Overflow events: the controller lost data that its own credits had let through.
    public var bufferOverflows = 0
    /// Answers to commands that were not outstanding.
    public var strayAnswers = 0
    /// Reports lost because a scan's reader was too slow.
    public var droppedReports = 0
    public init() {}
}

/// The host's end of the pipe: what runs per packet, without suspension.
final class DataPath: HCITransportSink {
    let loop: RunLoop
    let transport: any HCITransport
    let scheduler: ACLScheduler
    /// Until everything has ended.
    var host: Host?
    var counters = HostCounters()
    var quirks = HostQuirks()
    var database = GATTDatabase()
    /// The ATT_MTU offered to clients.
    var offeredMTU = ATTBearer.maximumMTU
    /// By scheduler slot.
    private(set) var links: [Link?] = []
    private var observers: [(id: ObserverID, call: PacketObserver)] = []
    private var nextObserver = 0
    /// What the packets say about connections.
    var tracker = ConnectionTracker()
    /// Data that came before the event that announces its link, on transports with several pipes.
    private var eventOrder = EventOrder()
    private var orderTimer: Timer?

    init(loop: RunLoop, transport: any HCITransport) {
        self.loop = loop
        self.transport = transport
        // The scheduler must not own the path that owns it.
        let outlet = Outlet()
        scheduler = ACLScheduler { packet in outlet.path?.send(packet) }
        outlet.path = self
        scheduler.onWritable = { [unowned self] slot in
            if slot < links.count { links[slot]?.becameWritable() }
        }
    }

    private final class Outlet {
        unowned var path: DataPath?
    }

    /// Data whose link never came.
    var droppedData: Int { eventOrder.statistics.dropped }

    func addObserver(_ observer: @escaping PacketObserver) -> ObserverID {
        nextObserver += 1
        let id = ObserverID(value: nextObserver)
        observers.append((id, observer))
        return id
    }

    func removeObserver(_ id: ObserverID) { observers.removeAll { $0.id == id } }

    func send(_ packet: HCIPacket) {
        for observer in observers { observer.call(.sent, packet, loop.now) }
        if packet.kind == .command { _ = tracker.sent(packet) }
        transport.send(packet)
    }

    // MARK: HCITransportSink

    func received(_ packet: HCIPacket, at time: Microseconds) {
        for observer in observers { observer.call(.received, packet, time) }
        switch packet.kind {
        case .acl: receivedData(packet)
        case .event:
            if packet.eventCode == HCIEvents.NumberOfCompletedPackets.code {
                receivedCredits(packet)
            } else {
                host?.received(event: packet)
            }
        case .command, .sco, .iso: counters.unknownEvents += 1
        }
    }

    func closed(_ reason: TransportError) {
        host?.transportClosed(reason)
    }

    // MARK: Links

    func add(_ link: Link, slot: Int) {
        while links.count <= slot { links.append(nil) }
        links[slot] = link
    }

    func remove(_ link: Link) {
        guard let slot = scheduler.slot(of: link.handle.rawValue), links.indices.contains(slot), links[slot] === link else { return }
        links[slot] = nil
        scheduler.close(handle: link.handle.rawValue)
    }

    func link(_ handle: UInt16) -> Link? {
        guard let slot = scheduler.slot(of: handle), slot < links.count else { return nil }
        return links[slot]
    }

    /// Every link has ended; every buffer is free again.
    func forgetLinks() {
        links.removeAll()
        scheduler.closeAll()
    }

    var allLinks: [Link] { links.compactMap { $0 } }

    // MARK: Data

    private func receivedData(_ packet: HCIPacket) {
        let span = packet.bytes.span.bytes
        guard let header = ACLHeader(span), Int(header.length) == span.byteCount - ACLHeader.octets else {
            counters.malformedData += 1
            return
        }
        guard let link = link(header.handle.rawValue) else { return hold(packet) }
        link.receivedFragment(boundary: header.boundary, span.extracting(ACLHeader.octets...))
    }

    private func receivedCredits(_ packet: HCIPacket) {
        let isWhole = HCIEvents.NumberOfCompletedPackets.forEach(in: packet) { scheduler.completed(handle: $0.rawValue, count: $1) }
        if !isWhole { counters.malformedEvents += 1 }
    }

    // MARK: Order of data and events

    /// Data that waited for this change follows it.
    func order(_ change: ConnectionChange) {
        let released = eventOrder.changed(change, at: loop.now)
        counters.heldData += released.count
        for packet in released { receivedData(packet) }
    }

    private func hold(_ packet: HCIPacket) {
        if eventOrder.admit(packet, at: loop.now) { counters.strayData += 1 }
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
