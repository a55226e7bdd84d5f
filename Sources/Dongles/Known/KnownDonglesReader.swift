import BBPackets
import Yams

/// Reads a table of known dongles and collects all errors with their positions.
struct KnownDonglesReader: TableReading {
    let file: String
    var rows: [KnownDongle] = []
    var addresses: [KnownDongles.SharedAddress] = []
    var errors: [TableError] = []

    init(file: String) { self.file = file }

    mutating func read(_ text: String) {
        if let root = compose(text) { readRoot(root) }
    }

    // MARK: Parts

    private mutating func readRoot(_ root: Node) {
        guard var keys = keys(root, of: "a table") else { return }
        for node in sequence(keys.take("dongles"), "dongles") { if let row = row(node) { rows.append(row) } }
        for node in sequence(keys.take("addresses"), "addresses") { if let range = address(node) { addresses.append(range) } }
        finish(keys, of: "a table", allowed: ["dongles", "addresses"])
    }

    private mutating func row(_ node: Node) -> KnownDongle? {
        guard var keys = keys(node, of: "a dongle") else { return nil }
        let before = errors.count
        var row = KnownDongle(
            id: required("id", &keys), name: required("name", &keys), match: KnownDongle.Match(), conduct: required("conduct", &keys),
            source: required("source", &keys), quirks: [], workarounds: [], avoided: [], advice: required("advice", &keys))
        row.quirks = words(keys.take("quirks"), "quirks").map(\.text)
        if !row.id.allSatisfy({ $0.isLowercase || $0.isNumber || $0 == "-" }) {
            report(node, "an id has lower-case letters, digits and '-', not '\(row.id)'")
        }
        if rows.contains(where: { $0.id == row.id }) { report(node, "there are two dongles '\(row.id)'") }
        row.workarounds = words(keys.take("do"), "do").compactMap { workaround($0) }
        row.avoided = words(keys.take("avoid"), "avoid").compactMap { command($0) }
        if let match = keys.take("match") { row.match = self.match(match) } else { report(node, "`match:` is missing") }
        if DongleWorkarounds([row]).isDecidedBeforeCommands, !row.match.isOfUSB, errors.count == before {
            report(node, "what '\(row.id)' does on USB is done before the first command: `match:` can only have `usb` and `device`")
        }
        finish(keys, of: "a dongle", allowed: ["id", "name", "match", "conduct", "source", "quirks", "do", "avoid", "advice"])
        return errors.count == before ? row : nil
    }

    private mutating func workaround(_ word: (text: String, node: Node)) -> String? {
        var workarounds = DongleWorkarounds()
        if workarounds.set(word.text) { return word.text }
        report(word.node, "there is no workaround '\(word.text)'" + hint(word.text, DongleWorkarounds.names))
        return nil
    }

    private mutating func command(_ word: (text: String, node: Node)) -> String? {
        if let command = PDUCatalog.declaration(layer: .hciCommands, name: word.text) { return command.name }
        report(word.node, "there is no command '\(word.text)'")
        return nil
    }

    private mutating func match(_ node: Node) -> KnownDongle.Match {
        var match = KnownDongle.Match()
        guard var keys = keys(node, of: "match") else { return match }
        if keys.isEmpty { report(node, "`match:` without a number fits every dongle") }
        match.usb = words(keys.take("usb"), "usb").compactMap { pattern($0) }
        match.release = numbers(keys.take("device"), "device")
        match.company = numbers(keys.take("company"), "company", radix: 10)
        match.hciVersion = numbers(keys.take("hci_version"), "hci_version", radix: 10)
        match.hciRevision = numbers(keys.take("hci_revision"), "hci_revision")
        match.lmpSubversion = numbers(keys.take("lmp_subversion"), "lmp_subversion")
        match.firmware = words(keys.take("firmware"), "firmware").map { $0.text.lowercased() }
        if let clone = keys.take("csr_clone") {
            match.isClone = text(clone, "csr_clone") == "true"
            if !match.isClone { report(clone, "csr_clone is true, or left out") }
        }
        let allowed = ["usb", "device", "company", "hci_version", "hci_revision", "lmp_subversion", "firmware", "csr_clone"]
        finish(keys, of: "match", allowed: allowed)
        return match
    }

    private mutating func pattern(_ word: (text: String, node: Node)) -> USBPattern? {
        let parts = word.text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == 4, let vendor = UInt16(parts[0], radix: 16),
            parts[1] == "*" || parts[1].count == 4 && UInt16(parts[1], radix: 16) != nil
        else {
            report(word.node, "usb is VID:PID in hexadecimal, or VID:*, not '\(word.text)'")
            return nil
        }
        return USBPattern(vendor: vendor, product: UInt16(parts[1], radix: 16))
    }

    private mutating func numbers(_ node: Node?, _ what: String, radix: Int = 16) -> [ClosedRange<UInt16>] {
        words(node, what).compactMap { word in
            let ends = word.text.replacing("..", with: ".").split(separator: ".", omittingEmptySubsequences: false)
            let numbers = ends.compactMap { UInt16($0, radix: radix) }
            guard (1...2).contains(ends.count), numbers.count == ends.count, let first = numbers.first, let last = numbers.last,
                first <= last
            else {
                let form = radix == 16 ? "four hexadecimal digits, or a range such as 0100..0116" : "a number, or a range such as 6..9"
                report(word.node, "\(what) is \(form), not '\(word.text)'")
                return nil
            }
            return first...last
        }
    }

    private mutating func address(_ node: Node) -> KnownDongles.SharedAddress? {
        guard var keys = keys(node, of: "an address") else { return nil }
        let origin = required("origin", &keys)
        let place = keys.take("address")
        finish(keys, of: "an address", allowed: ["address", "origin"])
        let text = place.flatMap { self.text($0, "address") } ?? ""
        let octets = text.split(separator: ":", omittingEmptySubsequences: false)
        let fixed = octets.prefix { $0 != "*" }
        let isWhole = octets.count == 6 && fixed.allSatisfy { $0.count == 2 && UInt8($0, radix: 16) != nil }
        guard isWhole, octets.dropFirst(fixed.count).allSatisfy({ $0 == "*" }), !fixed.isEmpty,
            let low = UInt64(fixed.joined() + String(repeating: "00", count: 6 - fixed.count), radix: 16)
        else {
            report(place ?? node, "an address is six octets, the last of which may be *: 00:1A:7D:DA:71:*")
            return nil
        }
        let width = UInt64(8 * (6 - fixed.count))
        return KnownDongles.SharedAddress(addresses: low...(low | (1 << width &- 1)), origin: origin)
    }
}
