import Packets

/// A command of a signalling PDU with undecoded parameters. Core Vol 3, Part A, 4.
struct SignalingCommand: Equatable {
    var code: UInt8
    var identifier: UInt8
    var parameters: [UInt8]

    /// Code, identifier and length.
    static let headerOctets = 4

    /// Decodes the parameters as a command; returns nil if the length is wrong.
    func read<Command: L2CAPSignalingPDU>(_: Command.Type) -> Command? { try? Command(parameters: parameters) }

    /// Returns the commands of a PDU in order: there may be several on BR/EDR. Core Vol 3, Part A, 4.
    ///
    /// - Returns: the complete commands, and the identifier of a command that is longer than the remaining octets.
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

    /// Returns the identifier of the first request in a PDU, complete or not: the rejection of a PDU that is too long uses it. Core Vol 3,
    /// Part A, 4.1.
    static func firstRequest(in pdu: [UInt8]) -> UInt8? {
        var rest = pdu[...]
        while rest.count >= headerOctets {
            let octets = [UInt8](rest.prefix(headerOctets))
            if !isAnswer(octets[0]), octets[1] != 0 { return octets[1] }
            rest = rest.dropFirst(headerOctets + Int(octets[2]) + Int(octets[3]) << 8)
        }
        return nil
    }

    /// Returns true for responses and indications, which are never answered.
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
    ///   - local: the channel's CID at the rejecting device.
    ///   - remote: the other CID, 0 if the request does not contain it.
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

/// The identifiers of a side's requests: 1...255 in order. Core Vol 3, Part A, 4.
struct SignalingIdentifiers {
    private var last: UInt8 = 0

    mutating func next() -> UInt8 {
        last = last == 0xFF ? 1 : last + 1
        return last
    }
}
