import BBPackets
import DequeModule

/// The client role of one bearer: one request at a time. Core Vol 3, Part F, 3.3.2.
struct ATTRequestQueue {
    enum Action: Equatable {
        case send([UInt8])
        case startTimer
        case stopTimer
        case finish(id: Int, Result<[UInt8], HostError>)
    }

    private enum State {
        case idle
        case awaitResponse(id: Int, request: [UInt8])
        /// A transaction has timed out, or the channel is closed: no more requests on this bearer. Core Vol 3, Part F, 3.3.3.
        case closed(HostError)
    }

    private var state = State.idle
    private var waiting = Deque<(id: Int, pdu: [UInt8])>()

    mutating func submit(id: Int, _ pdu: [UInt8]) -> [Action] {
        if case .closed(let error) = state { return [.finish(id: id, .failure(error))] }
        waiting.append((id, pdu))
        return next()
    }

    /// Handles a response or ATT_ERROR_RSP; ignored if none is expected.
    mutating func received(_ pdu: [UInt8]) -> [Action] {
        guard case .awaitResponse(let id, let sent) = state, let opcode = pdu.first else { return [] }
        let request = ATTOpcode(rawValue: sent.first ?? 0)
        let result: Result<[UInt8], HostError>
        if opcode == request.rawValue &+ 1 {
            result = .success(pdu)
        } else if opcode == ATT.ErrorRsp.opcode {
            result = .failure(Self.error(pdu, request))
        } else {
            result = .failure(.peer(.malformed(.response(ATTOpcode(rawValue: opcode), to: request))))
        }
        state = .idle
        return [.stopTimer, .finish(id: id, result)] + next()
    }

    /// ATT_MTU agreed by a response to the current request; nil for any other response. Core Vol 3, Part F, 3.4.2.2.
    func agreedMTU(by response: [UInt8]) -> Int? {
        guard case .awaitResponse(_, let sent) = state, let request = try? ATT.ExchangeMTUReq(bytes: sent),
            let response = try? ATT.ExchangeMTURsp(bytes: response)
        else { return nil }
        return max(ATTBearer.defaultMTU, Int(min(request.clientRxMTU, response.serverRxMTU)))
    }

    /// Fails the current, all queued and all later requests.
    mutating func close(_ error: HostError) -> [Action] {
        var actions: [Action] = []
        if case .awaitResponse(let id, _) = state { actions += [.stopTimer, .finish(id: id, .failure(error))] }
        for (id, _) in waiting { actions.append(.finish(id: id, .failure(error))) }
        waiting.removeAll()
        state = .closed(error)
        return actions
    }

    private mutating func next() -> [Action] {
        guard case .idle = state, let (id, pdu) = waiting.popFirst() else { return [] }
        state = .awaitResponse(id: id, request: pdu)
        return [.startTimer, .send(pdu)]
    }

    private static func error(_ pdu: [UInt8], _ request: ATTOpcode) -> HostError {
        do throws(PDUError) {
            let error = try ATT.ErrorRsp(bytes: pdu)
            guard error.requestOpcodeInError == request else {
                return .peer(.malformed(.errorResponse(about: error.requestOpcodeInError, to: request)))
            }
            return .peer(.att(request: request, handle: error.attributeHandleInError, error.errorCode))
        } catch {
            return .peer(.malformed(.pdu(error)))
        }
    }
}
