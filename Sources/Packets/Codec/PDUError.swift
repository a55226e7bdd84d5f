/// The reason why bytes cannot be decoded as a PDU.
public struct PDUError: Error, Sendable, Hashable {
    public enum Problem: Sendable, Hashable {
        /// The packet ends inside the field.
        case short(needed: Int, left: Int)
        /// There are octets after the last field.
        case trailing(Int)
        /// The opcode or event code belongs to another PDU.
        case otherPDU(code: Int)
        /// A value that the encoding does not allow.
        case value(String)
    }

    /// The PDU's name in the specification; empty until the outermost decoder sets it.
    public var pdu: String
    public var field: String
    /// The offset from the first octet of the decoder.
    public var offset: Int
    public var problem: Problem

    public init(pdu: String = "", field: String, offset: Int, problem: Problem) {
        self.pdu = pdu
        self.field = field
        self.offset = offset
        self.problem = problem
    }
}

extension PDUError: CustomStringConvertible {
    public var description: String {
        let place = (pdu.isEmpty ? "" : pdu + ": ") + (field.isEmpty ? "" : field + " ") + "at octet \(offset): "
        return switch problem {
        case .short(let needed, let left): place + "needs \(needed) octets, \(left) left"
        case .trailing(let count): place + "\(count) octets too many"
        case .otherPDU(let code): place + "code \(code) is another PDU's"
        case .value(let text): place + text
        }
    }
}
