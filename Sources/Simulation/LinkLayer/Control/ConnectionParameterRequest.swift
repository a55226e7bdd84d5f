import BBPackets

/// Connection Parameters Request procedure, started by either device. Core Vol 6, Part B, 5.1.7.
struct LocalParameterRequest: LinkProcedure {
    enum State {
        case awaitingStart
        /// The peripheral waits for LL_CONNECTION_UPDATE_IND, the central for LL_CONNECTION_PARAM_RSP.
        case awaitingAnswer
        case awaitingInstant
    }

    let requested: RequestedParameters
    private(set) var state = State.awaitingStart
    private(set) var pendingParameters: PendingParameters?
    let kind = LinkLayerControl.Kind.parameterRequest
    var isAwaitingPeer: Bool { state == .awaitingAnswer }

    init(_ requested: RequestedParameters) { self.requested = requested }

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch (event, state, link.role) {
        case (.start, _, _):
            guard link.configuration.features.contains(.connectionParametersRequest), !link.peer.lacks(.connectionParametersRequest)
            else { return fallBack(.unsupportedRemoteFeature, link) }
            state = .awaitingAnswer
            let request = requested.request(link)
            // The central may choose any interval of the range. Core Vol 6, Part B, 5.1.7.4.
            if link.role == .peripheral { pendingParameters = PendingParameters(interval: request.intervalMinMicroseconds) }
            return [.send(request)]
        case (.message(.connectionUpdateInd(let pdu)), .awaitingAnswer, .peripheral):
            guard let actions = pdu.acceptance(link) else { return nil }
            state = .awaitingInstant
            pendingParameters = PendingParameters(interval: pdu.intervalMicroseconds)
            return actions
        case (.message(.connectionParamRsp(let pdu)), .awaitingAnswer, .central): return decide(pdu, link)
        case (.refused(let refusal), .awaitingAnswer, _) where refusal.concerns(LLControl.ConnectionParamReq.opcode):
            return refusal.reason == .unsupportedRemoteFeature
                ? fallBack(refusal.reason, link) : [.report(.updated(refusal.reason)), .finish]
        case (.instantReached, _, _): return [.report(.updated(.success)), .finish]
        default: return nil
        }
    }

    private mutating func decide(_ pdu: LLControl.ConnectionParamRsp, _ link: LinkState) -> [LinkAction] {
        guard let answer = RequestedParameters(pdu), let update = LLControl.ConnectionUpdateInd(answer, link) else {
            let rejection = LinkLayerControl.rejection(of: LLControl.ConnectionParamRsp.opcode, .invalidLMPParameters, link)
            return [.send(rejection), .report(.updated(.invalidLMPParameters)), .finish]
        }
        return announce(update, link)
    }

    private mutating func announce(_ update: LLControl.ConnectionUpdateInd, _ link: LinkState) -> [LinkAction] {
        state = .awaitingInstant
        pendingParameters = PendingParameters(interval: update.intervalMicroseconds)
        return update.announcement(link)
    }

    /// Ends the request. A central updates the connection without it, since it does not need the peer's consent.
    private mutating func fallBack(_ reason: ErrorCode, _ link: LinkState) -> [LinkAction] {
        guard link.role == .central, let update = LLControl.ConnectionUpdateInd(requested, link) else {
            return [.report(.updated(reason)), .finish]
        }
        return announce(update, link)
    }
}

struct RemoteParameterRequest: LinkProcedure {
    enum State {
        case awaitingRequest
        case awaitingHost
        /// The peripheral has replied and waits for LL_CONNECTION_UPDATE_IND.
        case awaitingUpdate
        case awaitingInstant
    }

    private(set) var state = State.awaitingRequest
    private(set) var pendingParameters: PendingParameters?
    let kind = LinkLayerControl.Kind.parameterRequest
    var isAwaitingPeer: Bool { state == .awaitingUpdate }

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch (event, state, link.role) {
        case (.message(.connectionParamReq(let pdu)), .awaitingRequest, _):
            guard let requested = RequestedParameters(pdu) else { return [refusal(.invalidLMPParameters, link), .finish] }
            if link.configuration.choices.declinesParameters { return [refusal(.unsupportedLMPParameterValue, link), .finish] }
            state = .awaitingHost
            return [.report(.requested(requested))]
        case (.hostReplied(.refusesParameters(let reason)), .awaitingHost, _): return [refusal(reason, link), .finish]
        case (.hostReplied(.acceptsParameters(let accepted)), .awaitingHost, .peripheral):
            state = .awaitingUpdate
            let response = accepted.response(link)
            pendingParameters = PendingParameters(interval: response.intervalMinMicroseconds)
            return [.send(response)]
        case (.hostReplied(.acceptsParameters(let accepted)), .awaitingHost, .central):
            guard let update = LLControl.ConnectionUpdateInd(accepted, link) else {
                return [refusal(.unsupportedLMPParameterValue, link), .finish]
            }
            state = .awaitingInstant
            pendingParameters = PendingParameters(interval: update.intervalMicroseconds)
            return update.announcement(link)
        case (.message(.connectionUpdateInd(let pdu)), .awaitingUpdate, .peripheral):
            guard let actions = pdu.acceptance(link) else { return nil }
            state = .awaitingInstant
            pendingParameters = PendingParameters(interval: pdu.intervalMicroseconds)
            return actions
        case (.refused(let refusal), .awaitingUpdate, _) where refusal.concerns(LLControl.ConnectionParamRsp.opcode): return [.finish]
        case (.instantReached(let isChanged), _, _): return isChanged ? [.report(.updated(.success)), .finish] : [.finish]
        default: return nil
        }
    }

    private func refusal(_ reason: ErrorCode, _ link: LinkState) -> LinkAction {
        .send(LinkLayerControl.rejection(of: LLControl.ConnectionParamReq.opcode, reason, link))
    }
}

extension RequestedParameters {
    /// True if the values are valid, alone and in combination. Core Vol 6, Part B, 2.4.2.16.
    var isLegal: Bool {
        typealias Fields = LLControl.ConnectionParamReq
        return Fields.intervalMinRange.contains(intervalMin) && Fields.intervalMaxRange.contains(intervalMax) && intervalMin <= intervalMax
            && Fields.latencyRange.contains(latency) && Fields.timeoutRange.contains(timeout)
            && Int(timeout) * 4 > (1 + Int(latency)) * Int(intervalMax)
    }

    init?(_ pdu: LLControl.ConnectionParamReq) {
        self.init(intervalMin: pdu.intervalMin, intervalMax: pdu.intervalMax, latency: pdu.latency, timeout: pdu.timeout)
        guard isLegal else { return nil }
    }

    init?(_ pdu: LLControl.ConnectionParamRsp) {
        self.init(intervalMin: pdu.intervalMin, intervalMax: pdu.intervalMax, latency: pdu.latency, timeout: pdu.timeout)
        guard isLegal else { return nil }
    }

    /// The PDU without preferred periodicity and without offsets: any anchor point is acceptable.
    func request(_ link: LinkState) -> LLControl.ConnectionParamReq {
        LLControl.ConnectionParamReq(
            intervalMin: intervalMin, intervalMax: intervalMax, latency: latency, timeout: timeout, preferredPeriodicity: 0,
            referenceConnEventCount: UInt16(truncatingIfNeeded: link.timing.eventCounter + 1), offset0: 0xFFFF, offset1: 0xFFFF,
            offset2: 0xFFFF, offset3: 0xFFFF, offset4: 0xFFFF, offset5: 0xFFFF)
    }

    func response(_ link: LinkState) -> LLControl.ConnectionParamRsp {
        LLControl.ConnectionParamRsp(
            intervalMin: intervalMin, intervalMax: intervalMax, latency: latency, timeout: timeout, preferredPeriodicity: 0,
            referenceConnEventCount: UInt16(truncatingIfNeeded: link.timing.eventCounter + 1), offset0: 0xFFFF, offset1: 0xFFFF,
            offset2: 0xFFFF, offset3: 0xFFFF, offset4: 0xFFFF, offset5: 0xFFFF)
    }
}
