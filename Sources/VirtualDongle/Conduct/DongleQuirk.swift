import Packets
import Simulation

/// A deviation of some dongles from the default behaviour, as a named switch.
public struct DongleQuirk: Sendable {
    /// The layer on which a switch acts.
    public enum Layer: String, Sendable, CaseIterable {
        /// USB descriptors, endpoints and requests; only on USB devices.
        case usb
        /// HCI packets, on any transport.
        case hci
    }

    public let name: String
    public let layer: Layer
    /// Kind of the value after `=`.
    public let kind: QuirkValue.Kind
    /// Default value; nil if a value is required.
    public let standard: String?
    /// Description of the behaviour.
    public let text: String
    /// Dongles with this behaviour.
    public let knownOf: String
    /// Section of the specification that allows the behaviour; nil for a defect.
    public let allowedBy: String?
    /// Allowed only because USB has separate endpoints; not allowed on a pipe that keeps packets in order. Core Vol 4, Part B, 2.1.
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

    /// All switches in the order in which they apply; the first is nearest to the host.
    public static let all: [DongleQuirk] =
        descriptorQuirks + transferQuirks + deviceQuirks + startQuirks + answerQuirks + refusalQuirks + valueQuirks + dataQuirks + airQuirks
        + crashQuirks

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// Syntax of the switch with the kind of its value: `event-packet-size[=NUMBER]`.
    public var usage: String {
        guard kind != .none else { return name }
        return standard == nil ? "\(name)=\(kind.word)" : "\(name)[=\(kind.word)]"
    }
}

/// The effect of a switch.
enum QuirkEffect: Sendable {
    case descriptors(@Sendable (inout DongleDescriptors, QuirkValue) -> Void)
    case endpoints(@Sendable (inout USBConduct, QuirkValue) -> Void)
    /// Changes the configuration of the controller.
    case controller(@Sendable (inout ControllerConfiguration, QuirkValue) -> Void)
    /// Inserts a rule between controller and host.
    case rule(@Sendable (QuirkValue) -> any ConductRule)
}
