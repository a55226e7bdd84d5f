import BBPackets

/// Link parameters that limit the throughput of one direction.
public struct LinkParameters: Sendable, Hashable {
    /// PHY of the data packets.
    public var phy: LinkPHY
    /// PHY of the acknowledging packets.
    public var returnPHY: LinkPHY
    public var interval: Microseconds
    /// connEffectiveMaxTxOctets of the sender.
    public var octets: Int
    /// connEffectiveMaxTxTime of the sender.
    public var time: Microseconds
    public var mtu: Int
    public var isEncrypted = false
    /// connEffectiveMaxTxOctets of the receiver.
    public var returnOctets = 27
    /// True if the central sends the data.
    public var isFromCentral = false
    /// Interframe space between a packet and its reply.
    public var interFrameSpace: Microseconds = 150
    /// Length of the sending host's ACL packets; nil if an ATT packet always fits into one.
    public var aclLength: Int?
    /// Credit-based channels that carry SDUs, instead of ATT packets.
    public var channels: ChannelLoad?

    public init(phy: LinkPHY, returnPHY: LinkPHY? = nil, interval: Microseconds, octets: Int, time: Microseconds? = nil, mtu: Int) {
        self.phy = phy
        self.returnPHY = returnPHY ?? phy
        self.interval = interval
        self.octets = octets
        self.time = time ?? EffectiveTime.transmit(on: phy, negotiated: phy.longestTime, interval: interval)
        self.mtu = mtu
    }

    var mic: Int { isEncrypted ? 4 : 0 }

    /// Maximum payload of a packet, limited by octets and time.
    public var usableOctets: Int { max(1, min(octets, phy.payload(within: time) - mic)) }

    /// Link layer payloads of an ATT packet with `valueOctets` octets of value, in order; of an SDU of each channel, if there are channels.
    public func fragments(valueOctets: Int) -> [Int] {
        guard let channels else { return fragments(ofPDU: Self.l2capHeader + Self.attHeader + valueOctets) }
        return channels.payloads(ofValue: valueOctets).flatMap { payload in
            (0..<channels.count).flatMap { _ in fragments(ofPDU: Self.l2capHeader + payload) }
        }
    }

    private func fragments(ofPDU whole: Int) -> [Int] {
        let cut = aclLength.map { max(1, $0) } ?? whole
        return stride(from: 0, to: whole, by: cut).flatMap { start in
            let piece = min(cut, whole - start)
            return stride(from: 0, to: piece, by: usableOctets).map { min(usableOctets, piece - $0) }
        }
    }

    /// Duration of data, T_IFS, an empty or data packet of the opposite direction, and T_IFS.
    public func exchange(payload: Int, reply: Int = 0) -> Microseconds {
        let answer = returnPHY.airTime(payload: reply > 0 ? reply + mic : 0)
        return phy.airTime(payload: payload + mic) + interFrameSpace + answer + interFrameSpace
    }

    /// Duration that a central plans for an exchange if it reserves the longest packet of the peer.
    func reservedExchange(payload: Int, reply: Int = 0) -> Microseconds {
        isFromCentral ? exchange(payload: payload, reply: returnOctets) : exchange(payload: usableOctets, reply: reply)
    }

    public static let l2capHeader = 4
    public static let attHeader = AttributeValueLength.header
    /// Value length of the longest notification or write command, or the SDU length of the channels.
    public var valueOctets: Int { channels?.valueOctets ?? AttributeValueLength.longest(inMTU: mtu) }
}
