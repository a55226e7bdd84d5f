import BBPackets

/// Parameters of a new link that both ends know: the content of CONNECT_IND or AUX_CONNECT_REQ, and the time of the first packet.
struct ConnectionParameters {
    enum Role: UInt8 {
        case central = 0
        case peripheral = 1
    }

    var role: Role
    var handle: ConnectionHandle
    var accessAddress: UInt32
    /// 24 bits.
    var crcInit: UInt32
    /// A multiple of 1.25 ms.
    var interval: Microseconds
    var peripheralLatency: Int
    var supervisionTimeout: Microseconds
    var channelMap: ChannelMap
    /// 5...16, for channel selection algorithm #1.
    var hopIncrement: UInt8
    var usesAlgorithm2: Bool
    /// PHY of the connection request, used in both directions at first.
    var phy: PHY
    var ownAddress: DeviceAddress
    var peerAddress: DeviceAddress
    /// Start of the transmit window: end of CONNECT_IND (or AUX_CONNECT_REQ) + transmitWindowDelay + transmitWindowOffset. Core Vol 6, Part
    /// B, 4.5.3.
    var transmitWindowStart: Microseconds
    var transmitWindowSize: Microseconds
    /// The peer's clock accuracy in ppm, from the SCA field if it sent one.
    var peerClockAccuracy: Int
}

/// The host's defaults for new links.
struct LinkDefaults {
    /// LE_Write_Suggested_Default_Data_Length.
    var suggestedTxOctets: UInt16 = 27
    var suggestedTxTime: UInt16 = 328
    /// LE_Set_Default_PHY; empty means no preference.
    var txPHYs: PHYs = []
    var rxPHYs: PHYs = []
}

/// Used data channels; bit n is channel n. Core Vol 6, Part B, 1.4.1.
struct ChannelMap: Hashable {
    let bits: UInt64
    /// The used channels in ascending order, for remapping.
    let used: [UInt8]

    init(_ bits: UInt64) {
        self.bits = bits & 0x1F_FFFF_FFFF
        used = (0..<37).filter { bits >> UInt64($0) & 1 == 1 }.map(UInt8.init)
    }

    static let all = ChannelMap(0x1F_FFFF_FFFF)

    func contains(_ channel: UInt8) -> Bool { bits >> UInt64(channel) & 1 == 1 }
}
