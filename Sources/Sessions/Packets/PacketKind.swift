import BBCapture
import BBPackets

/// Kind of a packet for its colour, in the terminal and on the page.
enum PacketKind: UInt8, CaseIterable {
    case other, command, event, l2cap, signaling, attribute, security, air
    /// A packet with an error, or a command that failed.
    case failure

    init(_ packet: DecodedPacket) {
        if packet.layers.contains(where: Self.fails) {
            self = .failure
            return
        }
        self =
            switch packet.pdu?.layer {
            case .hciCommands?: .command
            case .hciEvents?: .event
            case .l2cap?, .l2capFragment?, .hciData?: .l2cap
            case .l2capSignaling?: .signaling
            case .att?: .attribute
            case .smp?: .security
            case .air?, .baseband?, .advertising?, .llControl?, .lmp?: .air
            default: .other
            }
    }

    private static func fails(_ layer: DecodedLayer) -> Bool {
        if layer.id?.refuses != nil { return true }
        return [layer.fields, layer.returns].contains { $0.named("Status")?.int.map { $0 != 0 } ?? false }
    }

    /// Parameter of the terminal's sequence for the colour of text.
    var colour: Int {
        switch self {
        case .other, .event: 39
        case .command: 36
        case .l2cap: 34
        case .signaling: 33
        case .attribute: 32
        case .security: 35
        case .air: 34
        case .failure: 31
        }
    }

    /// Style class on the page.
    var name: String { "\(self)" }
}
