import BBMisbehaviour
import BBPackets

/// The rules of one controller, shared by its links.
final class PacketRewriter {
    private var rules: PacketRules
    private var receivedRules: PacketRules
    private var addedCount = 0
    /// True if a rule exists for this kind of packet; without one, packets take the fast path.
    private(set) var isAboutData = false
    private(set) var isAboutCommands = false
    private(set) var isAboutEvents = false

    /// True if a rule exists for control PDUs received from the peer.
    let isAboutReceived: Bool

    init(_ quirks: ControllerQuirks = ControllerQuirks()) {
        rules = PacketRules(quirks.rewrites)
        receivedRules = PacketRules(quirks.receivedRewrites)
        isAboutReceived = !receivedRules.isEmpty
        noteLayers()
    }

    /// Adds a rule that comes before those of the quirks, and behind those that were added before.
    func add(_ rewrite: PacketRewrite) {
        rules.insert(rewrite, at: addedCount)
        addedCount += 1
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
        Self.pass(replacements, send, later)
    }

    /// Handles a received control PDU, changed by the first matching rule.
    ///
    /// - Parameters:
    ///   - take: handles a PDU now.
    ///   - later: handles a PDU after a delay.
    func passReceived(_ layer: Layer, _ bytes: [UInt8], take: ([UInt8]) -> Void, later: ([UInt8], Microseconds) -> Void) {
        guard let replacements = receivedRules.replacements(of: bytes, layer) else { return take(bytes) }
        Self.pass(replacements, take, later)
    }

    private static func pass(
        _ packets: [PacketRules.Replacement], _ now: ([UInt8]) -> Void, _ later: ([UInt8], Microseconds) -> Void
    ) {
        for packet in packets {
            if packet.delay == .zero { now(packet.bytes) } else { later(packet.bytes, packet.delay) }
        }
    }

    func arriving(_ bytes: [UInt8]) -> PacketRules.Arrival { rules.arrival(of: bytes) }
}
