/// Why bytes are not the PDU they were read as.
public struct PDUError: Error, Sendable, Hashable {
    public enum Problem: Sendable, Hashable {
        /// The packet ends inside the field.
        case short(needed: Int, left: Int)
        /// Octets after the last field.
        case trailing(Int)
        /// The opcode or event code is another's.
        case otherPDU(code: Int)
        /// A value that no encoding allows.
        case value(String)
    }

    /// The specification's name of the PDU; empty until the outermost decoder fills it in.
    public var pdu: String
    public var field: String
    /// From the first octet that the decoder was given.
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
