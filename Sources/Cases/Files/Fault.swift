import BBMisbehaviour
import BBPackets

/// The faults of a subject: settings of its controller and host, and rewritten packets.
public struct Fault: Sendable, Hashable {
    public var settings: [QuirkSetting] = []
    public var host: [QuirkSetting] = []
    public var rewrites: [Rewrite] = []

    public init() {}

    public var isNone: Bool { self == Fault() }

    /// A rule that changes packets of the subject.
    public struct Rewrite: Sendable, Hashable {
        /// The direction of the packets.
        public var target: Target
        /// The PDU's specification name: an LL control PDU, an HCI event, ACL_Data, a PDU of ATT or L2CAP signalling, or a command.
        public var pdu: String
        /// The fields that a PDU must have.
        public var fields: [FieldPredicate]
        public var change: Change
        /// The matching packets that are changed.
        public var occurrences: Occurrences
        public var position: Position

        package init(
            target: Target = .sent, pdu: String, fields: [FieldPredicate], change: Change, occurrences: Occurrences, position: Position
        ) {
            self.target = target
            self.pdu = pdu
            self.fields = fields
            self.change = change
            self.occurrences = occurrences
            self.position = position
        }
    }

    public enum Target: String, Sendable, Hashable, CaseIterable {
        /// Packets that the subject sends on the air or to its host.
        case sent = "pdu"
        /// The answer to a command: its Command Status, or the return parameters of its Command Complete.
        case answer
        /// A command before the controller executes it.
        case command
        /// A control PDU before the controller processes it, or a PDU of ATT, SMP or L2CAP signalling before the host does.
        case received
    }

    public enum Change: Sendable, Hashable {
        case drop
        case duplicate
        /// Changes field values: `set`, `add` and `copy` of a rule.
        case fields([Edit])
        /// Adds octets at the end.
        case append([UInt8])
        /// Removes this number of octets from the end.
        case cut(Int)
        /// Replaces the PDU with another one.
        case replace(String, [Operand.Entry])
        /// Adds an event or control PDU that copies some fields of the first.
        case follow(String, [Operand.Entry], carrying: [String])
        case delay(events: Int)
        /// Sends the packet after the next one.
        case swap
        /// The answer is Command_Status, Command_Complete or both.
        case answer(String)
        /// Answers a command with success without executing it.
        case pretend
    }

    /// A change of the field at a path, in every row that the path includes.
    public struct Edit: Sendable, Hashable {
        public var path: String
        public var source: Source

        package init(path: String, source: Source) {
            self.path = path
            self.source = source
        }

        public enum Source: Sendable, Hashable {
            case value(Operand)
            /// Adds a number, which may be negative.
            case more(Int)
            /// Copies another field.
            case field(String)
        }
    }
}
