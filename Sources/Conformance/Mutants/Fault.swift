import Packets

/// What is wrong with a subject: settings of its controller and its host, and PDUs changed on their way out.
public struct Fault: Sendable, Hashable {
    public var settings: [ControllerSetting] = []
    public var host: [ControllerSetting] = []
    public var rewrites: [Rewrite] = []

    public init() {}

    public var isNone: Bool { self == Fault() }

    /// A rule for outgoing PDUs of the subject.
    public struct Rewrite: Sendable, Hashable {
        /// The PDU's specification name: an LL control PDU, an HCI event, or a PDU of ATT or L2CAP signalling.
        public var pdu: String
        /// Only PDUs whose fields satisfy this.
        public var fields: [FieldPredicate]
        public var change: Change
        /// How many pass untouched first, and how many are changed.
        public var skip: Int
        public var times: Int?
        public var position: Position
    }

    public enum Change: Sendable, Hashable {
        case drop
        case duplicate
        case set([Operand.Entry])
        /// Another PDU instead.
        case replace(String, [Operand.Entry])
        case delay(events: Int)
    }
}
