import Packets
import Simulation

/// One way in which dongles of some makes differ from ours, as a switch with a name.
public struct DongleQuirk: Sendable {
    /// Where the switch acts.
    public enum Layer: String, Sendable, CaseIterable {
        /// On descriptors, endpoints and requests: only where the dongle is a USB device.
        case usb
        /// On HCI packets, whatever carries them.
        case hci
    }

    public let name: String
    public let layer: Layer
    /// What follows `=`.
    public let kind: QuirkValue.Kind
    /// The value where none is given; nil where one must be.
    public let standard: String?
    /// What the dongle does.
    public let text: String
    /// Which dongles are known for it.
    public let knownOf: String
    /// The section that allows it; nil for a defect.
    public let allowedBy: String?
    /// What allows it are the several endpoints of USB: a pipe that keeps the order of its packets has no such excuse. Core Vol 4, Part B, 2.1.
    public let isLegalOnlyOverUSB: Bool
    let effect: QuirkEffect

    var isDefect: Bool { allowedBy == nil }

    init(
        _ name: String, _ kind: QuirkValue.Kind = .none, standard: String? = nil, knownOf: String, allowedBy: String? = nil,
        onlyOverUSB: Bool = false, _ text: String, _ effect: QuirkEffect
    ) {
        self.name = name
        self.kind = kind
        self.standard = kind == .none ? "" : standard
        self.text = text
        self.knownOf = knownOf
        self.allowedBy = allowedBy
        isLegalOnlyOverUSB = onlyOverUSB
        self.effect = effect
        layer =
            switch effect {
            case .descriptors, .endpoints: .usb
            case .controller, .rule: .hci
            }
    }

    /// Every switch, in the order in which they act: the first is nearest to the host.
    public static let all: [DongleQuirk] =
        descriptorQuirks + transferQuirks + deviceQuirks + startQuirks + answerQuirks + refusalQuirks + valueQuirks + dataQuirks + airQuirks
        + crashQuirks

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// How the switch is written, with the kind of its value: `event-packet-size[=NUMBER]`.
    public var usage: String {
        guard kind != .none else { return name }
        return standard == nil ? "\(name)=\(kind.word)" : "\(name)[=\(kind.word)]"
    }
}

/// What a switch acts on.
enum QuirkEffect: Sendable {
    case descriptors(@Sendable (inout DongleDescriptors, QuirkValue) -> Void)
    case endpoints(@Sendable (inout USBConduct, QuirkValue) -> Void)
    /// The controller itself is made otherwise.
    case controller(@Sendable (inout ControllerConfiguration, QuirkValue) -> Void)
    /// Something stands between the controller and its host.
    case rule(@Sendable (QuirkValue) -> any ConductRule)
}
