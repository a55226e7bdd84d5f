import Misbehaviour
import Packets

/// The rules of one controller, shared by its links.
final class PacketRewriter {
    private var rules: PacketRules
    /// True if a rule exists for this kind of packet; without one, packets take the fast path.
    private(set) var isAboutData = false
    private(set) var isAboutCommands = false
    private(set) var isAboutEvents = false

    init(_ rewrites: [PacketRewrite] = []) {
        rules = PacketRules(rewrites)
        noteLayers()
    }

    func add(_ rewrite: PacketRewrite) {
        rules.append(rewrite)
        noteLayers()
    }

    private func noteLayers() {
        (isAboutData, isAboutCommands, isAboutEvents) = (
            rules.areAbout(.hciData), rules.areAbout(.hciCommands), rules.areAbout(.hciEvents)
        )
    }

    /// Sends a packet, changed by the first matching rule.
    ///
    /// - Parameters:
    ///   - send: sends a packet now.
    ///   - later: sends a packet after a delay.
    func pass(_ layer: Layer, _ bytes: [UInt8], send: ([UInt8]) -> Void, later: ([UInt8], Microseconds) -> Void) {
        guard !rules.isEmpty, let replacements = rules.replacements(of: bytes, layer) else { return send(bytes) }
        for packet in replacements {
            if packet.delay == .zero { send(packet.bytes) } else { later(packet.bytes, packet.delay) }
        }
    }

    func arriving(_ bytes: [UInt8]) -> PacketRules.Arrival { rules.arrival(of: bytes) }
}
