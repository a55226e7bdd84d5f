import Packets

/// A rule that changes packets of a virtual controller: packets sent on the air and to its host, and received commands. Cases use such
/// rules to disturb a procedure; mutants use them to inject a defect.
public struct PacketRewrite: Sendable {
    /// Layers that rules apply to: PDUs sent on the air, events and ACL data to the host, and commands from the host before they are executed.
    public static let layers: [Layer] = [.llControl, .lmp, .hciEvents, .hciCommands, .hciData]

    /// Effect on a matching packet.
    public enum Effect: Sendable, Hashable {
        case drop
        /// Send it with changed field values.
        case change([FieldChange])
        /// Send these octets instead: a PDU with its opcode, or an event with its code and length.
        case replace([UInt8])
        /// Append octets.
        case append([UInt8])
        case duplicate
        /// Send it later by this time; later packets may overtake it.
        case delay(Microseconds)
        /// Send it after the next matching packet.
        case swap
        /// Send an event with these octets right after it, with the named fields copied from the packet.
        case follow([UInt8], carrying: [String])
        /// Answer a command with these events instead of the correct one.
        case answer(AnswerForm)
        /// Answer a command with success without executing it.
        case pretend

        public static func set(_ fields: [DynamicField]) -> Effect { .change(fields.map { FieldChange($0.name, .value($0.value)) }) }
    }

    public enum AnswerForm: String, Sendable, Hashable, CaseIterable {
        case status = "Command_Status"
        case complete = "Command_Complete"
        case both
    }

    public let layer: Layer
    public let effect: Effect
    /// Only packets with these field values match.
    public var condition: [DynamicField] = []
    /// Number of matching packets to leave unchanged first.
    public var skip = 0
    /// Maximum number of packets changed; nil for no limit.
    public var count: Int?
    /// Apply the effect to every n-th matching packet.
    public var every = 1
    fileprivate let code: Int
    fileprivate let subevent: Int?
    /// The rule applies to the answer to the command with this opcode.
    private let isAboutAnswers: Bool

    /// - Parameter name: name in the specification: `LL_PHY_RSP`, `LE_PHY_Update_Complete`, `LE_Set_PHY`, `ACL_Data`.
    /// - Throws: if a PDU or field is unknown, or a value does not fit its field.
    public init(_ layer: Layer, _ name: String, _ effect: Effect) throws(DynamicPDUError) {
        var sample = try DynamicPDU(layer: layer, name: name)
        if case .change(let changes) = effect {
            for change in changes {
                guard change.path.count == 1, case .value(let value) = change.source else { continue }
                try sample.set(change.path[0], value)
            }
            _ = try sample.bytes()
        }
        self.layer = layer
        self.effect = effect
        code = sample.code
        subevent = sample.subevent
        isAboutAnswers = false
    }

    /// A rule for the answer to a command: Command Status, or Command Complete with its return parameters.
    public init(answersTo command: String, _ effect: Effect) throws(DynamicPDUError) {
        layer = .hciEvents
        self.effect = effect
        code = try DynamicPDU(layer: .hciCommands, name: command).code
        subevent = nil
        isAboutAnswers = true
    }

    func isAbout(_ bytes: [UInt8]) -> Bool {
        guard matches(bytes) else { return false }
        guard !condition.isEmpty else { return true }
        let pdu = DynamicPDU(layer: layer, bytes: bytes)
        return condition.allSatisfy { pdu[$0.name] == $0.value }
    }

    private func matches(_ bytes: [UInt8]) -> Bool {
        switch layer {
        case .hciData: return true
        case .hciCommands: return HCIPacket(.command, bytes).commandOpcode.map(Int.init) == code
        case .hciEvents where isAboutAnswers: return Self.opcodeAnswered(HCIPacket(.event, bytes)).map(Int.init) == code
        case .lmp:
            var reader = ByteReader(bytes.span.bytes)
            return (try? LMPHeader(from: &reader)).map { Int($0.opcode) } == code
        default:
            guard let first = bytes.first, Int(first) == code else { return false }
            return subevent == nil || bytes.count > 2 && Int(bytes[2]) == subevent
        }
    }

    /// Opcode of the command that an event answers; nil for other events.
    fileprivate static func opcodeAnswered(_ event: HCIPacket) -> UInt16? {
        event.completedOpcode ?? (try? event.event(as: HCIEvents.CommandStatus.self))?.commandOpcode
    }

    /// The packet with changed field values; unchanged if the result cannot be encoded.
    func changed(_ bytes: [UInt8], _ changes: [FieldChange]) -> [UInt8] {
        var pdu = DynamicPDU(layer: layer, bytes: bytes)
        pdu.apply(changes)
        return (try? pdu.bytes()) ?? bytes
    }
}

/// The rules of one controller and their match counts.
final class PacketRewriter {
    private struct Rule {
        var rewrite: PacketRewrite
        var passed = 0
        var met = 0
        var acted = 0
        /// A packet held back until the next matching packet has been sent.
        var held: [UInt8]?
    }

    /// Handling of a command from the host.
    enum Arrival {
        case carryOut([UInt8])
        case pretend
        case ignore
    }

    private var rules: [Rule]
    /// True if a rule exists for this kind of packet; without one, packets take the fast path.
    private(set) var isAboutData = false
    private(set) var isAboutCommands = false
    private(set) var isAboutEvents = false

    init(_ rewrites: [PacketRewrite] = []) {
        rules = []
        for rewrite in rewrites { add(rewrite) }
    }

    func add(_ rewrite: PacketRewrite) {
        rules.append(Rule(rewrite: rewrite))
        switch rewrite.layer {
        case .hciData: isAboutData = true
        case .hciCommands: isAboutCommands = true
        case .hciEvents: isAboutEvents = true
        default: break
        }
    }

    /// Sends a packet, changed by the first matching rule.
    ///
    /// - Parameters:
    ///   - send: sends a packet now.
    ///   - later: sends a packet after a delay.
    func pass(
        _ layer: Layer, _ bytes: [UInt8], send: ([UInt8]) -> Void, later: ([UInt8], Microseconds) -> Void
    ) {
        guard !rules.isEmpty, let index = ruleInForce(layer, bytes) else { return send(bytes) }
        let rewrite = rules[index].rewrite
        switch rewrite.effect {
        case .drop, .pretend: break
        case .change(let changes): send(rewrite.changed(bytes, changes))
        case .replace(let octets): send(layer == .lmp ? inTransaction(of: bytes, octets) : octets)
        case .append(let octets): send(lengthened(layer, bytes, by: octets))
        case .duplicate:
            send(bytes)
            send(bytes)
        case .delay(let time): later(bytes, time)
        case .swap:
            guard let held = rules[index].held else {
                rules[index].held = bytes
                return
            }
            rules[index].held = nil
            send(bytes)
            send(held)
        case .follow(let octets, let names):
            send(bytes)
            send(follower(octets, of: bytes, layer, names))
        case .answer(let form): for event in answers(bytes, as: form) { send(event) }
        }
    }

    /// Handling of a command, by the first matching rule.
    func arriving(_ bytes: [UInt8]) -> Arrival {
        guard let index = ruleInForce(.hciCommands, bytes) else { return .carryOut(bytes) }
        let rewrite = rules[index].rewrite
        switch rewrite.effect {
        case .pretend: return .pretend
        case .drop: return .ignore
        case .change(let changes): return .carryOut(rewrite.changed(bytes, changes))
        case .replace(let octets): return .carryOut(octets)
        case .append, .duplicate, .delay, .swap, .follow, .answer: return .carryOut(bytes)
        }
    }

    private func ruleInForce(_ layer: Layer, _ bytes: [UInt8]) -> Int? {
        for index in rules.indices {
            let rule = rules[index]
            guard rule.rewrite.layer == layer, rule.rewrite.isAbout(bytes), rule.rewrite.count.map({ rule.acted < $0 }) ?? true else {
                continue
            }
            guard rule.passed >= rule.rewrite.skip else {
                rules[index].passed += 1
                return nil
            }
            rules[index].met += 1
            guard rules[index].met.isMultiple(of: rule.rewrite.every) else { return nil }
            rules[index].acted += 1
            return index
        }
        return nil
    }

    /// An LMP message with the transaction ID of the message that it replaces.
    private func inTransaction(of bytes: [UInt8], _ octets: [UInt8]) -> [UInt8] {
        guard let old = bytes.first, let new = octets.first else { return octets }
        return [new & 0xFE | old & 1] + octets.dropFirst()
    }

    private func lengthened(_ layer: Layer, _ bytes: [UInt8], by octets: [UInt8]) -> [UInt8] {
        var result = bytes + octets
        if layer == .hciEvents, result.count > 1 { result[1] = UInt8(truncatingIfNeeded: result.count - 2) }
        return result
    }

    private func follower(_ octets: [UInt8], of bytes: [UInt8], _ layer: Layer, _ names: [String]) -> [UInt8] {
        let first = DynamicPDU(layer: layer, bytes: bytes)
        var next = DynamicPDU(layer: .hciEvents, bytes: octets)
        next.apply(names.compactMap { name in first[name].map { FieldChange(name, .value($0)) } })
        return (try? next.bytes()) ?? octets
    }

    private func answers(_ bytes: [UInt8], as form: PacketRewrite.AnswerForm) -> [[UInt8]] {
        let event = HCIPacket(.event, bytes)
        guard let opcode = PacketRewrite.opcodeAnswered(event) else { return [bytes] }
        let status = UInt8(truncatingIfNeeded: DynamicPDU(hci: event)["Status"]?.int ?? 0)
        let isComplete = event.completedOpcode != nil
        let other =
            isComplete ? HCIPacket(statusOpcode: opcode, ErrorCode(rawValue: status)) : HCIPacket(completeOpcode: opcode, returns: [status])
        switch form {
        case .status: return [isComplete ? other.bytes : bytes]
        case .complete: return [isComplete ? bytes : other.bytes]
        case .both: return isComplete ? [other.bytes, bytes] : [bytes, other.bytes]
        }
    }
}
