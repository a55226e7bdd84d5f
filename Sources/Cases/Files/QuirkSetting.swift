import BBMisbehaviour
import BBPackets
import Yams

/// A quirk in a case, mutant or variant file with its value. The chip of a dongle is one, too.
public struct QuirkSetting: Sendable, Hashable {
    public var name: String
    public var value: QuirkValue
    public var position: Position

    package init(name: String, value: QuirkValue, position: Position) { (self.name, self.value, self.position) = (name, value, position) }

    /// A chip with all its properties, or only with those that the specification allows.
    package static let chip = "chip"
    package static let legalChip = "legal-chip"

    package var isChip: Bool { name == Self.chip || name == Self.legalChip }
}

extension SourceReader {
    /// Reads quirks by name.
    ///
    /// - Parameter known: the quirks that are possible here.
    mutating func quirks(_ node: Node?, of what: String, _ known: [String: QuirkDeclaration]) -> [QuirkSetting] {
        guard let node, let keys = keys(node, of: what) else { return [] }
        return quirks(keys, of: what, known)
    }

    private mutating func quirks(_ keys: Keys, of what: String, _ known: [String: QuirkDeclaration]) -> [QuirkSetting] {
        keys.entries.compactMap { entry in
            if vocabulary.worlds.usbQuirks.contains(entry.name), !reachesUSB {
                report(entry.position, "the quirk '\(entry.name)' acts on USB requests, and there are none in a simulation")
                return nil
            }
            guard let declaration = known[entry.name] else {
                let present = FormerNames.present[entry.name].map { "; did you mean \($0)?" }
                report(
                    entry.position,
                    "there is no quirk '\(entry.name)' of \(what)" + (present ?? Suggestion.text(for: entry.name, among: known.keys)))
                return nil
            }
            return quirk(declaration, entry.node, entry.position)
        }
    }

    private mutating func quirk(_ declaration: QuirkDeclaration, _ node: Node, _ place: Position) -> QuirkSetting? {
        let parts = node.sequence == nil ? [node] : sequence(node, declaration.name)
        let texts = parts.compactMap { text($0, declaration.name) }
        guard texts.count == parts.count else { return nil }
        switch declaration.kind {
        case .commands: check(zip(texts, parts).map { ($0.0.split(separator: "/").first.map(String.init) ?? "", $0.1) }, .hciCommands)
        case .events: check(Array(zip(texts, parts)), .hciEvents)
        default: break
        }
        guard let value = declaration.read(texts.joined(separator: "+")) else {
            report(node, "'\(texts.joined(separator: ", "))' is not a value of the quirk: use \(declaration.usage)")
            return nil
        }
        return QuirkSetting(name: declaration.name, value: value, position: place)
    }

    private mutating func check(_ names: [(String, Node)], _ layer: Layer) {
        for (name, node) in names where vocabulary.pdus[name]?.layer != layer && !name.hasPrefix("0x") {
            report(
                node,
                "there is no '\(name)'" + Suggestion.text(for: name, among: vocabulary.pdus.values.filter { $0.layer == layer }.map(\.name))
            )
        }
    }

    /// Reads the quirks and the chip of a virtual controller's dongle.
    mutating func controllerQuirks(_ node: Node?) -> [QuirkSetting] {
        guard let node, var keys = keys(node, of: "a controller") else { return [] }
        var settings: [QuirkSetting] = []
        for name in [QuirkSetting.chip, QuirkSetting.legalChip] {
            guard let entry = keys.take(name) else { continue }
            let chip = text(entry, name) ?? ""
            if let mistake = vocabulary.worlds.chipMistake(chip) { report(entry, mistake) }
            settings.append(QuirkSetting(name: name, value: .text(chip), position: position(entry)))
        }
        return settings + quirks(keys, of: "controllers", vocabulary.worlds.controllers)
    }
}
