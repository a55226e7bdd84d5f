import BBMisbehaviour

extension QuirkCatalogue {
    /// docs/guide/quirks.md: every quirk by the part of a device that it changes.
    public static var page: String {
        let all = controllers + hosts + accessories
        let sections = QuirkDeclaration.Part.allCases.compactMap { part -> String? in
            let rows = all.filter { $0.part == part }.sorted { $0.name < $1.name }
            guard !rows.isEmpty else { return nil }
            return "## \(heading(part))\n" + rows.map { entry($0) + "\n" }.joined()
        }
        return introduction + "\n" + sections.joined(separator: "\n")
    }

    private static let introduction = """
        # Quirks

        A quirk is unusual or faulty behaviour with a name. This page is made from the program's tables by `make
        docs`.

        | used in | for | example |
        |---|---|---|
        | `bluebench dongle --quirk` | USB, HCI, controller, link layer, baseband | `--quirk le-buffers=27x1` |
        | `controller:` of a mutant, `subject:`, `tester:` | the same without USB | `tester: {le-buffers: 27x1}` |
        | `host:` of a mutant | L2CAP, ATT, GATT, SMP, profiles: defects | `host: {never-confirms: true}` |
        | `host:` of a variant | upper tester; L2CAP: what is allowed | `host: {host-mtu: 64}` |
        | `accessory:` of a variant | accessory; profiles: what is allowed | `accessory: {does-not-bond: true}` |

        A quirk without a value is on or off. Times are milliseconds, `MS-MS` the range of a random time. Lists
        are `[A, B]` in YAML and `A+B` on the command line. A quirk whose section *allows* it is not a fault of
        the device: only these may stand in variants.

        """

    private static func heading(_ part: QuirkDeclaration.Part) -> String {
        part.rawValue.prefix(1).uppercased() + part.rawValue.dropFirst()
    }

    /// One list entry, wrapped.
    private static func entry(_ quirk: QuirkDeclaration) -> String {
        let usage = quirk.usage.count > 60 ? quirk.name : quirk.usage
        var sentences = ["`\(usage)`: \(quirk.text)."]
        if !quirk.knownOf.isEmpty { sentences.append("Known of: \(quirk.knownOf).") }
        if let section = quirk.allowedBy { sentences.append("Allowed: \(section).") }
        if quirk.isDefect { sentences.append("A defect\(quirk.violates.map { ": " + $0 } ?? "").") }
        var lines = ["-"]
        for word in sentences.joined(separator: " ").split(separator: " ") {
            let line = lines[lines.count - 1]
            if line.count + 1 + word.count > 100 { lines.append("  \(word)") } else { lines[lines.count - 1] = "\(line) \(word)" }
        }
        return lines.joined(separator: "\n")
    }
}
