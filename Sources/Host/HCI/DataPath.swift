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
    /// Data that came before the event that announces its link, on transports with several pipes.
    private var held: [(handle: UInt16, packet: HCIPacket)] = []
    static let heldLimit = 32
    static let holdTime = Microseconds.milliseconds(100)

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

    func addObserver(_ observer: @escaping PacketObserver) -> ObserverID {
        nextObserver += 1
        let id = ObserverID(value: nextObserver)
        observers.append((id, observer))
        return id
    }

    func removeObserver(_ id: ObserverID) { observers.removeAll { $0.id == id } }

    func send(_ packet: HCIPacket) {
        for observer in observers { observer.call(.sent, packet, loop.now) }
        if packet.kind == .command { noteKey(in: packet) }
        transport.send(packet)
    }

    /// A link can be encrypted only once its controller was given a key for it.
    private func noteKey(in command: HCIPacket) {
        let opcode = command.commandOpcode
        guard opcode == HCICommands.LEEnableEncryption.opcode || opcode == HCICommands.LELongTermKeyRequestReply.opcode,
            command.bytes.count >= 5
        else { return }
        link((UInt16(command.bytes[3]) | UInt16(command.bytes[4]) << 8) & 0xFFF)?.hasKey = true
    }

    // MARK: HCITransportSink

    func received(_ packet: HCIPacket, at time: Microseconds) {
        for observer in observers { observer.call(.received, packet, time) }
        switch packet.kind {
        case .acl: receivedData(packet)
        case .event:
            if packet.bytes.count > 2, packet.bytes[0] == HCIEvents.NumberOfCompletedPackets.code {
                receivedCredits(packet.bytes)
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
        let handle = link.handle.rawValue
        let early = held.filter { $0.handle == handle }
        held.removeAll { $0.handle == handle }
        counters.heldData += early.count
        for packet in early { receivedData(packet.packet) }
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
        held.removeAll()
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
        guard let link = link(header.handle.rawValue) else { return hold(header.handle.rawValue, packet) }
        link.receivedFragment(boundary: header.boundary, span.extracting(ACLHeader.octets...))
    }

    private func receivedCredits(_ bytes: [UInt8]) {
        let rows = Int(bytes[2])
        if Int(bytes[1]) != bytes.count - 2 || bytes.count - 3 < rows * 4 { counters.malformedEvents += 1 }
        var position = 3
        for _ in 0..<rows {
            guard position + 4 <= bytes.count else { return }
            let handle = UInt16(bytes[position]) | UInt16(bytes[position + 1]) << 8
            let count = UInt16(bytes[position + 2]) | UInt16(bytes[position + 3]) << 8
            scheduler.completed(handle: handle & 0xFFF, count: Int(count))
            position += 4
        }
    }

    private func hold(_ handle: UInt16, _ packet: HCIPacket) {
        guard held.count < Self.heldLimit else {
            counters.strayData += 1
            return
        }
        held.append((handle, packet))
        loop.schedule(after: Self.holdTime) { self.release(handle) }
    }

    private func release(_ handle: UInt16) {
        guard let index = held.firstIndex(where: { $0.handle == handle }) else { return }
        held.remove(at: index)
        counters.strayData += 1
    }
}
