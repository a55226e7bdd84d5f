import Packets

/// Everything about a link that bounds what one direction of it can carry.
public struct LinkParameters: Sendable, Hashable {
    /// The PHY of the packets that carry the data.
    public var phy: LinkPHY
    /// The PHY of the packets that acknowledge them.
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
    /// Whether the central sends the data.
    public var isFromCentral = false
    /// The gap between a packet and its answer.
    public var interFrameSpace: Microseconds = 150
    /// The ACL packets the sending host cuts its data into; nil when one holds any ATT packet.
    public var aclLength: Int?

    public init(phy: LinkPHY, returnPHY: LinkPHY? = nil, interval: Microseconds, octets: Int, time: Microseconds? = nil, mtu: Int) {
        self.phy = phy
        self.returnPHY = returnPHY ?? phy
        self.interval = interval
        self.octets = octets
        self.time = time ?? EffectiveTime.transmit(on: phy, negotiated: phy.longestTime, interval: interval)
        self.mtu = mtu
    }

    var mic: Int { isEncrypted ? 4 : 0 }

    /// What a packet's payload may hold, by octets and by time.
    public var usableOctets: Int { max(1, min(octets, phy.payload(within: time) - mic)) }

    /// The link-layer payloads of an ATT packet with `payload` octets of value, in order.
    public func fragments(valueOctets: Int) -> [Int] {
        let whole = Self.l2capHeader + Self.attHeader + valueOctets
        let cut = aclLength.map { max(1, $0) } ?? whole
        return stride(from: 0, to: whole, by: cut).flatMap { start in
            let piece = min(cut, whole - start)
            return stride(from: 0, to: piece, by: usableOctets).map { min(usableOctets, piece - $0) }
        }
    }

    /// Data, T_IFS, an empty packet or the other direction's data, T_IFS.
    public func exchange(payload: Int, reply: Int = 0) -> Microseconds {
        let answer = returnPHY.airTime(payload: reply > 0 ? reply + mic : 0)
        return phy.airTime(payload: payload + mic) + interFrameSpace + answer + interFrameSpace
    }

    /// An exchange as a central plans it that reserves the longest packet the other side may send.
    func reservedExchange(payload: Int, reply: Int = 0) -> Microseconds {
        isFromCentral ? exchange(payload: payload, reply: returnOctets) : exchange(payload: usableOctets, reply: reply)
    }

    static let l2capHeader = 4
    static let attHeader = 3
    /// The value of the longest notification or write command.
    public var valueOctets: Int { mtu - Self.attHeader }
}
