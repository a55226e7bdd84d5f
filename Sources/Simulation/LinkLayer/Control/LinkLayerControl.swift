import BBPackets

/// The link layer control protocol for the procedure engine. Core Vol 6, Part B, 5.1 to 5.5.
enum LinkLayerControl: ControlLayer {
    typealias Message = LLControl.Message
    /// Opcode and CtrData.
    typealias PDU = [UInt8]
    typealias Opcode = UInt8
    typealias Context = LinkState
    typealias Change = LinkChange
    typealias Report = LinkReport
    typealias Pending = PendingParameters

    /// Replies of the host.
    enum HostReply {
        /// LE_Remote_Connection_Parameter_Request_Reply.
        case acceptsParameters(RequestedParameters)
        /// LE_Remote_Connection_Parameter_Request_Negative_Reply.
        case refusesParameters(ErrorCode)
        /// LE_Long_Term_Key_Request_Reply.
        case longTermKey(UInt128)
        /// LE_Long_Term_Key_Request_Negative_Reply.
        case noLongTermKey
    }

    /// LL control procedures. Core Vol 6, Part B, 5.1.
    enum Kind: CaseIterable {
        case version
        case features
        case connectionUpdate
        case parameterRequest
        case channelMap
        case phy
        case dataLength
        case ping
        case encryption
        case termination
    }

    /// Procedure response timeout: 40 s. Core Vol 6, Part B, 5.2.
    static let responseTimeout: Microseconds = 40_000_000

    /// Procedures with an instant are mutually incompatible. Connection update and connection parameters request count as one. Core Vol 6,
    /// Part B, 5.3.
    static let collisions = CollisionTable<Kind>(
        [
            .init(.connectionUpdate, .connectionUpdate, .lmpErrorTransactionCollision),
            .init(.connectionUpdate, .parameterRequest, .lmpErrorTransactionCollision),
            .init(.parameterRequest, .parameterRequest, .lmpErrorTransactionCollision),
            .init(.channelMap, .channelMap, .lmpErrorTransactionCollision),
            .init(.phy, .phy, .lmpErrorTransactionCollision),
            .init(.connectionUpdate, .channelMap, .differentTransactionCollision),
            .init(.connectionUpdate, .phy, .differentTransactionCollision),
            .init(.parameterRequest, .channelMap, .differentTransactionCollision),
            .init(.parameterRequest, .phy, .differentTransactionCollision),
            .init(.channelMap, .phy, .differentTransactionCollision),
        ],
        indicated: [.connectionUpdate, .channelMap], terminating: [.termination], exclusive: [.encryption])

    /// The central's procedure wins a collision.
    static func prevails(_ link: LinkState) -> Bool { link.role == .central }

    /// Returns nil: LL control PDUs do not say who started the procedure.
    static func initiator(of message: LLControl.Message, _ link: LinkState) -> ProcedureInitiator? { nil }

    /// Returns nil if the PDU is unknown or malformed.
    static func decode(_ opcode: UInt8, _ payload: ArraySlice<UInt8>) -> LLControl.Message? {
        let parameters = payload.dropFirst()
        var reader = ByteReader(parameters.span.bytes)
        guard let message = try? LLControl.Message(opcode: opcode, from: &reader), reader.remaining == 0 else { return nil }
        return message
    }

    static func refusal(in message: LLControl.Message) -> LinkRefusal? {
        switch message {
        case .unknownRsp(let pdu): LinkRefusal(opcode: pdu.unknownType.rawValue, reason: .unsupportedRemoteFeature)
        case .rejectInd(let pdu): LinkRefusal(opcode: nil, reason: pdu.errorCode)
        case .rejectExtInd(let pdu): LinkRefusal(opcode: pdu.rejectOpcode.rawValue, reason: pdu.errorCode)
        default: nil
        }
    }

    static func response(to message: LLControl.Message, _ link: LinkState) -> ProcedureResponse<LinkLayerControl> {
        let features = link.configuration.features
        func begin(_ procedure: any Procedure<LinkLayerControl>, if isSupported: Bool = true) -> ProcedureResponse<LinkLayerControl> {
            isSupported ? .begin(procedure) : .unknown
        }
        return switch message {
        case .versionInd: begin(RemoteVersionExchange())
        case .featureReq: begin(RemoteFeatureExchange())
        case .peripheralFeatureReq: begin(RemoteFeatureExchange(), if: features.contains(.peripheralInitiatedFeaturesExchange))
        case .connectionUpdateInd: begin(RemoteConnectionUpdate())
        case .connectionParamReq: begin(RemoteParameterRequest(), if: features.contains(.connectionParametersRequest))
        case .channelMapInd: begin(RemoteChannelMapUpdate())
        case .phyReq: begin(RemotePHYUpdate(), if: !features.isDisjoint(with: [.le2MPHY, .leCodedPHY]))
        case .lengthReq: begin(RemoteDataLengthUpdate(), if: features.contains(.leDataPacketLengthExtension))
        case .pingReq: begin(RemotePing(), if: features.contains(.lePing))
        case .terminateInd: begin(RemoteTermination())
        case .encReq where link.role == .peripheral: encryption(link)
        case .pauseEncReq where link.role == .peripheral && link.encryption.isOn: .begin(RemoteEncryption())
        default: .unknown
        }
    }

    /// Response to LL_ENC_REQ. An encrypted link must pause encryption before it starts again. Core Vol 6, Part B, 5.1.3.
    private static func encryption(_ link: LinkState) -> ProcedureResponse<LinkLayerControl> {
        guard link.configuration.features.contains(.leEncryption) else { return .reject(.unsupportedRemoteFeature) }
        return link.encryption.isOn ? .reject(.commandDisallowed) : .begin(RemoteEncryption())
    }

    /// LL_REJECT_EXT_IND if both devices are known to support it, otherwise LL_REJECT_IND. Core Vol 6, Part B, 2.4.2 and 4.6.
    static func rejection(of opcode: UInt8, _ reason: ErrorCode, _ link: LinkState) -> [UInt8] {
        let both = link.configuration.features.intersection(link.peer.features ?? [])
        return both.contains(.extendedRejectIndication)
            ? LLControl.RejectExtInd(rejectOpcode: LLOpcode(rawValue: opcode), errorCode: reason).bytes
            : LLControl.RejectInd(errorCode: reason).bytes
    }

    static func unknown(_ opcode: UInt8, _ link: LinkState) -> [UInt8]? {
        switch opcode {
        case LLControl.UnknownRsp.opcode, LLControl.RejectInd.opcode, LLControl.RejectExtInd.opcode: nil
        default: LLControl.UnknownRsp(unknownType: LLOpcode(rawValue: opcode)).bytes
        }
    }

    static func apply(_ change: LinkChange, at instant: Int?, to link: inout LinkState) -> (isChanged: Bool, reports: [LinkReport]) {
        link.apply(change, at: instant)
    }
}

extension LinkLayerControl {
    /// A PDU with its instant later by a number of events; unchanged if it has none.
    static func postponed(_ pdu: ArraySlice<UInt8>, by events: Int) -> ArraySlice<UInt8> {
        guard events > 0, let opcode = pdu.first, let message = decode(opcode, pdu) else { return pdu }
        let delay = UInt16(truncatingIfNeeded: events)
        switch message {
        case .connectionUpdateInd(var pdu):
            pdu.instant &+= delay
            return pdu.bytes[...]
        case .channelMapInd(var pdu):
            pdu.instant &+= delay
            return pdu.bytes[...]
        case .phyUpdateInd(var pdu):
            pdu.instant &+= delay
            return pdu.bytes[...]
        default: return pdu
        }
    }
}

typealias LinkProcedure = Procedure<LinkLayerControl>
typealias LinkEvent = ProcedureEvent<LinkLayerControl>
typealias LinkAction = ProcedureAction<LinkLayerControl>
typealias LinkRefusal = ProcedureRefusal<LinkLayerControl>

extension ProcedureAction where Layer == LinkLayerControl {
    static func send(_ pdu: some LLControlPDU) -> Self { .send(pdu.bytes) }
}

/// Values that procedures with an instant derive from the link state.
extension LinkState {
    /// Instant of a PDU that is sent in the next event. Core Vol 6, Part B, 5.5.
    var nextInstant: Int { earliestInstant + 1 }

    /// Earliest instant that a PDU sent in the current event may name: six events later, to which even a peripheral with latency listens.
    var earliestInstant: Int { timing.eventCounter + timing.events(untilHeard: 6) }

    /// Event number of the peer's instant, including the current event; nil if the instant has passed. Core Vol 6, Part B, 5.5.1.
    func event(of instant: UInt16) -> Int? {
        let ahead = instant &- UInt16(truncatingIfNeeded: timing.eventCounter)
        return ahead >= 32_767 ? nil : timing.eventCounter + Int(ahead)
    }

    /// As `event(of:)`, for PDUs other than LL_CONNECTION_UPDATE_IND: a peripheral may keep the link although the instant has passed. It then
    /// applies the change at once. Core Vol 6, Part B, 5.5.1.
    func optionalEvent(of instant: UInt16) -> Int? {
        event(of: instant) ?? (configuration.choices.keepsLinksPastInstants ? timing.eventCounter : nil)
    }

    /// PHYs that this controller supports.
    var supportedPHYs: PHYs {
        var phys: PHYs = .le1M
        if configuration.features.contains(.le2MPHY) { phys.insert(.le2M) }
        if configuration.features.contains(.leCodedPHY) { phys.insert(.leCoded) }
        return phys
    }
}
