import BBPackets
import BBTraffic

/// The first connection events of a count, packet by packet, from the simulated air.
public struct EventTimeline: Sendable, Hashable {
    public struct Packet: Sendable, Hashable {
        /// Start of the packet, relative to the first anchor point of the count, and its duration.
        public var at: Microseconds
        public var length: Microseconds
        /// Octets after the header, including the MIC; 0 for an empty packet.
        public var octets: Int
        public var isFromCentral: Bool
        /// Link number, from 1, in order of appearance.
        public var link: Int
    }

    /// Number of connection intervals in the timeline.
    static let intervals = 4

    public var interval: Microseconds
    public var packets: [Packet] = []
}

/// Observes the simulated air while rows are measured.
public final class EventWatch {
    private var begin = Microseconds.never
    private var anchor: Microseconds?
    /// Last channel of each link, by access address; another channel means a new event.
    private var channels: [UInt32: UInt8] = [:]
    private var links: [UInt32] = []
    private(set) var timeline = EventTimeline(interval: .zero)

    public init() {}

    /// Records the events after `begin`. Flows counted over the same span make the same call.
    func open(after begin: Microseconds, interval: Microseconds) {
        (self.begin, anchor, links, timeline) = (begin, nil, [], EventTimeline(interval: interval))
    }

    public func add(_ frame: AnyAirFrame, at time: Microseconds) {
        guard case .le(let frame) = frame, let pdu = frame.pdu, pdu.kind == .data else { return }
        let (address, isFromCentral, octets) = (frame.referenceAccessAddress, pdu.direction == .forth, pdu.length)
        let before = channels.updateValue(frame.rfChannel, forKey: address)
        guard time >= begin else { return }
        if anchor == nil, isFromCentral, let before, before != frame.rfChannel { anchor = time }
        guard let anchor, time - anchor < timeline.interval * EventTimeline.intervals else { return }
        if !links.contains(address) { links.append(address) }
        timeline.packets.append(
            EventTimeline.Packet(
                at: time - anchor, length: LinkPHY(frame).airTime(payload: octets), octets: octets, isFromCentral: isFromCentral,
                link: (links.firstIndex(of: address) ?? 0) + 1))
    }
}

extension LinkPHY {
    fileprivate init(_ frame: AirFrame) {
        switch frame.modulation {
        case .le1M: self = .le1M
        case .le2M: self = .le2M
        case .leCoded: self = frame.isS2 == true ? .codedS2 : .codedS8
        }
    }
}
