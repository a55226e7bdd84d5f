import Packets

/// Connection parameters request, by either side. Core Vol 6, Part B, 5.1.7.
struct LocalParameterRequest: LocalProcedure {
    enum State {
        case awaitingStart
        /// The peripheral waits for LL_CONNECTION_UPDATE_IND, the central for LL_CONNECTION_PARAM_RSP.
        case awaitingAnswer
        case awaitingInstant
    }

    let requested: RequestedParameters
    private(set) var state = State.awaitingStart

    var kind: ProcedureKind { .parameterRequest }
    var isAwaitingPeer: Bool { state == .awaitingAnswer }

    init(_ requested: RequestedParameters) { self.requested = requested }

    mutating func start(_ context: ProcedureContext) -> [ProcedureAction] {
        guard context.ownFeatures.contains(.connectionParametersRequest), !context.peerLacks(.connectionParametersRequest) else {
            return fallBack(.unsupportedRemoteFeature, context)
        }
        state = .awaitingAnswer
        return [.send(requested.request(context))]
    }

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard state == .awaitingAnswer else { return nil }
        switch (message, context.role) {
        case (.connectionUpdateInd(let pdu), .peripheral):
            guard let actions = LinkTiming.acceptance(pdu, context) else { return nil }
            state = .awaitingInstant
            return actions
        case (.connectionParamRsp(let pdu), .central):
            guard let answer = RequestedParameters(pdu), let timing = LinkTiming(answer, context) else {
                return [
                    .send(
                        LLControl.RejectExtInd(
                            rejectOpcode: LLOpcode(rawValue: LLControl.ConnectionParamRsp.opcode), errorCode: .invalidLMPParameters)),
                    .tell(.updated(.invalidLMPParameters)), .finish,
                ]
            }
            state = .awaitingInstant
            return timing.announcement(context)
        default: return nil
        }
    }

    mutating func refused(_ opcode: UInt8?, _ reason: ErrorCode, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard state == .awaitingAnswer, opcode == nil || opcode == LLControl.ConnectionParamReq.opcode else { return nil }
        return reason == .unsupportedRemoteFeature ? fallBack(reason, context) : [.tell(.updated(reason)), .finish]
    }

    mutating func instantReached(changed: Bool, _ context: ProcedureContext) -> [ProcedureAction] {
        [.tell(.updated(.success)), .finish]
    }

    /// A central does not need the other side's consent.
    private mutating func fallBack(_ reason: ErrorCode, _ context: ProcedureContext) -> [ProcedureAction] {
        guard context.role == .central, let timing = LinkTiming(requested, context) else { return [.tell(.updated(reason)), .finish] }
        state = .awaitingInstant
        return timing.announcement(context)
    }
}

struct RemoteParameterRequest: LinkProcedure {
    enum State {
        case awaitingRequest
        case awaitingHost
        /// The peripheral has answered.
        case awaitingUpdate
        case awaitingInstant
    }

    private(set) var state = State.awaitingRequest

    var kind: ProcedureKind { .parameterRequest }
    var isAwaitingPeer: Bool { state == .awaitingUpdate }
    var isAwaitingHost: Bool { state == .awaitingHost }

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? {
        switch (message, state, context.role) {
        case (.connectionParamReq(let pdu), .awaitingRequest, _):
            guard let requested = RequestedParameters(pdu) else { return [refusal(.invalidLMPParameters), .finish] }
            state = .awaitingHost
            return [.tell(.requested(requested))]
        case (.connectionUpdateInd(let pdu), .awaitingUpdate, .peripheral):
            guard let actions = LinkTiming.acceptance(pdu, context) else { return nil }
            state = .awaitingInstant
            return actions
        default: return nil
        }
    }

    mutating func refused(_ opcode: UInt8?, _ reason: ErrorCode, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard state == .awaitingUpdate, opcode == nil || opcode == LLControl.ConnectionParamRsp.opcode else { return nil }
        return [.finish]
    }

    /// The host's answer.
    mutating func answered(_ accepted: RequestedParameters?, reason: ErrorCode, _ context: ProcedureContext) -> [ProcedureAction] {
        guard let accepted else { return [refusal(reason), .finish] }
        switch context.role {
        case .peripheral:
            state = .awaitingUpdate
            return [.send(accepted.response(context))]
        case .central:
            guard let timing = LinkTiming(accepted, context) else { return [refusal(.unsupportedLMPParameterValue), .finish] }
            state = .awaitingInstant
            return timing.announcement(context)
        }
    }

    mutating func instantReached(changed: Bool, _ context: ProcedureContext) -> [ProcedureAction] {
        changed ? [.tell(.updated(.success)), .finish] : [.finish]
    }

    private func refusal(_ reason: ErrorCode) -> ProcedureAction {
        .send(LLControl.RejectExtInd(rejectOpcode: LLOpcode(rawValue: LLControl.ConnectionParamReq.opcode), errorCode: reason))
    }
}

extension RequestedParameters {
    /// Whether the values are legal, alone and together. Core Vol 6, Part B, 2.4.2.16.
    var isLegal: Bool {
        (6...3_200).contains(intervalMin) && (intervalMin...3_200).contains(max(intervalMax, intervalMin)) && intervalMax >= intervalMin
            && latency <= 499 && (10...3_200).contains(timeout) && Int(timeout) * 4 > (1 + Int(latency)) * Int(intervalMax)
    }

    init?(_ pdu: LLControl.ConnectionParamReq) {
        self.init(intervalMin: pdu.intervalMin, intervalMax: pdu.intervalMax, latency: pdu.latency, timeout: pdu.timeout)
        guard isLegal else { return nil }
    }

    init?(_ pdu: LLControl.ConnectionParamRsp) {
        self.init(intervalMin: pdu.intervalMin, intervalMax: pdu.intervalMax, latency: pdu.latency, timeout: pdu.timeout)
        guard isLegal else { return nil }
    }

    /// No preferred periodicity and no offsets: any anchor will do.
    func request(_ context: ProcedureContext) -> LLControl.ConnectionParamReq {
        LLControl.ConnectionParamReq(
            intervalMin: intervalMin, intervalMax: intervalMax, latency: latency, timeout: timeout, preferredPeriodicity: 0,
            referenceConnEventCount: UInt16(truncatingIfNeeded: context.eventCounter + 1), offset0: 0xFFFF, offset1: 0xFFFF,
            offset2: 0xFFFF, offset3: 0xFFFF, offset4: 0xFFFF, offset5: 0xFFFF)
    }

    func response(_ context: ProcedureContext) -> LLControl.ConnectionParamRsp {
        LLControl.ConnectionParamRsp(
            intervalMin: intervalMin, intervalMax: intervalMax, latency: latency, timeout: timeout, preferredPeriodicity: 0,
            referenceConnEventCount: UInt16(truncatingIfNeeded: context.eventCounter + 1), offset0: 0xFFFF, offset1: 0xFFFF,
            offset2: 0xFFFF, offset3: 0xFFFF, offset4: 0xFFFF, offset5: 0xFFFF)
    }
}
