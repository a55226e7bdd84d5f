import BBMisbehaviour
import BBPackets
import BBSimulation

/// Behaviour of a dongle that differs from the default: switches with their values.
public struct DongleConduct: Sendable, Equatable {
    public struct Setting: Sendable, Equatable {
        public let quirk: String
        public let value: QuirkValue
    }

    /// An unknown quirk, or an invalid value.
    public struct Mistake: Error, Equatable, CustomStringConvertible {
        public let description: String

        package init(description: String) { self.description = description }
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
        for text in chip.quirks {
            guard let (quirk, value) = try? Self.read(text), !legalOnly || !quirk.isDefectInProcess(value) else { continue }
            add(quirk.name, value)
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
        let (quirk, value) = try Self.read(text)
        add(quirk.name, value)
    }

    private static func read(_ text: String) throws(Mistake) -> (DongleQuirk, QuirkValue) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let quirk = DongleQuirk.byName[parts[0]] else { throw Mistake(description: unknown(parts[0])) }
        let declaration = quirk.declaration
        guard parts.count == 2 || declaration.standard != nil else {
            throw Mistake(description: "the quirk '\(quirk.name)' needs a value: \(declaration.usage)")
        }
        guard let value = declaration.read(parts.count == 2 ? parts[1] : nil) else {
            throw Mistake(description: "'\(text)' is not a value of the quirk: use \(declaration.usage)")
        }
        return (quirk, value)
    }

    /// Adds the quirks of another conduct.
    public mutating func add(_ other: DongleConduct) { for setting in other.settings { add(setting.quirk, setting.value) } }

    /// Adds a quirk by name. Lists accumulate; any other value replaces an earlier one, and a flag that is off removes it.
    public mutating func add(_ quirk: String, _ value: QuirkValue) {
        let index = settings.firstIndex { $0.quirk == quirk }
        switch (index.map { settings[$0].value }, value) {
        case (_, .flag(false)): settings.removeAll { $0.quirk == quirk }
        case (.commands(let old)?, .commands(let new)): replace(quirk, .commands(old.merging(new) { $1 }))
        case (.names(let old)?, .names(let new)): replace(quirk, .names(old + new.filter { !old.contains($0) }))
        case (nil, _): settings.append(Setting(quirk: quirk, value: value))
        case (_?, _): replace(quirk, value)
        }
    }

    private mutating func replace(_ quirk: String, _ value: QuirkValue) {
        for index in settings.indices where settings[index].quirk == quirk { settings[index] = Setting(quirk: quirk, value: value) }
    }

    private static func unknown(_ name: String) -> String {
        if let present = FormerNames.present[name] { return "there is no quirk '\(name)'; did you mean \(present)?" }
        let words = Set(name.split(separator: "-"))
        let near = DongleQuirk.all.map(\.name).filter { !words.isDisjoint(with: $0.split(separator: "-")) }.prefix(4)
        return "there is no quirk '\(name)'" + (near.isEmpty ? "" : "; some that share a word: \(near.joined(separator: ", "))")
    }

    public var isEmpty: Bool { settings.isEmpty && chip == nil }

    /// Names of quirks that violate the specification.
    public var defects: [String] {
        settings.filter { DongleQuirk.byName[$0.quirk]?.declaration.isDefect($0.value) != false }.map(\.quirk)
    }

    /// Names of quirks that violate the specification on a pipe that keeps packets in order.
    public var defectsInProcess: [String] {
        settings.filter { DongleQuirk.byName[$0.quirk]?.isDefectInProcess($0.value) != false }.map(\.quirk)
    }

    /// True if a quirk acts on packets between the controller and its host.
    public var isAboutPackets: Bool { !makeRules().isEmpty }

    // MARK: Effects

    /// Active switches, in the order in which they apply.
    var inOrder: [(effect: QuirkEffect, value: QuirkValue)] {
        guard !settings.isEmpty else { return [] }
        return DongleQuirk.all.compactMap { quirk in
            settings.first { $0.quirk == quirk.name }.map { (quirk.effect, $0.value) }
        }
    }

    /// Applies the switches to USB descriptors.
    public func apply(to descriptors: inout DongleDescriptors) {
        profile?.apply(to: &descriptors)
        for case (.descriptors(let change), let value) in inOrder { change(&descriptors, value) }
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
