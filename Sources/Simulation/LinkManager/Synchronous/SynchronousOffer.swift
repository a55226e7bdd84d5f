import BBPackets

/// Parameters of LMP_SCO_link_req or LMP_eSCO_link_req. Core Vol 2, Part C, 4.6.
struct SynchronousOffer: Equatable {
    var isExtended: Bool
    /// SCO_Handle or eSCO_Handle; 0 in a peripheral's request, since the central assigns it.
    var id: UInt8 = 0
    var ltAddr: UInt8 = 0
    var flags: UInt8 = 0
    var offset: UInt8 = 0
    var interval: UInt8
    var window: UInt8 = 0
    /// Packet types of the two directions; nil if a direction has no payload.
    var centralType: BREDRPacketType?
    var peripheralType: BREDRPacketType?
    var centralLength: UInt16
    var peripheralLength: UInt16
    var airMode: UInt8

    static let basicTypes: [BREDRPacketType] = [.hv1, .hv2, .hv3]
    /// Extended packet types with their codes in LMP_eSCO_link_req, in order of preference.
    static let extendedTypes: [(code: UInt8, type: BREDRPacketType)] = [
        (0x26, .twoEV3), (0x37, .threeEV3), (0x07, .ev3), (0x2C, .twoEV5), (0x3D, .threeEV5), (0x0D, .ev5), (0x0C, .ev4),
    ]

    /// Reserved slots of both directions.
    var reserved: Int { (centralType?.slots ?? 1) + (peripheralType?.slots ?? 1) }
    /// Slots per interval, including the retransmission window.
    var slots: Int { reserved + Int(window) }

    /// True if the parameters are within Core Vol 2, Part C, 5.2: even numbers that fit into the interval.
    var isLegal: Bool {
        guard interval % 2 == 0, offset % 2 == 0, window % 2 == 0, offset < max(interval, 2), airMode <= 3 else { return false }
        guard isExtended else { return centralType.map { Int($0.capacity) / 5 == Int(interval) } ?? false }
        return interval >= 4 && slots <= Int(interval) && centralLength <= centralType?.capacity ?? 0
            && peripheralLength <= peripheralType?.capacity ?? 0 && (centralType != nil || peripheralType != nil)
    }

    func parameters(for role: LinkRole) -> SynchronousParameters {
        let isCentral = role == .central
        return SynchronousParameters(
            isExtended: isExtended, ltAddr: ltAddr, flags: flags, offset: offset, interval: interval, window: window,
            transmitType: isCentral ? centralType : peripheralType, receiveType: isCentral ? peripheralType : centralType,
            transmitLength: isCentral ? centralLength : peripheralLength, receiveLength: isCentral ? peripheralLength : centralLength,
            airMode: airMode)
    }

    /// Symmetric offer with one packet type.
    init(_ type: BREDRPacketType, interval: UInt8, window: UInt8, lengths: (central: UInt16, peripheral: UInt16), airMode: UInt8) {
        isExtended = !Self.basicTypes.contains(type)
        self.interval = interval
        self.window = window
        centralType = lengths.central > 0 ? type : nil
        peripheralType = lengths.peripheral > 0 ? type : nil
        (centralLength, peripheralLength) = lengths
        self.airMode = airMode
    }
}

// MARK: PDUs

extension SynchronousOffer {
    /// Returns nil if the PDU is not an offer or has an invalid packet type.
    init?(_ pdu: LMP.Message) {
        switch pdu {
        case .scoLinkReq(let pdu):
            guard Self.basicTypes.indices.contains(Int(pdu.scoPacket)) else { return nil }
            let type = Self.basicTypes[Int(pdu.scoPacket)]
            let length = UInt16(type.capacity)
            self.init(type, interval: pdu.tSco, window: 0, lengths: (length, length), airMode: pdu.airMode)
            (id, flags, offset) = (pdu.scoHandle, pdu.timingControlFlags.rawValue, pdu.dSco)
        case .escoLinkReq(let pdu): self.init(pdu)
        default: return nil
        }
    }

    private init?(_ pdu: LMP.EscoLinkReq) {
        guard let central = Self.type(pdu.escoPacketTypeCToP), let peripheral = Self.type(pdu.escoPacketTypePToC) else { return nil }
        self.init(
            .ev3, interval: pdu.tEsco, window: pdu.wEsco, lengths: (pdu.packetLengthCToP, pdu.packetLengthPToC), airMode: pdu.airMode)
        (centralType, peripheralType) = (central.type, peripheral.type)
        (id, ltAddr, flags, offset) = (pdu.escoHandle, pdu.escoLTADDR, pdu.timingControlFlags.rawValue, pdu.dEsco)
    }

    private static func type(_ code: UInt8) -> (code: UInt8, type: BREDRPacketType?)? {
        code == 0 ? (0, nil) : extendedTypes.first { $0.code == code }.map { ($0.code, $0.type) }
    }

    private static func code(_ type: BREDRPacketType?) -> UInt8 { extendedTypes.first { $0.type == type }?.code ?? 0 }

    func request(_ transaction: LMPTransaction, isAnswer: Bool) -> LMPAction {
        guard isExtended else {
            return .send(
                LMP.ScoLinkReq(
                    scoHandle: id, timingControlFlags: LMPTimingControlFlags(rawValue: flags), dSco: offset, tSco: interval,
                    scoPacket: UInt8(Self.basicTypes.firstIndex { $0 == centralType } ?? 0), airMode: airMode), transaction)
        }
        return .send(
            LMP.EscoLinkReq(
                escoHandle: id, escoLTADDR: ltAddr, timingControlFlags: LMPTimingControlFlags(rawValue: flags), dEsco: offset,
                tEsco: interval, wEsco: window, escoPacketTypeCToP: Self.code(centralType), escoPacketTypePToC: Self.code(peripheralType),
                packetLengthCToP: centralLength, packetLengthPToC: peripheralLength, airMode: airMode,
                negotiationState: isAnswer ? 1 : 0), transaction)
    }

    func acceptance(_ transaction: LMPTransaction) -> LMPAction {
        isExtended ? .accept(LMP.EscoLinkReq.self, transaction) : .accept(LMP.ScoLinkReq.self, transaction)
    }

    func refusal(_ reason: ErrorCode, _ transaction: LMPTransaction) -> LMPAction {
        isExtended ? .reject(LMP.EscoLinkReq.self, reason, transaction) : .reject(LMP.ScoLinkReq.self, reason, transaction)
    }
}
