import BBL2CAP
import BBPackets
import BBTiming

/// The state machine of the LE signalling channel: connection parameters and credit-based channels. Core Vol 3, Part A, 4.
struct LESignaling {
    enum Action: Equatable {
        case send([UInt8])
        /// The peripheral requests parameters; `decide` answers.
        case decideParameters(identifier: UInt8, ConnectionParameterRequest)
        /// The central's answer to this side's request.
        case parametersAnswered(accepted: Bool)
        case channel(CreditBasedSignaling.Action)
    }

    /// MTUsig of LE. Core Vol 3, Part A, 4.
    static let mtu = 23

    private enum State {
        case idle
        case awaitParameterResponse(identifier: UInt8)
    }

    private var state = State.idle
    private(set) var channels = CreditBasedSignaling()

    mutating func requestParameters(_ request: ConnectionParameterRequest) -> [Action] {
        let identifier = channels.identifiers.next()
        state = .awaitParameterResponse(identifier: identifier)
        let command = L2CAPSignaling.ConnectionParameterUpdateReq(
            intervalMin: request.intervalMin, intervalMax: request.intervalMax, latency: request.latency,
            timeout: request.supervisionTimeout)
        return [.send(command.bytes(identifier: identifier))]
    }

    func decide(identifier: UInt8, accepted: Bool) -> [Action] {
        [.send(L2CAPSignaling.ConnectionParameterUpdateRsp(result: accepted ? 0 : 1).bytes(identifier: identifier))]
    }

    /// Calls a function of the credit-based channels and returns the resulting actions.
    mutating func withChannels(_ body: (inout CreditBasedSignaling) -> [CreditBasedSignaling.Action]) -> [Action] {
        body(&channels).map {
            if case .send(let pdu) = $0 { .send(pdu) } else { .channel($0) }
        }
    }

    mutating func received(_ pdu: [UInt8], asCentral: Bool, at now: Microseconds) -> [Action] {
        guard pdu.count <= Self.mtu else {
            return SignalingCommand.firstRequest(in: pdu).map { [.send(SignalingCommand.reject($0, signalingMTU: Self.mtu))] } ?? []
        }
        guard pdu.count >= 2, pdu[1] != 0 else { return [] }
        // A PDU contains one command. Core Vol 3, Part A, 4.
        let (commands, _) = SignalingCommand.list(pdu)
        guard let command = commands.first, command.parameters.count == pdu.count - SignalingCommand.headerOctets else {
            return [.send(SignalingCommand.reject(pdu[1]))]
        }
        switch command.code {
        case L2CAPSignaling.ConnectionParameterUpdateReq.opcode: return requested(command, asCentral)
        case L2CAPSignaling.ConnectionParameterUpdateRsp.opcode: return answered(command)
        case L2CAPSignaling.CommandRejectRsp.opcode: if isAwaited(command) { return rejected() }
        default: break
        }
        var isOne = false
        let actions = withChannels { channels in
            let actions = channels.received(command, at: now)
            isOne = actions != nil
            return actions ?? []
        }
        guard !isOne, SignalingCommand.isAnswered(command.code) else { return actions }
        return [.send(SignalingCommand.reject(command.identifier))]
    }

    private func requested(_ command: SignalingCommand, _ asCentral: Bool) -> [Action] {
        guard asCentral, let request = command.read(L2CAPSignaling.ConnectionParameterUpdateReq.self) else {
            return [.send(SignalingCommand.reject(command.identifier))]
        }
        return [
            .decideParameters(
                identifier: command.identifier,
                ConnectionParameterRequest(
                    intervalMin: request.intervalMin, intervalMax: request.intervalMax, latency: request.latency,
                    supervisionTimeout: request.timeout))
        ]
    }

    private func isAwaited(_ command: SignalingCommand) -> Bool {
        guard case .awaitParameterResponse(command.identifier) = state else { return false }
        return true
    }

    private mutating func answered(_ command: SignalingCommand) -> [Action] {
        guard isAwaited(command), let answer = command.read(L2CAPSignaling.ConnectionParameterUpdateRsp.self) else { return [] }
        state = .idle
        return [.parametersAnswered(accepted: answer.result == 0)]
    }

    private mutating func rejected() -> [Action] {
        state = .idle
        return [.parametersAnswered(accepted: false)]
    }
}
