import BBL2CAP
import BBPackets

/// The L2CAP channels of one link that signalling opens, and the SDUs of those that are credit-based. Core Vol 3, Part A, 3.4.3 and 4.
public struct LinkChannels: Sendable {
    /// A channel identifier, and the direction of the PDUs that carry it.
    private struct Key: Hashable {
        var direction: LinkDirection
        var channel: UInt16
    }

    private var tracker = ChannelTracker()
    /// SDUs that have not come to their end.
    private var reassemblies: [Key: KFrameReassembly] = [:]

    private static let most = 256

    public init() {}

    /// The channel of a PDU; nil if none is known.
    ///
    /// - Parameters:
    ///   - channel: the identifier in the PDU's basic header.
    ///   - direction: of that PDU.
    public func channel(_ channel: UInt16, _ direction: LinkDirection) -> ChannelTracker.Channel? { tracker.channel(channel, direction) }

    /// Follows a signalling command.
    public mutating func note(_ command: SignalingCommand, _ direction: LinkDirection) { tracker.note(command, direction) }

    /// Takes a frame of a credit-based channel.
    ///
    /// - Returns: what becomes of its octets, and whether it begins an SDU.
    public mutating func take(
        _ frame: borrowing RawSpan, on channel: UInt16, _ direction: LinkDirection
    ) -> (outcome: KFrameReassembly.Outcome, isFirst: Bool) {
        let key = Key(direction: direction, channel: channel)
        var reassembly = reassemblies.removeValue(forKey: key) ?? KFrameReassembly()
        let isFirst = reassembly.isBetweenSDUs
        let outcome = reassembly.take(frame)
        if outcome == .part {
            if reassemblies.count >= Self.most { reassemblies.removeAll() }
            reassemblies[key] = reassembly
        }
        return (outcome, isFirst)
    }
}
