import Packets

/// What is wrong with a subject: settings of its controller and its host, and packets changed on their way.
public struct Fault: Sendable, Hashable {
    public var settings: [ControllerSetting] = []
    public var host: [ControllerSetting] = []
    public var rewrites: [Rewrite] = []

    public init() {}

    public var isNone: Bool { self == Fault() }

    /// A rule for packets of the subject.
    public struct Rewrite: Sendable, Hashable {
        /// Which packets: those that it sends, or others.
        public var target: Target
        /// The PDU's specification name: an LL control PDU, an HCI event, ACL_Data, a PDU of ATT or L2CAP signalling, or a command.
        public var pdu: String
        /// Only PDUs whose fields satisfy this.
        public var fields: [FieldPredicate]
        public var change: Change
        /// How many pass untouched first, and how many are changed.
        public var skip: Int
        public var times: Int?
        /// Each so manieth packet is changed.
        public var every: Int
        public var position: Position

        package init(
            target: Target = .sent, pdu: String, fields: [FieldPredicate], change: Change, skip: Int, times: Int?, every: Int = 1,
            position: Position
        ) {
            self.target = target
            self.pdu = pdu
            self.fields = fields
            self.change = change
            self.skip = skip
            self.times = times
            self.every = every
            self.position = position
        }
    }

    public enum Target: String, Sendable, Hashable, CaseIterable {
        /// What the subject sends, on the air or to its host.
        case sent = "pdu"
        /// What a command is answered with: its Command Status, or the return parameters of its Command Complete.
        case answer
        /// A command, before the controller carries it out.
        case command
        /// A PDU of ATT or L2CAP signalling, before the host looks at it.
        case received
    }

    public enum Change: Sendable, Hashable {
        case drop
        case duplicate
        /// Fields with other values: `set`, `add` and `copy` of a rule.
        case fields([Edit])
        /// Another PDU instead.
        case replace(String, [Operand.Entry])
        /// An event right after it, some of whose fields have the values of the first.
        case follow(String, [Operand.Entry], carrying: [String])
        case delay(events: Int)
        /// It goes after the next one.
        case swap
        /// Command_Status, Command_Complete or both.
        case answer(String)
        /// A command is answered with success and not carried out.
        case pretend
    }

    /// Another value for the field at a path, in every row that it leads to.
    public struct Edit: Sendable, Hashable {
        public var path: String
        public var source: Source

        package init(path: String, source: Source) {
            self.path = path
            self.source = source
        }

        public enum Source: Sendable, Hashable {
            case value(Operand)
            /// So much more, or less.
            case more(Int)
            /// What another field is.
            case field(String)
        }
    }
}
