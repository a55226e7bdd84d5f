/// A named deviation from the default behaviour: its name, the kind of its value, and the section that allows or forbids it. The names are
/// those of case, mutant and variant files and of `--quirk`.
public struct QuirkDeclaration: Sendable {
    /// The part of a device that a quirk changes.
    public enum Part: String, Sendable, CaseIterable {
        /// USB descriptors, endpoints and requests.
        case usb = "USB"
        /// HCI packets between a controller and its host.
        case hci = "HCI"
        case controller
        case linkLayer = "link layer"
        case baseband
        case l2cap = "L2CAP"
        case gap = "GAP"
        case att = "ATT"
        case gatt = "GATT"
        case smp = "SMP"
        case profiles
        case accessory
        /// The program that asks a host for actions, and the application above the host.
        case upperTester = "upper tester"
    }

    public let name: String
    public let part: Part
    /// Kind of the value after `=`.
    public let kind: QuirkValue.Kind
    /// Default value; nil if a value is required.
    public let standard: String?
    /// Section of the specification that allows the behaviour; nil for a defect.
    public let allowedBy: String?
    /// Section that a defect violates, where one sentence states the requirement.
    public let violates: String?
    /// Values that the section allows; nil for all.
    public let legalValues: ClosedRange<Int>?
    /// Devices with this behaviour; empty if none is known.
    public let knownOf: String
    /// Description of the behaviour.
    public let text: String

    public init(
        _ name: String, _ part: Part, _ kind: QuirkValue.Kind = .flag, standard: String? = nil, knownOf: String = "",
        allowedBy: String? = nil, violates: String? = nil, legalValues: ClosedRange<Int>? = nil, _ text: String
    ) {
        (self.name, self.part, self.kind, self.text, self.knownOf) = (name, part, kind, text, knownOf)
        (self.allowedBy, self.violates, self.legalValues) = (allowedBy, violates, legalValues)
        self.standard = kind == .flag ? "true" : standard
    }

    public var isDefect: Bool { allowedBy == nil }

    /// True if the specification does not allow the behaviour with this value.
    public func isDefect(_ value: QuirkValue) -> Bool {
        guard case .number(let number) = value, let legalValues else { return isDefect }
        return isDefect || !legalValues.contains(number)
    }

    /// Syntax with the kind of the value: `event-packet-size[=8...64]`.
    public var usage: String {
        guard kind != .flag else { return name }
        return standard == nil ? "\(name)=\(kind.word)" : "\(name)[=\(kind.word)]"
    }

    /// Reads a value; nil if the text is none of this kind. Without a text it is the default value.
    public func read(_ text: String?) -> QuirkValue? { (text ?? standard).flatMap { kind.read($0) } }
}

/// Names that quirks once had, with the present ones, for suggestions.
public enum FormerNames {
    public static let present: [String: String] = [
        "aclLength": "le-buffers", "aclCount": "le-buffers", "sharesBuffers": "shared-buffers", "withoutPublicAddress": "zero-address",
        "maxAdvertisingSets": "advertising-sets", "zero-advertising-sets": "advertising-sets",
        "maxAdvertisingDataLength": "advertising-data-length", "short-advertising-data": "advertising-data-length",
        "maxConnections": "max-links", "few-links": "max-links", "creditDelay": "credits-late", "creditBatch": "credits-one-by-one",
        "commandPackets": "command-credits", "commandLatency": "answer-slow", "isDualMode": "le-only", "version": "core-version",
        "withoutCommands": "lacks", "withoutEvents": "lacks-events", "withoutFeatures": "lacks-le-features",
        "features": "lacks-le-features", "withoutLMPFeatures": "lacks-lmp-features", "maxExchangesPerEvent": "exchanges-per-event",
        "t-ifs": "inter-frame-space", "extra-exchanges": "extra-exchanges-per-event", "legalChip": "legal-chip",
    ]
}
