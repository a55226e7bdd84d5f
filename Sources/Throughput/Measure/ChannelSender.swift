import BBHost
import BBPackets

/// The sending end of a row over L2CAP channels: a flow on each.
final class ChannelSender: FlowSource {
    private let link: Connection
    private let senders: [FlowSender]

    /// - Parameters:
    ///   - length: octets of an SDU; nil for the longest of full K-frames.
    ///   - count: SDUs of each channel; nil to send until `stop`.
    init(_ link: Connection, _ channels: [CreditBasedChannel], length: Int?, count: UInt32? = nil) {
        self.link = link
        senders = channels.map { FlowSender(link, on: $0, length: min(length ?? $0.fullSDU, $0.peerMTU), count: count) }
    }

    var sent: UInt32 { senders.reduce(0) { $0 &+ $1.sent } }

    var supply: SupplyCounters {
        var sum = SupplyCounters()
        for sender in senders { sum.add(sender.supply) }
        return sum
    }

    /// The channels take turns from the first K-frame on.
    func start() { link.together { for sender in senders { sender.start() } } }

    func stop() { for sender in senders { sender.stop() } }
}
