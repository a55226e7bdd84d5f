import Packets
import Simulation

/// Behaviour of a dongle that differs from the default: switches with their values.
public struct DongleConduct: Sendable, Equatable {
    public struct Setting: Sendable, Equatable {
        public let quirk: String
        public let value: QuirkValue
    }

    /// An unknown switch, or an invalid value.
    public struct Mistake: Error, Equatable, CustomStringConvertible {
        public let description: String
    }

    public private(set) var settings: [Setting] = []
    /// Name of the emulated chip; nil for the default controller.
    public private(set) var chip: String?
    /// Report all capabilities of the chip, including those that the simulation lacks.
    private var claims = false

    public init() {}

    /// The conduct of a chip.
    ///
    /// - Parameter legalOnly: omit defects, behaviour that only USB allows, and capabilities that the simulation lacks.
    public init(chip: ChipProfile, legalOnly: Bool = false) {
        self.chip = chip.name
        claims = !legalOnly
        for text in chip.switches {
            guard let name = text.split(separator: "=").first, let quirk = DongleQuirk.byName[String(name)] else { continue }
            if !legalOnly || !quirk.isDefect && !quirk.isLegalOnlyOverUSB { try? add(text) }
        }
    }

    /// The profile of the chip.
    public var profile: ChipProfile? { chip.flatMap { ChipProfile.named($0) } }

    /// Parses switches of the form `NAME` or `NAME=VALUE`.
    public init(_ texts: [String]) throws(Mistake) {
        for text in texts { try add(text) }
    }

    /// Adds a switch. Lists of commands accumulate; any other switch replaces an earlier one with the same name.
    public mutating func add(_ text: String) throws(Mistake) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let quirk = DongleQuirk.byName[parts[0]] else { throw Mistake(description: Self.unknown(parts[0])) }
        guard let wanted = parts.count == 2 ? parts[1] : quirk.standard else {
            throw Mistake(description: "the switch '\(quirk.name)' needs a value: \(quirk.usage)")
        }
        guard let value = quirk.kind.read(wanted), quirk.kind != .none || parts.count == 1 else {
            throw Mistake(description: "'\(text)' is no value of the switch: \(quirk.usage)")
        }
        add(Setting(quirk: quirk.name, value: value))
    }

    /// Adds the switches of another conduct.
    public mutating func add(_ other: DongleConduct) { for setting in other.settings { add(setting) } }

    private mutating func add(_ setting: Setting) {
        guard let index = settings.firstIndex(where: { $0.quirk == setting.quirk }) else { return settings.append(setting) }
        if case (.commands(let old), .commands(let new)) = (settings[index].value, setting.value) {
            settings[index] = Setting(quirk: setting.quirk, value: .commands(old.merging(new) { $1 }))
        } else {
            settings[index] = setting
        }
    }

    private static func unknown(_ name: String) -> String {
        let words = Set(name.split(separator: "-"))
        let near = DongleQuirk.all.map(\.name).filter { !words.isDisjoint(with: $0.split(separator: "-")) }.prefix(4)
        return "there is no switch '\(name)'" + (near.isEmpty ? "" : "; some that share a word: \(near.joined(separator: ", "))")
    }

    public var isEmpty: Bool { settings.isEmpty && chip == nil }

    /// Names of switches that violate the specification.
    public var defects: [String] { settings.map(\.quirk).filter { DongleQuirk.byName[$0]?.isDefect != false } }

    /// Names of switches that violate the specification on a pipe that keeps packets in order.
    public var defectsInProcess: [String] {
        settings.map(\.quirk).filter { name in DongleQuirk.byName[name].map { $0.isDefect || $0.isLegalOnlyOverUSB } ?? true }
    }

    /// True if a switch affects USB requests.
    public var isAboutUSB: Bool { settings.contains { DongleQuirk.byName[$0.quirk]?.layer == .usb } }

    // MARK: Effects

    /// Active switches, in the order in which they apply.
    private var inOrder: [(effect: QuirkEffect, value: QuirkValue)] {
        DongleQuirk.all.compactMap { quirk in
            settings.first { $0.quirk == quirk.name }.map { (quirk.effect, $0.value) }
        }
    }

    /// Applies the switches to USB descriptors.
    public func apply(to descriptors: inout DongleDescriptors) {
        profile?.apply(to: &descriptors)
        for case (.descriptors(let change), let value) in inOrder { change(&descriptors, value) }
    }

    /// Applies the switches to endpoint behaviour.
    public func apply(to conduct: inout USBConduct) {
        for case (.endpoints(let change), let value) in inOrder { change(&conduct, value) }
    }

    /// Applies the switches to a controller configuration.
    public func apply(to configuration: inout ControllerConfiguration) {
        profile?.apply(to: &configuration)
        for case (.controller(let change), let value) in inOrder { change(&configuration, value) }
    }

    /// Rules between controller and host, nearest to the host first.
    func makeRules() -> [any ConductRule] {
        let rules: [any ConductRule] = inOrder.compactMap { effect, value in
            if case .rule(let make) = effect { make(value) } else { nil }
        }
        return rules + (profile?.makeRules(claims: claims) ?? [])
    }
}
