import BBPackets

/// A command of a signalling PDU with undecoded parameters. Core Vol 3, Part A, 4.
public struct SignalingCommand: Sendable, Equatable {
    public var code: UInt8
    public var identifier: UInt8
    public var parameters: [UInt8]

    public init(code: UInt8, identifier: UInt8, parameters: [UInt8]) {
        (self.code, self.identifier, self.parameters) = (code, identifier, parameters)
    }

    /// Code, identifier and length.
    public static let headerOctets = 4

    /// Decodes the parameters as a command; returns nil if the length is wrong.
    public func read<Command: L2CAPSignalingPDU>(_: Command.Type) -> Command? { try? Command(parameters: parameters) }

    /// The parameters of a later version of the command, too: octets after the known fields are ignored.
    public func read<Command: L2CAPSignalingPDU>(prefixOf _: Command.Type) -> Command? { try? Command(prefixOf: parameters) }

    /// Code, identifier, length and parameters.
    public var bytes: [UInt8] {
        let length = UInt16(truncatingIfNeeded: parameters.count)
        return [code, identifier, UInt8(truncatingIfNeeded: length), UInt8(length >> 8)] + parameters
    }

    /// Ranges of the commands of a PDU, headers included; the last command may be cut short.
    public static func ranges(_ pdu: [UInt8], in range: Range<Int>) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var start = range.lowerBound
        while range.upperBound - start >= headerOctets {
            let end = min(start + headerOctets + Int(pdu[start + 2]) + Int(pdu[start + 3]) << 8, range.upperBound)
            ranges.append(start..<end)
            start = end
        }
        return ranges
    }

    /// Returns the commands of a PDU in order: there may be several on BR/EDR. Core Vol 3, Part A, 4.
    ///
    /// - Returns: the complete commands, and the identifier of a command that is longer than the remaining octets.
    public static func list(_ pdu: [UInt8]) -> (commands: [SignalingCommand], cut: UInt8?) {
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
    public static func firstRequest(in pdu: [UInt8]) -> UInt8? {
        var rest = pdu[...]
        while rest.count >= headerOctets {
            let octets = [UInt8](rest.prefix(headerOctets))
            if isAnswered(octets[0]), octets[1] != 0 { return octets[1] }
            rest = rest.dropFirst(headerOctets + Int(octets[2]) + Int(octets[3]) << 8)
        }
        return nil
    }

    /// Returns true for requests, and for commands that are not known: those are rejected.
    public static func isAnswered(_ code: UInt8) -> Bool {
        let id = PDUID(.l2capSignaling, code: Int(code))
        return id.isRequest || PDUCatalog.declaration(id) == nil
    }

    // MARK: Refusals

    public static func reject(_ identifier: UInt8, _ reason: L2CAPRejectReason = .commandNotUnderstood, _ data: [UInt8] = []) -> [UInt8] {
        L2CAPSignaling.CommandRejectRsp(reason: reason, reasonData: data).bytes(identifier: identifier)
    }

    /// - Parameters:
    ///   - local: the channel's CID at the rejecting device.
    ///   - remote: the other CID, 0 if the request does not contain it.
    public static func reject(_ identifier: UInt8, invalidCID local: UInt16, _ remote: UInt16 = 0) -> [UInt8] {
        var data = ByteWriter()
        data.u16(local)
        data.u16(remote)
        return reject(identifier, .invalidCIDInRequest, data.bytes)
    }

    public static func reject(_ identifier: UInt8, signalingMTU: Int) -> [UInt8] {
        reject(identifier, .signalingMTUExceeded, [UInt8(signalingMTU & 0xFF), UInt8(signalingMTU >> 8 & 0xFF)])
    }
}

/// The identifiers of a side's requests: 1...255 in order. Core Vol 3, Part A, 4.
public struct SignalingIdentifiers: Sendable {
    private var last: UInt8 = 0

    public init() {}

    public mutating func next() -> UInt8 {
        last = last == 0xFF ? 1 : last + 1
        return last
    }
}
