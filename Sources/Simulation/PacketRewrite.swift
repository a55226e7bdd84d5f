import Packets

/// A rule for what a virtual controller sends: link layer control PDUs, or events for its host. By such rules a case disturbs a procedure, and a mutant has its defect.
public struct PacketRewrite: Sendable {
    public enum Layer: String, Sendable, Hashable {
        case linkLayerControl = "LLControl"
        case events = "HCIEvents"
    }

    /// What happens to a packet that the rule is about.
    public enum Effect: Sendable, Hashable {
        case drop
        /// It is sent with other values.
        case set([DynamicField])
        /// These octets are sent instead: the PDU with its opcode, or the event with its code and length.
        case replace([UInt8])
        /// Octets are added at its end.
        case append([UInt8])
        case duplicate
        /// It is sent so much later; what follows may overtake it.
        case delay(Microseconds)
    }

    public let layer: Layer
    public let effect: Effect
    /// The rule is about packets with these values only.
    public var condition: [DynamicField] = []
    /// How many packets pass untouched first.
    public var skip = 0
    /// How many packets the rule acts on; nil for all.
    public var count: Int?
    fileprivate let code: Int
    fileprivate let subevent: Int?

    /// - Parameter name: as the specification has it: `LL_PHY_RSP`, `LE_PHY_Update_Complete`.
    /// - Throws: an unknown PDU or field; values that do not fit their fields.
    public init(_ layer: Layer, _ name: String, _ effect: Effect) throws(DynamicPDUError) {
        var sample = try DynamicPDU(layer: layer.rawValue, name: name)
        if case .set(let fields) = effect {
            for field in fields { try sample.set(field.name, field.value) }
            _ = try sample.bytes()
        }
        self.layer = layer
        self.effect = effect
        code = sample.code
        subevent = sample.subevent
    }

    func isAbout(_ bytes: [UInt8]) -> Bool {
        guard let first = bytes.first, Int(first) == code else { return false }
        if let subevent { guard bytes.count > 2, Int(bytes[2]) == subevent else { return false } }
        guard !condition.isEmpty else { return true }
        let pdu = Self.decode(layer, bytes)
        return condition.allSatisfy { pdu[$0.name] == $0.value }
    }

    static func decode(_ layer: Layer, _ bytes: [UInt8]) -> DynamicPDU {
        switch layer {
        case .linkLayerControl: DynamicPDU(layer: layer.rawValue, bytes: bytes)
        case .events: DynamicPDU(hci: HCIPacket(.event, bytes))
        }
    }

    /// The packet with other values. What cannot be encoded stays as it was.
    func changed(_ bytes: [UInt8], _ fields: [DynamicField]) -> [UInt8] {
        var pdu = Self.decode(layer, bytes)
        do {
            for field in fields { try pdu.set(field.name, field.value) }
            return try pdu.bytes()
        } catch {
            return bytes
        }
    }
}

/// The rules of one controller, and how often each has acted.
final class PacketRewriter {
    private struct Rule {
        var rewrite: PacketRewrite
        var passed = 0
        var acted = 0
    }

    private var rules: [Rule]

    init(_ rewrites: [PacketRewrite] = []) { rules = rewrites.map { Rule(rewrite: $0) } }

    func add(_ rewrite: PacketRewrite) { rules.append(Rule(rewrite: rewrite)) }

    /// Sends a packet, or what the first rule about it makes of it.
    ///
    /// - Parameters:
    ///   - send: sends now.
    ///   - later: sends after a time.
    func pass(
        _ layer: PacketRewrite.Layer, _ bytes: [UInt8], send: ([UInt8]) -> Void, later: ([UInt8], Microseconds) -> Void
    ) {
        guard !rules.isEmpty, let effect = effect(layer, bytes) else { return send(bytes) }
        switch effect.effect {
        case .drop: break
        case .set(let fields): send(effect.changed(bytes, fields))
        case .replace(let octets): send(octets)
        case .append(let octets): send(lengthened(layer, bytes, by: octets))
        case .duplicate:
            send(bytes)
            send(bytes)
        case .delay(let time): later(bytes, time)
        }
    }

    private func effect(_ layer: PacketRewrite.Layer, _ bytes: [UInt8]) -> PacketRewrite? {
        for index in rules.indices {
            let rule = rules[index]
            guard rule.rewrite.layer == layer, rule.rewrite.isAbout(bytes), rule.rewrite.count.map({ rule.acted < $0 }) ?? true else {
                continue
            }
            guard rule.passed >= rule.rewrite.skip else {
                rules[index].passed += 1
                return nil
            }
            rules[index].acted += 1
            return rule.rewrite
        }
        return nil
    }

    private func lengthened(_ layer: PacketRewrite.Layer, _ bytes: [UInt8], by octets: [UInt8]) -> [UInt8] {
        var result = bytes + octets
        if layer == .events, result.count > 1 { result[1] = UInt8(truncatingIfNeeded: result.count - 2) }
        return result
    }
}
