import Packets

/// The LE signalling channel of one connection, as a machine. Core Vol 3, Part A, 4. Credit-based channels are refused in the words the specification has for it.
struct LESignaling {
    enum Action: Equatable {
        case send([UInt8])
        /// A peripheral asks for parameters; answer with `decide`.
        case decideParameters(identifier: UInt8, ConnectionParameterRequest)
        /// The central's answer to our request.
        case parametersAnswered(accepted: Bool)
    }

    /// MTUsig of LE. Core Vol 3, Part A, 4.
    static let mtu = 23

    private enum State {
        case idle
        case awaitParameterResponse(identifier: UInt8)
    }

    private var state = State.idle
    private var nextIdentifier: UInt8 = 1

    mutating func requestParameters(_ request: ConnectionParameterRequest) -> [Action] {
        let identifier = nextIdentifier
        nextIdentifier = nextIdentifier == 0xFF ? 1 : nextIdentifier + 1
        state = .awaitParameterResponse(identifier: identifier)
        let command = L2CAPSignaling.ConnectionParameterUpdateReq(
            intervalMin: request.intervalMin, intervalMax: request.intervalMax, latency: request.latency,
            timeout: request.supervisionTimeout)
        return [.send(command.bytes(identifier: identifier))]
    }

    func decide(identifier: UInt8, accepted: Bool) -> [Action] {
        [.send(L2CAPSignaling.ConnectionParameterUpdateRsp(result: accepted ? 0 : 1).bytes(identifier: identifier))]
    }

    mutating func received(_ pdu: [UInt8], asCentral: Bool) -> [Action] {
        guard pdu.count <= Self.mtu else { return Self.refuseLength(of: pdu) }
        guard pdu.count >= 2, pdu[1] != 0 else { return [] }
        let identifier = pdu[1]
        guard pdu.count >= 4, Int(pdu[2]) | Int(pdu[3]) << 8 == pdu.count - 4 else { return Self.reject(identifier) }
        let parameters = [UInt8](pdu[4...])
        switch pdu[0] {
        case L2CAPSignaling.CommandRejectRsp.opcode: return rejected(identifier)
        case L2CAPSignaling.ConnectionParameterUpdateReq.opcode: return requested(identifier, parameters, asCentral)
        case L2CAPSignaling.ConnectionParameterUpdateRsp.opcode: return answered(identifier, parameters)
        default: return Self.refuse(pdu[0], identifier, parameters)
        }
    }

    private func requested(_ identifier: UInt8, _ parameters: [UInt8], _ asCentral: Bool) -> [Action] {
        guard asCentral, let request = try? L2CAPSignaling.ConnectionParameterUpdateReq(parameters: parameters) else {
            return Self.reject(identifier)
        }
        return [
            .decideParameters(
                identifier: identifier,
                ConnectionParameterRequest(
                    intervalMin: request.intervalMin, intervalMax: request.intervalMax, latency: request.latency,
                    supervisionTimeout: request.timeout))
        ]
    }

    private mutating func answered(_ identifier: UInt8, _ parameters: [UInt8]) -> [Action] {
        guard case .awaitParameterResponse(identifier) = state,
            let answer = try? L2CAPSignaling.ConnectionParameterUpdateRsp(parameters: parameters)
        else { return [] }
        state = .idle
        return [.parametersAnswered(accepted: answer.result == 0)]
    }

    private mutating func rejected(_ identifier: UInt8) -> [Action] {
        guard case .awaitParameterResponse(identifier) = state else { return [] }
        state = .idle
        return [.parametersAnswered(accepted: false)]
    }

    /// Requests about channels that do not exist; responses and indications nobody waits for are ignored.
    private static func refuse(_ code: UInt8, _ identifier: UInt8, _ parameters: [UInt8]) -> [Action] {
        switch code {
        case L2CAPSignaling.DisconnectionReq.opcode:
            guard parameters.count == 4 else { return reject(identifier) }
            return reject(identifier, .invalidCIDInRequest, parameters)
        case L2CAPSignaling.LECreditBasedConnectionReq.opcode:
            guard parameters.count == 10 else { return reject(identifier) }
            return [
                .send(
                    L2CAPSignaling.LECreditBasedConnectionRsp(result: 0x0002).bytes(identifier: identifier))
            ]
        default: return isAnswer(code) ? [] : reject(identifier)
        }
    }

    /// Signaling MTU exceeded, in the name of the first request; nothing if there are responses only. Core Vol 3, Part A, 4.1.
    private static func refuseLength(of pdu: [UInt8]) -> [Action] {
        var rest = pdu[...]
        while rest.count >= 4 {
            let octets = [UInt8](rest.prefix(4))
            if !isAnswer(octets[0]), octets[1] != 0 {
                return reject(octets[1], .signalingMTUExceeded, [UInt8(mtu), 0])
            }
            rest = rest.dropFirst(4 + Int(octets[2]) + Int(octets[3]) << 8)
        }
        return []
    }

    /// Responses and indications are never answered.
    private static func isAnswer(_ code: UInt8) -> Bool {
        switch code {
        case L2CAPSignaling.CommandRejectRsp.opcode, L2CAPSignaling.DisconnectionRsp.opcode,
            L2CAPSignaling.ConnectionParameterUpdateRsp.opcode, L2CAPSignaling.LECreditBasedConnectionRsp.opcode,
            L2CAPSignaling.FlowControlCreditInd.opcode, L2CAPSignaling.CreditBasedConnectionRsp.opcode,
            L2CAPSignaling.CreditBasedReconfigureRsp.opcode:
            true
        default: false
        }
    }

    private static func reject(
        _ identifier: UInt8, _ reason: L2CAPRejectReason = .commandNotUnderstood, _ data: [UInt8] = []
    ) -> [Action] {
        [.send(L2CAPSignaling.CommandRejectRsp(reason: reason, reasonData: data).bytes(identifier: identifier))]
    }
}
