import BBPackets

/// Parameters of LE_Enable_Encryption.
struct EncryptionKey: Equatable {
    var longTermKey: UInt128
    /// Rand and EDIV, which identify the key to the peer.
    var random: UInt64
    var diversifier: UInt16
}

/// Encryption Start procedure of the central; an encrypted link is paused first. Core Vol 6, Part B, 5.1.3.
struct LocalEncryption: LinkProcedure {
    enum State: Equatable {
        case awaitingStart
        case awaitingPauseResponse
        /// LL_ENC_REQ was sent; LL_ENC_RSP is awaited.
        case awaitingResponse(LinkEncryption.Half)
        case awaitingStartRequest
        case awaitingStartResponse
    }

    let key: EncryptionKey
    private(set) var state = State.awaitingStart
    private var isRefresh = false
    let kind = LinkLayerControl.Kind.encryption
    let isAwaitingPeer = true
    let holdsData = true

    init(_ key: EncryptionKey) { self.key = key }

    /// PDUs that the peripheral queued before it knew of the procedure may still arrive.
    var violation: ErrorCode? {
        switch state {
        case .awaitingStart, .awaitingPauseResponse: nil
        case .awaitingResponse: isRefresh ? .connectionTerminatedDueToMICFailure : nil
        case .awaitingStartRequest, .awaitingStartResponse: .connectionTerminatedDueToMICFailure
        }
    }

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch (event, state) {
        case (.start, .awaitingStart):
            guard !link.peer.lacks(.leEncryption) else { return end(.unsupportedRemoteFeature) }
            guard link.encryption.isOn else { return request(link) }
            isRefresh = true
            state = .awaitingPauseResponse
            return [.send(LLControl.PauseEncReq())]
        case (.message(.pauseEncRsp), .awaitingPauseResponse):
            // LL_PAUSE_ENC_RSP is already sent unencrypted. Core Vol 6, Part B, 5.1.3.2.
            return [.change(.encryption(.directions(sent: false, received: false))), .send(LLControl.PauseEncRsp())] + request(link)
        case (.message(.encRsp(let pdu)), .awaitingResponse(let own)):
            state = .awaitingStartRequest
            let half = LinkEncryption.Half(skd: pdu.skdPeripheral, iv: pdu.ivPeripheral)
            return [.change(.encryption(.session(.init(longTermKey: key.longTermKey, central: own, peripheral: half))))]
        case (.message(.startEncReq), .awaitingStartRequest):
            state = .awaitingStartResponse
            return [.change(.encryption(.directions(sent: true, received: true))), .send(LLControl.StartEncRsp())]
        case (.message(.startEncRsp), .awaitingStartResponse): return end(.success)
        case (.refused(let refusal), .awaitingResponse), (.refused(let refusal), .awaitingStartRequest):
            return refusal.concerns(LLControl.EncReq.opcode) ? end(refusal.reason) : nil
        default: return nil
        }
    }

    private mutating func request(_ link: LinkState) -> [LinkAction] {
        let own = link.encryption.half
        state = .awaitingResponse(own)
        let pdu = LLControl.EncReq(rand: key.random, ediv: key.diversifier, skdCentral: own.skd, ivCentral: own.iv)
        return [.send(pdu), .change(.encryption(.halfTold))]
    }

    private func end(_ status: ErrorCode) -> [LinkAction] { [.report(isRefresh ? .keyRefreshed(status) : .encrypted(status)), .finish] }
}

/// The peripheral's part.
struct RemoteEncryption: LinkProcedure {
    enum State: Equatable {
        case awaitingRequest
        /// Awaits the central's LL_PAUSE_ENC_RSP, which is unencrypted.
        case awaitingPauseResponse
        /// Both contributions to the session are known; the host looks up the key.
        case awaitingKey(central: LinkEncryption.Half, own: LinkEncryption.Half)
        case awaitingStartResponse
        /// Rejected for a missing key; the link ends after the acknowledgement.
        case awaitingAcknowledgement
    }

    private(set) var state = State.awaitingRequest
    private var isRefresh = false
    let kind = LinkLayerControl.Kind.encryption
    let holdsData = true
    /// The central must not send any other PDU. Core Vol 6, Part B, 5.1.3.1.
    let violation: ErrorCode? = .connectionTerminatedDueToMICFailure

    var isAwaitingPeer: Bool {
        switch state {
        case .awaitingKey: false
        case .awaitingRequest, .awaitingPauseResponse, .awaitingStartResponse, .awaitingAcknowledgement: true
        }
    }

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch (event, state) {
        case (.message(.pauseEncReq), .awaitingRequest) where !isRefresh && link.encryption.isOn:
            isRefresh = true
            state = .awaitingPauseResponse
            return [.change(.encryption(.directions(sent: true, received: false))), .send(LLControl.PauseEncRsp())]
        case (.message(.pauseEncRsp), .awaitingPauseResponse):
            state = .awaitingRequest
            return [.change(.encryption(.directions(sent: false, received: false)))]
        case (.message(.encReq(let pdu)), .awaitingRequest):
            let own = link.encryption.half
            state = .awaitingKey(central: .init(skd: pdu.skdCentral, iv: pdu.ivCentral), own: own)
            let response = LLControl.EncRsp(skdPeripheral: own.skd, ivPeripheral: own.iv)
            let begin: [LinkAction] = [.change(.encryption(.halfTold)), .send(response)]
            guard !link.configuration.quirks.encryption.contains(.needsNoKey) else {
                return begin + (handle(.hostReplied(.longTermKey(0)), link) ?? [])
            }
            return begin + [.report(.keyRequested(random: pdu.rand, diversifier: pdu.ediv))]
        case (.hostReplied(.longTermKey(let key)), .awaitingKey(let central, let own)):
            state = .awaitingStartResponse
            return [
                .change(.encryption(.session(.init(longTermKey: key, central: central, peripheral: own)))), .send(LLControl.StartEncReq()),
            ]
        // Until the central has LL_START_ENC_REQ, its PDUs are unencrypted. Core Vol 6, Part B, 5.1.3.1.
        case (.acknowledged(LLControl.StartEncReq.opcode), .awaitingStartResponse):
            return [.change(.encryption(.directions(sent: false, received: true)))]
        case (.hostReplied(.noLongTermKey), .awaitingKey): return refuse(link)
        case (.message(.startEncRsp), .awaitingStartResponse):
            return [
                .change(.encryption(.directions(sent: true, received: true))), .send(LLControl.StartEncRsp()),
                .report(isRefresh ? .keyRefreshed(.success) : .encrypted(.success)), .finish,
            ]
        case (.acknowledged(LLControl.TerminateInd.opcode), .awaitingAcknowledgement):
            return [.disconnect(.connectionTerminatedByLocalHost)]
        default: return nil
        }
    }

    /// A link that was encrypted before is not continued unencrypted. Core Vol 6, Part B, 5.1.3.1.
    private mutating func refuse(_ link: LinkState) -> [LinkAction] {
        guard isRefresh else { return [.send(LinkLayerControl.rejection(of: LLControl.EncReq.opcode, .pinOrKeyMissing, link)), .finish] }
        state = .awaitingAcknowledgement
        return [.send(LLControl.TerminateInd(errorCode: .pinOrKeyMissing))]
    }
}
