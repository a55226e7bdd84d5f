import Capture
import Packets

/// The first connection events of a count, packet by packet, as they were on the simulated air.
public struct EventTimeline: Sendable, Hashable {
    public struct Packet: Sendable, Hashable {
        /// From the first anchor point within the count to the packet's first bit, and how long it took.
        public var at: Microseconds
        public var length: Microseconds
        /// After the header, the MIC among them; 0 of an empty packet.
        public var octets: Int
        public var isFromCentral: Bool
        /// Links are counted from 1 in the order in which they appear.
        public var link: Int
    }

    /// Intervals that it holds.
    static let intervals = 4

    public var interval: Microseconds
    public var packets: [Packet] = []
}

/// Looks at the simulated air while rows are measured.
public final class EventWatch {
    private var begin = Microseconds.never
    private var anchor: Microseconds?
    /// The channel that each link used last, by access address: another one is a new event.
    private var channels: [UInt32: UInt8] = [:]
    private var links: [UInt32] = []
    private(set) var timeline = EventTimeline(interval: .zero)

    public init() {}

    /// Keeps the events after a moment. Flows that are counted over the same time ask for the same.
    func open(after begin: Microseconds, interval: Microseconds) {
        (self.begin, anchor, links, timeline) = (begin, nil, [], EventTimeline(interval: interval))
    }

    public func add(_ frame: AnyAirFrame, at time: Microseconds) {
        guard case .le(let frame) = frame, let octets = frame.dataOctets else { return }
        let (address, isFromCentral) = (frame.referenceAccessAddress, frame.channel == .dataFromCentral)
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
