import Packets

/// What LE_Enable_Encryption gives.
struct EncryptionKey: Equatable {
    var longTermKey: UInt128
    /// Rand and EDIV, by which the other side finds its key.
    var random: UInt64
    var diversifier: UInt16
}

/// Encryption start by the central; a link that is encrypted already is paused before. Core Vol 6, Part B, 5.1.3.
struct LocalEncryption: LinkProcedure {
    enum State: Equatable {
        case awaitingStart
        case awaitingPauseResponse
        /// The central has told its half of the session.
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

    /// What the peripheral had to send before it knew of the procedure may still come.
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
            // The answer goes out in clear already. Core Vol 6, Part B, 5.1.3.2.
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
        /// The central's LL_PAUSE_ENC_RSP, which is in clear.
        case awaitingPauseResponse
        /// The host looks for the key; both halves of the session are known.
        case awaitingKey(central: LinkEncryption.Half, own: LinkEncryption.Half)
        case awaitingStartResponse
        /// The link ends for want of a key.
        case awaitingAcknowledgement
    }

    private(set) var state = State.awaitingRequest
    private var isRefresh = false
    let kind = LinkLayerControl.Kind.encryption
    let holdsData = true
    /// The central knows what it may send. Core Vol 6, Part B, 5.1.3.1.
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
                .change(.encryption(.session(.init(longTermKey: key, central: central, peripheral: own)))),
                .change(.encryption(.directions(sent: false, received: true))), .send(LLControl.StartEncReq()),
            ]
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

    /// A link that was encrypted before does not go on in clear. Core Vol 6, Part B, 5.1.3.1.
    private mutating func refuse(_ link: LinkState) -> [LinkAction] {
        guard isRefresh else { return [.send(LinkLayerControl.rejection(of: LLControl.EncReq.opcode, .pinOrKeyMissing, link)), .finish] }
        state = .awaitingAcknowledgement
        return [.send(LLControl.TerminateInd(errorCode: .pinOrKeyMissing))]
    }
}
