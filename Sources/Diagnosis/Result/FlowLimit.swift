import BBHCI
import BBPackets
import BBTraffic

/// The ceiling of a flow, and the factor that kept it below.
public struct FlowLimit: Sendable {
    /// kbit/s that the link's parameters allow.
    public var ceiling: Double
    public var limit: Limit
    public var detail: String

    var text: String { "ceiling \(Int(saturating: ceiling.rounded())) kbit/s; limited by \(limit.rawValue): \(detail)" }
}

extension LinkReport {
    public var forthLimit: FlowLimit? { limit(of: flows.forth, conditions) }
    public var backLimit: FlowLimit? { limit(of: flows.back, conditions.turned) }

    /// The limit of a flow under the conditions of its sender.
    package func limit(of flow: Flow, _ conditions: FlowConditions) -> FlowLimit? {
        guard kind == .le, let rate = flow.rate, let link = conditions.link(of: flow) else { return nil }
        let ceiling = Ceiling(link)
        let perEvent = Double(flow.packets) * Double(link.interval.rawValue) / Double(max(1, flow.active))
        let (limit, detail) = cause(flow, rate, ceiling, link, perEvent)
        return FlowLimit(ceiling: ceiling.perInterval, limit: limit, detail: detail)
    }

    private func cause(_ flow: Flow, _ rate: Double, _ ceiling: Ceiling, _ link: LinkParameters, _ perEvent: Double) -> (Limit, String) {
        let values = "\(Self.tenths(perEvent)) value\(perEvent == 1 ? "" : "s") in a connection event"
        if flow.acknowledged * 2 > flow.packets { return (.acknowledgement, "each value waits for its response, \(values)") }
        if rate > 0.85 * ceiling.perInterval { return (.air, "near the ceiling") }
        if flow.starved * 2 > flow.packets { return (.credits, "the controller's buffers were full, \(values)") }
        let isChannel = link.channels != nil
        if !isChannel, flow.longest + 3 <= 23, link.mtu <= 23 { return (.product, "an MTU of 23 octets and \(values)") }
        if !isChannel, flow.longest * 2 < link.valueOctets {
            return (.product, "values of at most \(flow.longest) octets with an MTU of \(link.mtu), \(values)")
        }
        if perEvent < Self.oneInEach.lowerBound {
            return (.host, "the sender sends seldom, \(values); about \(Self.tenths(ceiling.packetsPerEvent)) would fit")
        }
        if perEvent < Self.oneInEach.upperBound {
            return (.eventLength, "\(values); about \(Self.tenths(ceiling.packetsPerEvent)) would fit")
        }
        return (.host, "\(values); about \(Self.tenths(ceiling.packetsPerEvent)) would fit")
    }

    /// A controller that uses one exchange of each event, and a sender that always has data.
    private static let oneInEach = 0.75..<1.5

    private static func tenths(_ number: Double) -> String {
        let tenths = Int(saturating: (number * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension FlowConditions {
    /// The conditions of the opposite direction.
    package var turned: FlowConditions {
        var other = self
        (other.octets, other.returnOctets, other.phy, other.returnPHY) = (returnOctets, octets, returnPHY, phy)
        return other
    }

    /// The parameters for a ceiling; nil without a valid interval.
    package func link(of flow: Flow) -> LinkParameters? {
        guard let interval, (6...3_200).contains(interval) else { return nil }
        // A capture that begins later does not show the exchange of the MTU.
        let seenMTU = flow.kind == .channel ? 0 : flow.longest + Self.valueHeader
        var link = LinkParameters(
            phy: Self.phy(phy), returnPHY: Self.phy(returnPHY), interval: ConnectionParameters(interval: UInt16(interval)).intervalTime,
            octets: min(251, max(27, octets)), mtu: min(517, max(23, mtu, seenMTU)))
        link.isEncrypted = isEncrypted
        link.returnOctets = min(251, max(27, returnOctets))
        if flow.kind == .channel { link.channels = ChannelLoad(sdu: max(1, flow.longest), mps: max(23, flow.longest + 2)) }
        return link
    }

    /// Octets of a notification before its value.
    private static let valueHeader = 3

    private static func phy(_ phy: PHY) -> LinkPHY {
        switch phy {
        case .le1M: .le1M
        case .le2M: .le2M
        case .leCoded: .codedS8
        }
    }
}
