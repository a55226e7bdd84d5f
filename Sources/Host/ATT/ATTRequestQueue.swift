import DequeModule
import Packets

/// The client's side of one bearer: one request at a time. Core Vol 3, Part F, 3.3.2.
struct ATTRequestQueue {
    enum Action: Equatable {
        case send([UInt8])
        case startTimer
        case stopTimer
        case finish(id: Int, Result<[UInt8], HostError>)
    }

    private enum State {
        case idle
        case awaitResponse(id: Int, request: UInt8)
        /// A transaction timed out: no more requests on this bearer. Core Vol 3, Part F, 3.3.3.
        case dead
    }

    private var state = State.idle
    private var waiting = Deque<(id: Int, pdu: [UInt8])>()

    var isDead: Bool { if case .dead = state { true } else { false } }

    mutating func submit(id: Int, _ pdu: [UInt8]) -> [Action] {
        if isDead { return [.finish(id: id, .failure(Self.deadError))] }
        waiting.append((id, pdu))
        return next()
    }

    /// A response or ATT_ERROR_RSP. If nothing is expected, nothing happens.
    mutating func received(_ pdu: [UInt8]) -> [Action] {
        guard case .awaitResponse(let id, let request) = state, let opcode = pdu.first else { return [] }
        let result: Result<[UInt8], HostError>
        if opcode == request &+ 1 {
            result = .success(pdu)
        } else if opcode == ATT.ErrorRsp.opcode {
            result = .failure(Self.error(pdu, request))
        } else {
            result = .failure(.peer(.malformed("response 0x\(String(opcode, radix: 16)) to ATT request 0x\(String(request, radix: 16))")))
        }
        state = .idle
        return [.stopTimer, .finish(id: id, result)] + next()
    }

    mutating func expired() -> [Action] {
        guard case .awaitResponse(let id, _) = state else { return [] }
        state = .dead
        let rest = waiting.map { Action.finish(id: $0.id, .failure(Self.deadError)) }
        waiting.removeAll()
        return [.finish(id: id, .failure(Self.deadError))] + rest
    }

    private mutating func next() -> [Action] {
        guard case .idle = state, let (id, pdu) = waiting.popFirst() else { return [] }
        state = .awaitResponse(id: id, request: pdu.first ?? 0)
        return [.startTimer, .send(pdu)]
    }

    private static var deadError: HostError { .peer(.timedOut("ATT transaction, 30 s (Core Vol 3, Part F, 3.3.3)")) }

    private static func error(_ pdu: [UInt8], _ request: UInt8) -> HostError {
        guard let error = try? ATT.ErrorRsp(bytes: pdu) else { return .peer(.malformed("ATT_ERROR_RSP of \(pdu.count) octets")) }
        guard error.requestOpcodeInError.rawValue == request else {
            return .peer(.malformed("ATT_ERROR_RSP for opcode 0x\(String(error.requestOpcodeInError.rawValue, radix: 16))"))
        }
        return .peer(.att(request: request, handle: error.attributeHandleInError, error.errorCode))
    }
}
