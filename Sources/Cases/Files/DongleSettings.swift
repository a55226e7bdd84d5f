import Yams

/// The settings of a virtual controller's dongle in case files, variants and mutants: its chip and its switches.
package enum DongleSettings {
    /// A chip with all its properties, or only with those that the specification allows.
    package static let chip = "chip"
    package static let legalChip = "legalChip"
    package static let quirks = "quirks"
    package static let names: Set<String> = [chip, legalChip, quirks]
}

extension ControllerSetting {
    /// The texts of a single text or a list.
    package var texts: [String] {
        switch value {
        case .text(let text): [text]
        case .list(let values): values.map(\.description)
        default: []
        }
    }
}

extension SourceReader {
    /// Reads the name of a chip or a list of switches.
    mutating func dongleSetting(_ name: String, _ node: Node, _ place: Position) -> ControllerSetting {
        if name == DongleSettings.quirks {
            let texts = sequence(node, name).compactMap { element -> CaseValue? in
                guard let text = text(element, name) else { return nil }
                if let mistake = vocabulary.worlds.dongleMistake(name, text) { report(element, mistake) }
                return .text(text)
            }
            return ControllerSetting(name: name, value: .list(texts), position: place)
        }
        let chip = text(node, name) ?? ""
        if let mistake = vocabulary.worlds.dongleMistake(name, chip) { report(node, mistake) }
        return ControllerSetting(name: name, value: .text(chip), position: place)
    }
}
