extension ChipProfile {
    /// Pages of docs/guide/chips by file name, the index among them.
    public static var pages: [String: String] {
        let chips = all.filter { !$0.about.isEmpty }
        var pages = Dictionary(uniqueKeysWithValues: chips.map { ("\($0.name).md", $0.page) })
        let rows = chips.map { "| [\($0.name)](\($0.name).md) | \($0.pageTitle) | \($0.identity) |" }
        pages["README.md"] = index.replacing("ROWS", with: rows.joined(separator: "\n"))
        return pages
    }

    private var page: String {
        "# \(pageTitle)\n\n`bluebench dongle --chip \(name)`, USB \(identity).\n\n\(about)"
    }

    private var identity: String {
        func hex(_ number: UInt16) -> String { ("000" + String(number, radix: 16)).suffix(4).description }
        let id = "\(hex(vendorID)):\(hex(productID))"
        return boot != nil && waits(for: boot ?? .intel) ? id : "\(id), bcdDevice \(hex(release))"
    }

    private static let index = """
        # Chips

        Each page has what is known of a chip from drivers, other stacks and their users, what the virtual
        dongle `bluebench dongle --chip NAME` does, and what remains to be checked by hand. Nothing was
        measured here. `--list-chips` prints the quirks of a chip, `--list-quirks` what each does. The pages are
        made from `Chips.yaml` by `make docs`.

        | page | chip | USB |
        |---|---|---|
        ROWS

        The boot loaders `rtl8761b`, `rtl8852b`, `intel-8260` and `intel-ax210` are chips, too: see
        [firmware](../firmware.md).

        """
}
