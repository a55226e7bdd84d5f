import Packets

/// A command of a signalling PDU, its parameters unread. Core Vol 3, Part A, 4.
struct SignalingCommand: Equatable {
    var code: UInt8
    var identifier: UInt8
    var parameters: [UInt8]

    /// Code, identifier and length.
    static let headerOctets = 4

    /// The parameters as those of a command; nil if they are too few or too many.
    func read<Command: L2CAPSignalingPDU>(_: Command.Type) -> Command? { try? Command(parameters: parameters) }

    /// The commands of a PDU in their order: on BR/EDR there may be several. Core Vol 3, Part A, 4.
    ///
    /// - Returns: the whole commands, and the identifier of one that says it is longer than what is left.
    static func list(_ pdu: [UInt8]) -> (commands: [SignalingCommand], cut: UInt8?) {
        var commands: [SignalingCommand] = []
        var rest = pdu[...]
        while rest.count >= 2 {
            let first = rest.startIndex
            let identifier = rest[first + 1]
            guard rest.count >= headerOctets else { return (commands, identifier) }
            let end = first + headerOctets + Int(rest[first + 2]) + Int(rest[first + 3]) << 8
            guard end <= rest.endIndex else { return (commands, identifier) }
            commands.append(
                SignalingCommand(code: rest[first], identifier: identifier, parameters: Array(rest[first + headerOctets..<end])))
            rest = rest[end...]
        }
        return (commands, nil)
    }

    /// The first command of a PDU that wants an answer, whether or not it is whole: a PDU that is too long is refused in its name. Core Vol 3, Part A, 4.1.
    static func firstRequest(in pdu: [UInt8]) -> UInt8? {
        var rest = pdu[...]
        while rest.count >= headerOctets {
            let octets = [UInt8](rest.prefix(headerOctets))
            if !isAnswer(octets[0]), octets[1] != 0 { return octets[1] }
            rest = rest.dropFirst(headerOctets + Int(octets[2]) + Int(octets[3]) << 8)
        }
        return nil
    }

    /// Responses and indications are never answered.
    static func isAnswer(_ code: UInt8) -> Bool {
        switch code {
        case L2CAPSignaling.CommandRejectRsp.opcode, L2CAPSignaling.ConnectionRsp.opcode, L2CAPSignaling.ConfigurationRsp.opcode,
            L2CAPSignaling.DisconnectionRsp.opcode, L2CAPSignaling.EchoRsp.opcode, L2CAPSignaling.InformationRsp.opcode,
            L2CAPSignaling.ConnectionParameterUpdateRsp.opcode, L2CAPSignaling.LECreditBasedConnectionRsp.opcode,
            L2CAPSignaling.FlowControlCreditInd.opcode, L2CAPSignaling.CreditBasedConnectionRsp.opcode,
            L2CAPSignaling.CreditBasedReconfigureRsp.opcode:
            true
        default: false
        }
    }

    // MARK: Refusals

    static func reject(_ identifier: UInt8, _ reason: L2CAPRejectReason = .commandNotUnderstood, _ data: [UInt8] = []) -> [UInt8] {
        L2CAPSignaling.CommandRejectRsp(reason: reason, reasonData: data).bytes(identifier: identifier)
    }

    /// - Parameters:
    ///   - local: the channel's end at the device that refuses.
    ///   - remote: its other end, 0 if the request does not tell.
    static func reject(_ identifier: UInt8, invalidCID local: UInt16, _ remote: UInt16 = 0) -> [UInt8] {
        var data = ByteWriter()
        data.u16(local)
        data.u16(remote)
        return reject(identifier, .invalidCIDInRequest, data.bytes)
    }

    static func reject(_ identifier: UInt8, signalingMTU: Int) -> [UInt8] {
        reject(identifier, .signalingMTUExceeded, [UInt8(signalingMTU & 0xFF), UInt8(signalingMTU >> 8 & 0xFF)])
    }
}

/// The identifiers of one side's requests: 1...255, one after another. Core Vol 3, Part A, 4.
struct SignalingIdentifiers {
    private var last: UInt8 = 0

    mutating func next() -> UInt8 {
        last = last == 0xFF ? 1 : last + 1
        return last
    }
}
