import Cases
import VirtualDongle

extension DongleSettings {
    static var chips: [String] { ChipProfile.all.map(\.name) }

    /// Returns the reason why a setting is impossible, or nil.
    static func mistake(in name: String, _ text: String) -> String? {
        guard name == quirks else {
            guard let profile = ChipProfile.named(text) else {
                return "there is no chip '\(text)'" + Suggestion.text(for: text, among: chips)
            }
            return profile.needsLoader ? "the chip '\(text)' waits for firmware, which no case loads" : nil
        }
        do throws(DongleConduct.Mistake) {
            let conduct = try DongleConduct([text])
            return conduct.isAboutUSB ? "the switch '\(text)' acts on USB requests, and there are none in a simulation" : nil
        } catch {
            return "\(error)"
        }
    }

    /// Returns the violations of the specification in a variant's settings.
    static func defects(of setting: ControllerSetting) -> [String] {
        let texts = setting.texts
        switch setting.name {
        case chip: return texts.first.flatMap { ChipProfile.named($0) }.map { DongleConduct(chip: $0).defectsInProcess } ?? []
        case quirks: return (try? DongleConduct(texts))?.defectsInProcess ?? []
        default: return []
        }
    }

    /// Returns the conduct described by the settings; nil if there is none.
    static func conduct(_ settings: [ControllerSetting]) throws -> DongleConduct? {
        let settings = settings.filter { names.contains($0.name) }
        guard !settings.isEmpty else { return nil }
        var conduct = DongleConduct()
        if let setting = settings.last(where: { $0.name != quirks }) {
            guard let profile = setting.texts.first.flatMap({ ChipProfile.named($0) }) else {
                throw Problem(setting.position, "there is no such chip")
            }
            conduct = DongleConduct(chip: profile, legalOnly: setting.name == legalChip)
        }
        for setting in settings where setting.name == quirks {
            for text in setting.texts {
                if let mistake = mistake(in: quirks, text) { throw Problem(setting.position, mistake) }
                try conduct.add(text)
            }
        }
        return conduct
    }
}
