import Packets

typealias LinkRole = ConnectionParameters.Role

/// The logical transports between two devices as the link manager sees them: messages in order, and changes of the baseband. Core Vol 2, Part B, 4.
protocol LinkTransport: AnyObject {
    var role: LinkRole { get }
    /// CLK27-1 of the piconet now, in slots: what the instants of the link manager count.
    var slot: UInt32 { get }
    /// CLKN16-2 of this side less CLK16-2 of the piconet, modulo 2^15. Core Vol 2, Part C, 4.3.2.
    var clockOffset: UInt16 { get }
    /// From the start of the central's slots to that of the slots that this side would have as central: 0...1,249 us. Core Vol 2, Part C, 4.4.1.
    var slotOffset: UInt16 { get }
    /// Whether this side may send anything at 2 or 3 Mb/s.
    var wantsEnhancedRates: Bool { get }
    /// An LT_ADDR of this side's piconet for an eSCO transport; nil when none is left. Core Vol 2, Part B, 4.2.
    var freeLTAddr: UInt8? { get }
    /// D_SCO or D_eSCO: where slots are left in each interval beside the synchronous transports that this side has; nil when there are none.
    ///
    /// - Parameter slots: of both directions, with the retransmission window.
    func freeOffset(every interval: UInt8, slots: Int) -> UInt8?
    /// Queues a message of the link manager, which goes out in a DM1 packet before user data, in order.
    func send(lmp pdu: [UInt8])
    /// Makes a change, at once or at its instant; the delegate hears of those with an instant when they are made.
    func apply(_ change: BasebandChange)
    /// Ends the link, after LMP_detach was acknowledged or without a word; the delegate hears nothing more.
    func detach()
}

extension LinkTransport {
    var wantsEnhancedRates: Bool { true }
    var freeLTAddr: UInt8? { 2 }
    func freeOffset(every interval: UInt8, slots: Int) -> UInt8? { 0 }
}

protocol LinkTransportDelegate: AnyObject {
    func transport(_ transport: any LinkTransport, received lmp: [UInt8])
    /// The other side has acknowledged the packet with this message.
    func transportAcknowledged(_ transport: any LinkTransport, lmp: [UInt8])
    /// The instant of a change has come. - Parameter isDone: false for a role switch that failed: then the link is as before.
    func transport(_ transport: any LinkTransport, made change: BasebandChange, isDone: Bool)
    /// The link is gone, and nothing more comes from it. Reasons: 0x08 when nothing was heard for too long, 0x3D when a MIC was wrong.
    func transportLost(_ transport: any LinkTransport, _ reason: ErrorCode)
}

/// What the link manager changes of a link's baseband. Instants and times are in slots; instants as CLK27-1.
enum BasebandChange: Equatable {
    /// Zero for no supervision. Core Vol 2, Part B, 3.1.
    case supervisionTimeout(UInt16)
    /// T_poll and N_BC. Core Vol 2, Part C, 4.1.8.
    case polling(interval: UInt16, broadcasts: UInt8)
    /// The types that this side may send beside DM1; those of the other packet type table are not sent.
    case packetTypes(Set<BREDRPacketType>)
    /// Which types the codes of a packet header mean. Core Vol 2, Part C, 4.1.11.
    case packetTypeTable(PacketTypeTable)
    /// The most slots of a packet that this side sends: 1, 3 or 5. Core Vol 2, Part C, 4.1.10.
    case maximumSlots(UInt8)
    /// One of the steps in which encryption starts and stops. Core Vol 2, Part C, 4.2.5.
    case encryption(PayloadEncryption, direction: LinkDirection)
    /// Whether user data waits until a procedure is over.
    case holdsData(Bool)
    /// The adapted hopping sequence; nil for the basic one. Core Vol 2, Part C, 4.1.4.
    indirect case channelMap(AdaptedChannelMap?, instant: UInt32)
    /// Core Vol 2, Part B, 8.6.5.
    case roleSwitch(instant: UInt32, slotOffset: SlotOffset?)
    /// Sniff mode from its first anchor point on; nil for active mode, from now on. Core Vol 2, Part B, 8.7.
    case sniff(SniffParameters?)
    /// A synchronous logical transport with its SCO_Handle or eSCO_Handle: made or changed, from its first instant on; nil where it ends. Core Vol 2, Part B,
    /// 4.3, 4.4 and 8.6.
    indirect case synchronous(id: UInt8, SynchronousParameters?)
}

enum LinkDirection: Equatable {
    case transmit
    case receive
}

/// What the type codes of the asynchronous transport mean. Core Vol 2, Part B, 6.5.
enum PacketTypeTable: UInt8 {
    case basic = 0
    /// Enhanced data rate.
    case enhanced = 1
}

/// How the payloads of one direction are protected. Core Vol 2, Part H, 4 and 9.
indirect enum PayloadEncryption: Equatable {
    case off
    /// - Parameter key: Kc', the encryption key after its reduction, octet 0 the least significant.
    case e0(key: UInt128, central: BDADDR)
    /// - Parameters:
    ///   - key: of h3.
    ///   - iv: ACO where encryption starts, eight octets of LMP_pause_encryption_aes_req where it resumes; the least significant first.
    case aesCCM(key: UInt128, iv: [UInt8])
}

/// The contents of LMP_slot_offset. Core Vol 2, Part C, 4.4.1.
struct SlotOffset: Equatable {
    /// From the start of the central's transmission in the piconet to that of the peripheral's future one; 0...1,249 us.
    var microseconds: UInt16
    var address: BDADDR
}

/// The contents of LMP_sniff_req. Core Vol 2, Part C, 4.5.3.
struct SniffParameters: Equatable {
    /// Timing control flags: bit 1 chooses between the two formulas of the first anchor point.
    var flags: UInt8
    /// D_sniff.
    var offset: UInt16
    /// T_sniff.
    var interval: UInt16
    var attempt: UInt16
    var timeout: UInt16
}

/// The contents of LMP_SCO_link_req or LMP_eSCO_link_req, as one end has them. Core Vol 2, Part C, 4.6.1 and 4.6.2.
struct SynchronousParameters: Equatable {
    /// eSCO, which has an LT_ADDR of its own, checks and retransmissions.
    var isExtended: Bool
    /// Of eSCO; SCO has the link's.
    var ltAddr: UInt8
    /// Timing control flags: bit 1 chooses between the two formulas of the first instant.
    var flags: UInt8
    /// D_SCO or D_eSCO.
    var offset: UInt8
    /// T_SCO or T_eSCO.
    var interval: UInt8
    /// W_eSCO: slots after those that are reserved.
    var window: UInt8
    /// What this side sends and hears; nil where there is no payload, and POLL or NULL is sent.
    var transmitType: BREDRPacketType?
    var receiveType: BREDRPacketType?
    /// Octets of voice in each packet.
    var transmitLength: UInt16
    var receiveLength: UInt16
    /// 0 for u-law, 1 for A-law, 2 for CVSD, 3 for transparent data.
    var airMode: UInt8
}

extension BasebandChange {
    /// CLK27-1 at which it is to be made; nil for one that is made at once.
    var instant: UInt32? {
        switch self {
        case .channelMap(_, let instant), .roleSwitch(let instant, _): instant
        case .supervisionTimeout, .polling, .packetTypes, .packetTypeTable, .maximumSlots, .encryption, .holdsData, .sniff, .synchronous:
            nil
        }
    }
}
