import BBPackets

typealias LinkRole = ConnectionParameters.Role

/// The logical transports between two devices as used by the link manager: ordered messages and baseband changes. Core Vol 2, Part B, 4.
protocol LinkTransport: AnyObject {
    var role: LinkRole { get }
    /// CLK27-1 of the piconet, in slots: the unit of LMP instants.
    var slot: UInt32 { get }
    /// CLKN16-2 of this device minus CLK16-2 of the piconet, modulo 2^15. Core Vol 2, Part C, 4.3.2.
    var clockOffset: UInt16 { get }
    /// Offset from the central's slots to the slots that this device would use as central, 0...1,249 us. Core Vol 2, Part C, 4.4.1.
    var slotOffset: UInt16 { get }
    /// True if any 2 or 3 Mb/s packet type may be sent.
    var wantsEnhancedRates: Bool { get }
    /// A free LT_ADDR of this device's piconet for an eSCO transport; nil if there is none. Core Vol 2, Part B, 4.2.
    var freeLTAddr: UInt8? { get }
    /// D_SCO or D_eSCO: offset of free slots in each interval, beside this device's other synchronous transports; nil if there are none.
    ///
    /// - Parameter slots: slots of both directions, including the retransmission window.
    func freeOffset(every interval: UInt8, slots: Int) -> UInt8?
    /// Queues an LMP message. Messages are sent in order in DM1 packets, before user data.
    func send(lmp pdu: [UInt8])
    /// Applies a change now or at its instant. The delegate is notified of a change with an instant when it is applied.
    func apply(_ change: BasebandChange)
    /// Ends the link, with or without a preceding LMP_detach; no further delegate calls follow.
    func detach()
}

extension LinkTransport {
    var wantsEnhancedRates: Bool { true }
    var freeLTAddr: UInt8? { 2 }
    func freeOffset(every interval: UInt8, slots: Int) -> UInt8? { 0 }
}

protocol LinkTransportDelegate: AnyObject {
    func transport(_ transport: any LinkTransport, received lmp: [UInt8])
    /// The peer has acknowledged the packet with this message.
    func transportAcknowledged(_ transport: any LinkTransport, lmp: [UInt8])
    /// The instant of a change was reached.
    ///
    /// - Parameter isDone: false if a role switch failed and the link is unchanged.
    func transport(_ transport: any LinkTransport, made change: BasebandChange, isDone: Bool)
    /// The MIC of several packets in succession was wrong.
    func transportNeedsKeyRefresh(_ transport: any LinkTransport)
    /// The link was lost; no further calls follow. Reasons: 0x08 supervision timeout, 0x3D MIC failure.
    func transportLost(_ transport: any LinkTransport, _ reason: ErrorCode)
}

/// Baseband changes requested by the link manager. Times are in slots, instants in CLK27-1.
enum BasebandChange: Equatable {
    /// Link supervision timeout; 0 disables it. Core Vol 2, Part B, 3.1.
    case supervisionTimeout(UInt16)
    /// T_poll and N_BC. Core Vol 2, Part C, 4.1.8.
    case polling(interval: UInt16, broadcasts: UInt8)
    /// Packet types that may be sent besides DM1; types of the other packet type table are ignored.
    case packetTypes(Set<BREDRPacketType>)
    /// Selects the packet type table. Core Vol 2, Part C, 4.1.11.
    case packetTypeTable(PacketTypeTable)
    /// Maximum slots per sent packet: 1, 3 or 5. Core Vol 2, Part C, 4.1.10.
    case maximumSlots(UInt8)
    /// One step of starting or stopping encryption. Core Vol 2, Part C, 4.2.5.
    case encryption(PayloadEncryption, direction: PayloadDirection)
    /// Holds back user data until a procedure is over.
    case holdsData(Bool)
    /// Adapted hopping sequence; nil for the basic sequence. Core Vol 2, Part C, 4.1.4.
    indirect case channelMap(AdaptedChannelMap?, instant: UInt32)
    /// Role switch. Core Vol 2, Part B, 8.6.5.
    case roleSwitch(instant: UInt32, slotOffset: SlotOffset?)
    /// Sniff mode from its first anchor point on; nil for active mode, effective now. Core Vol 2, Part B, 8.7.
    case sniff(SniffParameters?)
    /// Creates or changes the synchronous transport with this SCO_Handle or eSCO_Handle from its first instant on; nil removes it. Core Vol
    /// 2, Part B, 4.3, 4.4 and 8.6.
    indirect case synchronous(id: UInt8, SynchronousParameters?)
}

enum PayloadDirection: Equatable {
    case transmit
    case receive
}

/// Packet type table of the ACL transport. Core Vol 2, Part B, 6.5.
enum PacketTypeTable: UInt8 {
    case basic = 0
    /// Enhanced Data Rate.
    case enhanced = 1
}

/// Payload encryption of one direction. Core Vol 2, Part H, 4 and 9.
indirect enum PayloadEncryption: Equatable {
    case off
    /// - Parameter key: Kc', the reduced encryption key, octet 0 least significant.
    case e0(key: UInt128, central: BDADDR)
    /// - Parameters:
    ///   - key: encryption key from h3.
    ///   - iv: ACO when encryption starts, the eight octets of LMP_pause_encryption_aes_req when it resumes; least significant octet first.
    case aesCCM(key: UInt128, iv: [UInt8])
}

/// Parameters of LMP_slot_offset. Core Vol 2, Part C, 4.4.1.
struct SlotOffset: Equatable {
    /// Offset from the central's transmission slot to the future transmission slot of the peripheral, 0...1,249 us.
    var microseconds: UInt16
    var address: BDADDR
}

/// Parameters of LMP_sniff_req. Core Vol 2, Part C, 4.5.3.
struct SniffParameters: Equatable {
    /// Timing control flags: bit 1 selects the formula of the first anchor point.
    var flags: UInt8
    /// D_sniff.
    var offset: UInt16
    /// T_sniff.
    var interval: UInt16
    var attempt: UInt16
    var timeout: UInt16
}

/// Parameters of LMP_SCO_link_req or LMP_eSCO_link_req, as seen by one end. Core Vol 2, Part C, 4.6.1 and 4.6.2.
struct SynchronousParameters: Equatable {
    /// True for eSCO, which has its own LT_ADDR, acknowledgements and retransmissions.
    var isExtended: Bool
    /// LT_ADDR of eSCO; SCO uses the one of the link.
    var ltAddr: UInt8
    /// Timing control flags: bit 1 selects the formula of the first instant.
    var flags: UInt8
    /// D_SCO or D_eSCO.
    var offset: UInt8
    /// T_SCO or T_eSCO.
    var interval: UInt8
    /// W_eSCO: retransmission window in slots, after the reserved slots.
    var window: UInt8
    /// Packet type sent and received; nil if that direction has no payload and uses POLL or NULL.
    var transmitType: BREDRPacketType?
    var receiveType: BREDRPacketType?
    /// Voice data per packet, in octets.
    var transmitLength: UInt16
    var receiveLength: UInt16
    /// Air mode: 0 u-law, 1 A-law, 2 CVSD, 3 transparent data.
    var airMode: UInt8
}

extension BasebandChange {
    /// CLK27-1 at which the change is applied; nil for a change without an instant.
    var instant: UInt32? {
        switch self {
        case .channelMap(_, let instant), .roleSwitch(let instant, _): instant
        case .supervisionTimeout, .polling, .packetTypes, .packetTypeTable, .maximumSlots, .encryption, .holdsData, .sniff, .synchronous:
            nil
        }
    }
}
