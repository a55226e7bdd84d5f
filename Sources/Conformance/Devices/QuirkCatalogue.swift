import BBCases
import BBHost
import BBMisbehaviour
import BBProducts
import BBUpperTester
import BBVirtualDongle

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

    /// Returns a world whose two controllers have quirks of the form `NAME` or `NAME=VALUE`.
    ///
    /// - Throws: a description of the mistake.
    public static func world(ofControllersWith texts: [String]) throws(DongleConduct.Mistake) -> World {
        var world = World()
        for wanted in try DongleConduct(texts).settings {
            guard DongleQuirk.byName[wanted.quirk]?.declaration.part != .usb else {
                throw DongleConduct.Mistake(description: "'\(wanted.quirk)' acts on USB requests, and there are none in a simulation")
            }
            let setting = QuirkSetting(name: wanted.quirk, value: wanted.value, position: Position(file: "", line: 0, column: 0))
            world.tester.append(setting)
            world.subject.append(setting)
        }
        return world
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
