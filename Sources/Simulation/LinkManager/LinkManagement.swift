import BBPackets

/// The link manager protocol for the procedure engine. Core Vol 2, Part C.
enum LinkManagement: ControlLayer {
    typealias Message = LMPMessage
    /// Transaction ID, opcode and parameters.
    typealias PDU = [UInt8]
    typealias Opcode = LMPHeader
    typealias Context = ACLLinkState
    typealias Change = ACLLinkChange
    typealias Report = ACLReport
    typealias HostReply = ACLReply
    typealias Pending = Never

    /// LMP procedures. Core Vol 2, Part C, 4.
    enum Kind: CaseIterable {
        case setup
        case detach
        case supervision
        case qualityOfService
        case maxSlot
        case packetTypeTable
        case ping
        case timingAccuracy
        case clockOffset
        case version
        case features
        case name
        case slotOffset
        case roleSwitch
        case authentication
        case pairing
        case encryption
        case sniff
        case channelMap
        case synchronous
    }

    /// LMP response timeout: 30 s. Core Vol 2, Part C, 2.6.
    static let responseTimeout: Microseconds = 30_000_000

    /// LMP procedures that exclude one another, with the reason of the refusal. Core Vol 2, Part C, 2.5.1.
    static let collisions = CollisionTable<Kind>(
        [
            .init(.setup, .setup, .lmpPDUNotAllowed),
            .init(.roleSwitch, .roleSwitch, .lmpErrorTransactionCollision),
            .init(.packetTypeTable, .packetTypeTable, .lmpErrorTransactionCollision),
            .init(.authentication, .authentication, .lmpErrorTransactionCollision),
            .init(.pairing, .pairing, .lmpErrorTransactionCollision),
            .init(.encryption, .encryption, .lmpErrorTransactionCollision),
            .init(.authentication, .pairing, .differentTransactionCollision),
            .init(.authentication, .encryption, .differentTransactionCollision),
            .init(.pairing, .encryption, .differentTransactionCollision),
            .init(.synchronous, .synchronous, .lmpErrorTransactionCollision),
            .init(.roleSwitch, .synchronous, .differentTransactionCollision),
            .init(.sniff, .sniff, .lmpErrorTransactionCollision),
            .init(.roleSwitch, .sniff, .differentTransactionCollision),
            .init(.roleSwitch, .authentication, .differentTransactionCollision),
            .init(.roleSwitch, .pairing, .differentTransactionCollision),
            .init(.roleSwitch, .encryption, .differentTransactionCollision),
        ],
        indicated: [], terminating: [.detach])

    /// The central's procedure wins a collision.
    static func prevails(_ link: ACLLinkState) -> Bool { link.role == .central }

    /// The initiator, from the transaction ID. Exceptions are PDUs that both devices send on their own, and requests from before a role
    /// switch during connection setup.
    static func initiator(of message: LMPMessage, _ link: ACLLinkState) -> ProcedureInitiator? {
        if case .setupComplete = message.pdu { return nil }
        guard link.isSetUp || !link.hasSwitched else { return nil }
        return message.transaction == link.ownTransaction ? .local : .remote
    }

    static func refusal(in message: LMPMessage) -> LMPRefusal? {
        switch message.pdu {
        case .notAccepted(let pdu):
            LMPRefusal(opcode: LMPHeader(message.transaction, opcode: UInt16(pdu.opcode.rawValue)), reason: pdu.errorCode)
        case .notAcceptedExt(let pdu):
            LMPRefusal(
                opcode: LMPHeader(message.transaction, opcode: UInt16(pdu.escapeOpcode) << 8 | UInt16(pdu.extendedOpcode.rawValue)),
                reason: pdu.errorCode)
        default: nil
        }
    }

    static func response(to message: LMPMessage, _ link: ACLLinkState) -> ProcedureResponse<LinkManagement> {
        if case .detach = message.pdu { return .begin(RemoteDetach()) }
        // The peer cannot initiate a procedure with this device's transaction ID.
        guard !(link.isSetUp && message.transaction == link.ownTransaction) else { return .unknown }
        return switch message.pdu {
        case .unknown(let opcode, _): malformed(opcode)
        case .hostConnectionReq: link.isSetUp || link.role == .central ? .unknown : .begin(RemoteConnectionSetup())
        case .featuresReq, .featuresReqExt: begin(RemoteFeaturePage(), if: message.isSupported(by: link))
        case .versionReq: .begin(RemoteVersionRequest())
        case .nameReq: .begin(RemoteNameRequest())
        case .clkoffsetReq: link.role == .peripheral ? .begin(RemoteClockOffset()) : .unknown
        case .timingAccuracyReq: begin(RemoteTimingAccuracy(), if: link.supports(.timingAccuracy))
        case .supervisionTimeout: link.role == .peripheral ? .begin(RemoteSupervisionTimeout()) : .unknown
        case .maxSlot, .maxSlotReq: .begin(RemoteMaxSlot())
        case .packetTypeTableReq: link.isSetUp ? begin(RemotePacketTypeTable(), if: link.supportsEnhancedRates) : .unknown
        case .qualityOfService, .qualityOfServiceReq: .begin(RemoteQualityOfService())
        case .pingReq: begin(RemoteLMPPing(), if: link.supportsPing)
        case .slotOffset: begin(RemoteSlotOffset(), if: link.supports(.slotOffset))
        case .switchReq: begin(RemoteRoleSwitch(), if: link.supports(.roleSwitch))
        case .auRand, .inRand, .ioCapabilityReq:
            link.settings.isAuthenticationBarred ? .reject(.repeatedAttempts) : proof(message.pdu, link)
        case .combKey: .begin(RemoteLinkKeyChange())
        case .unitKey: .reject(.pairingWithUnitKeyNotSupported)
        case .encryptionModeReq: begin(RemoteEncryptionMode(), if: link.supports(.encryption))
        case .scoLinkReq, .removeScoLinkReq, .escoLinkReq, .removeEscoLinkReq: synchronous(message.pdu, link)
        case .sniffReq: begin(RemoteSniff(), if: link.supports(.sniff))
        case .unsniffReq: begin(RemoteUnsniff(), if: link.supports(.sniff))
        case .setAFH: link.role == .peripheral && link.supports(.adaptiveHoppingPeripheral) ? .begin(RemoteChannelMap()) : .unknown
        case .pauseEncryptionReq, .pauseEncryptionAESReq:
            link.security.mode == .off
                ? .unknown : begin(EncryptionRefresh(isLocal: false), if: link.supports(.pauseEncryption))
        default: isOptional(message.pdu) ? .reject(.unsupportedRemoteFeature) : .unknown
        }
    }

    /// Response to a PDU about SCO or eSCO. Core Vol 2, Part C, 4.6.
    private static func synchronous(_ pdu: LMP.Message, _ link: ACLLinkState) -> ProcedureResponse<LinkManagement> {
        switch pdu {
        // AES-CCM does not protect SCO, so no SCO link is created on a link encrypted with it.
        case .scoLinkReq where link.security.mode == .aesCCM: .reject(.connectionRejectedDueToSecurityReasons)
        case .scoLinkReq: begin(SynchronousSetup(), if: link.supports(.sco))
        case .escoLinkReq: begin(SynchronousSetup(), if: link.supports(.extendedSCO))
        case .removeScoLinkReq: begin(RemoteSynchronousEnd(), if: link.supports(.sco))
        default: begin(RemoteSynchronousEnd(), if: link.supports(.extendedSCO))
        }
    }

    /// Starts authentication, or pairing by one of its two methods.
    private static func proof(_ pdu: LMP.Message, _ link: ACLLinkState) -> ProcedureResponse<LinkManagement> {
        switch pdu {
        case .auRand: .begin(RemoteAuthentication())
        case .inRand: link.usesSimplePairing ? .reject(.pairingNotAllowed) : .begin(RemoteLegacyPairing())
        default: simplePairing(link)
        }
    }

    /// Response to a PDU that starts Secure Simple Pairing. Core Vol 2, Part C, 4.2.7.1.
    private static func simplePairing(_ link: ACLLinkState) -> ProcedureResponse<LinkManagement> {
        guard link.supports(.simplePairing) else { return .reject(.unsupportedRemoteFeature) }
        let isOn = LMPHostFeatures(rawValue: link.settings.page(1)).contains(.simplePairing)
        return isOn ? .begin(RemoteIOCapabilities()) : .reject(.secureSimplePairingNotSupportedByHost)
    }

    private static func begin(_ procedure: any LMPProcedure, if isSupported: Bool) -> ProcedureResponse<LinkManagement> {
        isSupported ? .begin(procedure) : .reject(.unsupportedRemoteFeature)
    }

    /// Response to a known opcode with a wrong length, which differs from an unknown opcode. A malformed response is ignored. Core Vol 2,
    /// Part C, 2.5.
    private static func malformed(_ opcode: UInt16) -> ProcedureResponse<LinkManagement> {
        guard isKnown(opcode) else { return .reject(.unknownLMPPDU) }
        return answers.contains(opcode) ? .unknown : .reject(.invalidLMPParameters)
    }

    private static let answers: Set<UInt16> = [
        LMP.Accepted.opcode, LMP.NotAccepted.opcode, LMP.AcceptedExt.opcode, LMP.NotAcceptedExt.opcode, LMP.Detach.opcode,
    ]

    private static func isKnown(_ opcode: UInt16) -> Bool {
        var reader = ByteReader([UInt8](repeating: 0, count: 17).span.bytes)
        if case .unknown = try? LMP.Message(opcode: opcode, from: &reader) { return false }
        return true
    }

    /// True for PDUs of features that the simulation does not implement.
    private static func isOptional(_ pdu: LMP.Message) -> Bool {
        switch pdu {
        case .holdReq, .pageModeReq, .pageScanModeReq, .useSemiPermanentKey, .encryptionKeySizeMaskReq,
            .sniffSubratingReq, .powerControlReq, .samSetType0, .samDefineMap, .samSwitch, .clkAdj,
            .clkAdjReq, .testActivate, .testControl:
            true
        default: false
        }
    }

    static func rejection(of opcode: LMPHeader, _ reason: ErrorCode, _ link: ACLLinkState) -> [UInt8] { opcode.refusal(reason) }

    /// A PDU that is not allowed is rejected if it needs a response, and ignored otherwise. Core Vol 2, Part C, 2.5.
    static func unknown(_ opcode: LMPHeader, _ link: ACLLinkState) -> [UInt8]? {
        guard !answers.contains(opcode.opcode) else { return nil }
        var reader = ByteReader([UInt8](repeating: 0, count: 17).span.bytes)
        guard let pdu = try? LMP.Message(opcode: opcode.opcode, from: &reader), LMPMessage(opcode.transaction, pdu).wantsAnswer else {
            return nil
        }
        return opcode.refusal(.lmpPDUNotAllowed)
    }

    static func apply(_ change: ACLLinkChange, at instant: Int?, to link: inout ACLLinkState) -> (isChanged: Bool, reports: [ACLReport]) {
        (true, link.apply(change))
    }
}

extension LMPMessage {
    fileprivate func isSupported(by link: ACLLinkState) -> Bool {
        if case .featuresReqExt = pdu { return link.supports(.extendedPages) }
        return true
    }
}
