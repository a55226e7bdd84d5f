import BBMisbehaviour
import BBPackets
import BBSimulation

/// A quirk of a virtual dongle with its effect.
public struct DongleQuirk: Sendable {
    public let declaration: QuirkDeclaration
    /// Allowed only because USB has separate endpoints; not allowed on a pipe that keeps packets in order. Core Vol 4, Part B, 2.1.
    public let isLegalOnlyOverUSB: Bool
    let effect: QuirkEffect

    public var name: String { declaration.name }

    init(
        _ name: String, _ kind: QuirkValue.Kind = .flag, standard: String? = nil, knownOf: String, allowedBy: String? = nil,
        onlyOverUSB: Bool = false, _ text: String, _ effect: QuirkEffect
    ) {
        let part: QuirkDeclaration.Part =
            switch effect {
            case .descriptors, .endpoints: .usb
            case .controller: .controller
            case .rule: .hci
            }
        declaration = QuirkDeclaration(name, part, kind, standard: standard, knownOf: knownOf, allowedBy: allowedBy, text)
        isLegalOnlyOverUSB = onlyOverUSB
        self.effect = effect
    }

    private init(_ quirk: Quirk<ControllerConfiguration>) {
        (declaration, isLegalOnlyOverUSB, effect) = (quirk.declaration, false, .controller(quirk.apply))
    }

    /// True if the specification does not allow the behaviour with this value on a pipe that keeps packets in order.
    func isDefectInProcess(_ value: QuirkValue) -> Bool { declaration.isDefect(value) || isLegalOnlyOverUSB }

    /// All quirks in the order in which they apply; the first is nearest to the host.
    public static let all: [DongleQuirk] =
        descriptorQuirks + pipeQuirks + transferQuirks + serialisedQuirks + deviceQuirks + startQuirks + answerQuirks + refusalQuirks
        + valueQuirks
        + dataQuirks + airQuirks
        + crashQuirks + ControllerConfiguration.allQuirks.all.map { DongleQuirk($0) }

    public static let byName = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }
}

/// The effect of a quirk.
enum QuirkEffect: Sendable {
    case descriptors(@Sendable (inout DongleDescriptors, QuirkValue) -> Void)
    case endpoints(@Sendable (inout USBConduct, QuirkValue) -> Void)
    /// Changes the configuration of the controller.
    case controller(@Sendable (inout ControllerConfiguration, QuirkValue) -> Void)
    /// Inserts a rule between controller and host.
    case rule(@Sendable (QuirkValue) -> any ConductRule)
}
