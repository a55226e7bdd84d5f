import BBPackets

/// A rule made of two functions.
final class PacketRule: ConductRule {
    typealias Pass = (HCIPacket, ConductWire) -> HCIPacket?

    private let down: Pass
    private let up: Pass

    init(fromHost: @escaping Pass = { packet, _ in packet }, toHost: @escaping Pass = { packet, _ in packet }) {
        down = fromHost
        up = toHost
    }

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? { down(packet, wire) }
    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? { up(packet, wire) }

    /// Changes the return parameters of a command.
    static func returns<Command: HCICommand>(of type: Command.Type, _ change: @escaping (inout Command.Return) -> Void) -> PacketRule {
        PacketRule(toHost: { packet, _ in packet.changingReturns(of: type, change) })
    }

    /// Changes an event.
    static func event<Event: HCIEvent>(_ type: Event.Type, _ change: @escaping (inout Event) -> Void) -> PacketRule {
        PacketRule(toHost: { packet, _ in packet.changing(type, change) })
    }
}

/// Several rules under one name.
final class RuleGroup: ConductRule {
    private let rules: [any ConductRule]

    init(_ rules: [any ConductRule]) { self.rules = rules }

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        rules.reduce(packet as HCIPacket?) { packet, rule in packet.flatMap { rule.fromHost($0, wire) } }
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        rules.reversed().reduce(packet as HCIPacket?) { packet, rule in packet.flatMap { rule.toHost($0, wire) } }
    }

    func opened(_ number: Int, _ wire: ConductWire) { for rule in rules { rule.opened(number, wire) } }
    func portWasReset() { for rule in rules { rule.portWasReset() } }
}
