import BBPackets

/// A received LMP message with its transaction ID. Core Vol 2, Part C, 2.3.
struct LMPMessage {
    var transaction: LMPTransaction
    var pdu: LMP.Message

    init(_ transaction: LMPTransaction, _ pdu: LMP.Message) {
        self.transaction = transaction
        self.pdu = pdu
    }

    /// Returns nil if the opcode is incomplete. A message with an unknown opcode or a wrong length is kept as unknown, for the response.
    init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes.span.bytes)
        guard let header = try? LMPHeader(from: &reader) else { return nil }
        transaction = header.transaction
        pdu = (try? LMP.Message(bytes: bytes)) ?? .unknown(opcode: header.opcode, parameters: Array(bytes.dropFirst(header.count)))
    }

    var header: LMPHeader { LMPHeader(transaction, opcode: pdu.opcode) }

    /// Opcode that an LMP_accepted or LMP_accepted_ext refers to.
    var accepted: UInt16? {
        switch pdu {
        case .accepted(let pdu): UInt16(pdu.opcode.rawValue)
        case .acceptedExt(let pdu): UInt16(pdu.escapeOpcode) << 8 | UInt16(pdu.extendedOpcode.rawValue)
        default: nil
        }
    }

    func accepts<PDU: LMPPDU>(_ type: PDU.Type) -> Bool { accepted == PDU.opcode }

    /// True if the PDU needs a response even when it is not allowed. A PDU that is a response itself is ignored then. Core Vol 2, Part C,
    /// 2.5.
    var wantsAnswer: Bool {
        switch pdu {
        case .accepted, .notAccepted, .acceptedExt, .notAcceptedExt, .nameRes, .clkoffsetRes, .detach, .sres, .tempRand, .tempKey, .hold,
            .maxPower, .minPower, .autoRate, .preferredRate, .versionRes, .featuresRes, .featuresResExt, .qualityOfService, .maxSlot,
            .timingAccuracyRes, .setupComplete, .slotOffset, .supervisionTimeout, .encryptionKeySizeMaskRes, .setAFH, .clkAdjAck,
            .channelClassificationReq, .channelClassification, .sniffSubratingRes, .ioCapabilityRes, .numericComparisonFailed,
            .passkeyFailed, .oobFailed, .keypressNotification, .powerControlRes, .pingRes, .incrPowerReq, .decrPowerReq:
            false
        default: true
        }
    }
}

extension LMPTransaction {
    /// Transaction ID of procedures that the device with this role initiates.
    init(_ role: LinkRole) { self = role == .central ? .central : .peripheral }

    var other: LMPTransaction { self == .central ? .peripheral : .central }
}

extension LMPHeader {
    /// LMP_not_accepted or LMP_not_accepted_ext for this PDU, in the same transaction.
    func refusal(_ reason: ErrorCode) -> [UInt8] {
        guard let escape = UInt8(exactly: opcode >> 8), escape > 0 else {
            return LMP.NotAccepted(opcode: LMPOpcode(rawValue: UInt8(truncatingIfNeeded: opcode)), errorCode: reason).bytes(transaction)
        }
        let extended = LMPExtendedOpcode(rawValue: UInt8(truncatingIfNeeded: opcode))
        return LMP.NotAcceptedExt(escapeOpcode: escape, extendedOpcode: extended, errorCode: reason).bytes(transaction)
    }

    /// LMP_accepted or LMP_accepted_ext for this PDU, in the same transaction.
    var acceptance: [UInt8] {
        guard let escape = UInt8(exactly: opcode >> 8), escape > 0 else {
            return LMP.Accepted(opcode: LMPOpcode(rawValue: UInt8(truncatingIfNeeded: opcode))).bytes(transaction)
        }
        let extended = LMPExtendedOpcode(rawValue: UInt8(truncatingIfNeeded: opcode))
        return LMP.AcceptedExt(escapeOpcode: escape, extendedOpcode: extended).bytes(transaction)
    }
}

typealias LMPProcedure = Procedure<LinkManagement>
typealias LMPEvent = ProcedureEvent<LinkManagement>
typealias LMPAction = ProcedureAction<LinkManagement>
typealias LMPRefusal = ProcedureRefusal<LinkManagement>

extension ProcedureAction where Layer == LinkManagement {
    static func send(_ pdu: some LMPPDU, _ transaction: LMPTransaction) -> Self { .send(pdu.bytes(transaction)) }

    static func accept<PDU: LMPPDU>(_ type: PDU.Type, _ transaction: LMPTransaction) -> Self {
        .send(LMPHeader(transaction, opcode: PDU.opcode).acceptance)
    }

    static func reject<PDU: LMPPDU>(_ type: PDU.Type, _ reason: ErrorCode, _ transaction: LMPTransaction) -> Self {
        .send(LMPHeader(transaction, opcode: PDU.opcode).refusal(reason))
    }

    static func baseband(_ change: BasebandChange) -> Self { .change(.baseband(change)) }
}

extension ProcedureRefusal where Layer == LinkManagement {
    func concerns<PDU: LMPPDU>(_ type: PDU.Type) -> Bool { opcode?.opcode == PDU.opcode }
}
