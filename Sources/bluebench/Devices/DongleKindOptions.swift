import ArgumentParser
import BBConformance
import BBMisbehaviour
import BBVirtualDongle

/// The options for a virtual dongle's chip and its behaviour.
struct DongleKindOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Chip of the dongles; see --list-chips.", valueName: "name")) var chip: String?
    @Option(
        name: .customLong("quirk"),
        help: ArgumentHelp("Unusual or faulty behaviour of the dongles; see --list-quirks. Repeatable.", valueName: "name[=value]"))
    var quirks: [String] = []
    @Flag(help: "List the chips that a virtual dongle can be, with their quirks.") var listChips = false
    @Flag(help: "List the quirks, where they act and what they do.") var listQuirks = false

    var lists: Bool { listChips || listQuirks }
    var profile: ChipProfile? { chip.flatMap { ChipProfile.named($0) } }

    /// - Parameter boot: the model of a boot loader, which determines the chip.
    func conduct(_ boot: BootModel?) throws -> DongleConduct {
        if let chip, profile == nil {
            throw ValidationError("unknown chip '\(chip)': use \(ChipProfile.all.map(\.name).joined(separator: ", "))")
        }
        let profile = profile ?? boot.flatMap { model in ChipProfile.all.first { $0.waits(for: model) } }
        var conduct = profile.map { DongleConduct(chip: $0) } ?? DongleConduct()
        for quirk in quirks {
            do { try conduct.add(quirk) } catch { throw ValidationError("\(error)") }
        }
        return conduct
    }

    func printLists() {
        if listChips {
            for chip in ChipProfile.all { Console.line("\(chip.name): \(chip.title)\(chip.quirks.map { "\n    \($0)" }.joined())") }
        }
        guard listQuirks else { return }
        for quirk in QuirkCatalogue.controllers {
            Console.line("\(quirk.usage)\n    \(quirk.part.rawValue): \(quirk.text)")
            if !quirk.knownOf.isEmpty { Console.line("    known of: \(quirk.knownOf)") }
            if let section = quirk.allowedBy { Console.line("    allowed: \(section)") }
            if let section = quirk.violates { Console.line("    violates: \(section)") }
        }
    }
}
