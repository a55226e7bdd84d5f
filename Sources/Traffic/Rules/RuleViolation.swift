import BBPackets

/// A violation of a rule that applies to every controller, to all that it sends.
public struct RuleViolation: Sendable {
    /// The rule with its section.
    public var rule: String
    /// The PDU that violates it: its name in the specification.
    public var name: String
    public var wanted: String
    public var got: String
    /// The HCI packet that shows it; nil for a PDU on the air.
    public var packet: NumberedPacket?
    /// True if the packet and its command show it, whatever else a capture lacks.
    public private(set) var isCertain = false

    /// The violation as one that needs no other packets.
    var certain: RuleViolation {
        var violation = self
        violation.isCertain = true
        return violation
    }

    init(rule: String, _ name: String, wanted: String, got: String, in packet: NumberedPacket? = nil) {
        (self.rule, self.name, self.wanted, self.got, self.packet) = (rule, name, wanted, got, packet)
    }
}

/// A packet between a host and its controller, with its number among those that are followed.
public struct NumberedPacket: Sendable {
    public let packet: HCIPacket
    public let number: Int

    public init(_ packet: HCIPacket, _ number: Int) { (self.packet, self.number) = (packet, number) }
}
