import BBCases
import BBL2CAP
import BBPackets
import BBTraffic

/// The fragments of L2CAP PDUs on one link of an HCI, by their direction. Core Vol 3, Part A, 3.1 and 7.2; Vol 4, Part E, 5.4.2.
struct FragmentWatch {
    private struct Unfinished {
        var start: Moment
        var octets: Int
        var whole: Int
        var channel: UInt16
    }

    private var out: Unfinished?
    private var incoming: Unfinished?

    /// Notes a packet.
    ///
    /// - Returns: the fault of the PDU that begins in it, or of the one that it abandons.
    mutating func note(_ packet: HCIPacket, isOut: Bool, isLE: Bool, at now: Moment) -> Observation? {
        guard let header = packet.aclHeader, packet.bytes.count >= packet.kind.headerLength else { return nil }
        let octets = packet.bytes.count - packet.kind.headerLength
        let before = isOut ? out : incoming
        guard header.boundary == .first || header.boundary == .firstNonFlushable else {
            guard var open = before else { return nil }
            open.octets += octets
            set(open.octets >= open.whole ? nil : open, isOut)
            return nil
        }
        set(nil, isOut)
        let fragment = packet.bytes.span.bytes.extracting(packet.kind.headerLength..<packet.bytes.count)
        guard let basic = L2CAPHeader(fragment) else { return before.map(Self.abandoned) }
        let (whole, channel) = (Int(basic.length) + L2CAPHeader.octets, basic.channel)
        if octets < whole { set(Unfinished(start: now, octets: octets, whole: whole, channel: channel), isOut) }
        if let before { return Self.abandoned(before) }
        return octets < whole && isLE ? Self.impossible(whole - L2CAPHeader.octets, channel) : nil
    }

    /// Forgets what is not whole, as after a packet that the capturing tool has cut.
    mutating func forget(isOut: Bool) { set(nil, isOut) }

    private mutating func set(_ value: Unfinished?, _ isOut: Bool) { if isOut { out = value } else { incoming = value } }

    private static func abandoned(_ open: Unfinished) -> Observation {
        Observation(
            .fragmentAbandoned,
            [
                ("Octets", .number(open.octets)), ("Whole", .number(open.whole)), ("Channel", .text(Hex.number(open.channel))),
            ], packet: open.start.packet)
    }

    /// The MTU of the Security Manager. Core Vol 3, Part H, 3.2.
    private static let longestPairing = 65
    /// The channels of LE. Core Vol 3, Part A, 2.1.
    private static let channels: [ClosedRange<UInt16>] = [0x0004...0x0006, 0x0020...0x007F]

    private static func impossible(_ length: Int, _ channel: UInt16) -> Observation? {
        let isKnown = channels.contains { $0.contains(channel) }
        guard !isKnown || channel == CID.smp && length > longestPairing else { return nil }
        return Observation(
            .fragmentImpossible, [("Length", .number(length)), ("Channel", .text(Hex.number(channel)))])
    }
}
