import Cases
import Host
import Misbehaviour
import UpperTester
import VirtualDongle

/// All quirks of the bench's devices: those of a controller and its dongle, of a host, and of an accessory.
public enum QuirkCatalogue {
    public static let controllers = DongleQuirk.all.map(\.declaration)
    public static let hosts = HostQuirks.all.declarations + UpperTesterQuirks.all.declarations
    public static let accessories = AccessoryConduct.allQuirks.declarations

    /// Returns the reason why a case cannot use a chip, or nil.
    static func chipMistake(_ name: String) -> String? {
        guard let profile = ChipProfile.named(name) else {
            return "there is no chip '\(name)'" + Suggestion.text(for: name, among: ChipProfile.all.map(\.name))
        }
        return profile.needsLoader ? "the chip '\(name)' waits for firmware, which no case loads" : nil
    }

    /// Returns the violations of the specification in a variant's setting.
    static func defects(of setting: QuirkSetting) -> [String] {
        switch setting.name {
        case QuirkSetting.chip: return ChipProfile.named(setting.value.word).map { DongleConduct(chip: $0).defectsInProcess } ?? []
        case QuirkSetting.legalChip: return []
        default:
            var conduct = DongleConduct()
            conduct.add(setting.name, setting.value)
            return conduct.defectsInProcess
        }
    }

    /// Returns the conduct described by the settings.
    static func conduct(_ settings: [QuirkSetting]) throws -> DongleConduct {
        var conduct = DongleConduct()
        if let setting = settings.last(where: \.isChip) {
            guard let profile = ChipProfile.named(setting.value.word) else { throw Problem(setting.position, "there is no such chip") }
            conduct = DongleConduct(chip: profile, legalOnly: setting.name == QuirkSetting.legalChip)
        }
        for setting in settings where !setting.isChip { conduct.add(setting.name, setting.value) }
        return conduct
    }
}
