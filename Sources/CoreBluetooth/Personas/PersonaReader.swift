import BBDongles
import BBHost
import Yams

/// Reads the file of a phone, and collects all mistakes with their positions.
struct PersonaReader: TableReading {
    let file: String
    var errors: [TableError] = []
    var persona = CBPhonePersona()

    private typealias Setter = @Sendable (inout PersonaReader, Node) -> Void

    init(file: String) { self.file = file }

    mutating func read(_ text: String) {
        guard let root = compose(text), var keys = keys(root, of: "a persona") else { return }
        persona.name = required("persona", &keys)
        persona.about = required("about", &keys)
        // What an iPhone has, and other phones only if their file says so.
        persona.hasOverflowArea = false
        if let values = keys.take("values") { readValues(values) } else { report(keys.node, "`values:` is missing") }
        finish(keys, of: "a persona", allowed: ["persona", "about", "values"])
        if errors.isEmpty, !persona.connection.isLegal {
            report(root, "interval, latency and timeout do not fit together: the timeout is to be more than 2 x interval x (latency + 1)")
        }
    }

    private mutating func readValues(_ node: Node) {
        guard var keys = keys(node, of: "`values:`") else { return }
        for (name, set) in Self.setters.sorted(by: { $0.key < $1.key }) {
            guard let entry = keys.take(name) else { continue }
            readValue(name, entry, set)
        }
        finish(keys, of: "`values:`", allowed: Self.setters.keys.sorted())
    }

    private mutating func readValue(_ name: String, _ node: Node, _ set: Setter) {
        guard var keys = keys(node, of: name) else { return }
        let value = keys.take("value")
        let certainty = required("certainty", &keys)
        let place = keys.node
        if !certainty.isEmpty, !["A", "B", "C"].contains(certainty) {
            report(
                place,
                "certainty is A (in code and a capture), B (in one of them, or the maker's documents) or C (reported), not '\(certainty)'")
        }
        let (seen, source) = (required("seen", &keys), required("source", &keys))
        finish(keys, of: "a value", allowed: ["value", "seen", "certainty", "source"])
        guard let value else { return report(place, "`value:` of \(name) is missing") }
        set(&self, value)
        let text = words(value, name).map(\.text).joined(separator: ", ")
        persona.values.append(CBPhonePersona.Value(key: name, text: text, seen: seen, certainty: certainty, source: source))
    }

    // MARK: Values

    private static let setters: [String: Setter] = [
        "interval": { reader, node in
            guard let range = reader.range(node, "interval", 6...3_200) else { return }
            reader.persona.connection.intervalMin = UInt16(range.lowerBound)
            reader.persona.connection.intervalMax = UInt16(range.upperBound)
        },
        "latency": { $0.number($1, "latency", 0...499) { $0.connection.latency = UInt16($1) } },
        "timeout": { $0.number($1, "timeout", 10...3_200) { $0.connection.supervisionTimeout = UInt16($1) } },
        "start": { reader, node in
            reader.persona.start = reader.words(node, "start").compactMap { reader.choice($0, "start") }
        },
        "mtu": { $0.number($1, "mtu", 23...65_535) { $0.mtu = $1 } },
        "mtu_without_length": { $0.number($1, "mtu_without_length", 23...65_535) { $0.mtuWithoutLength = $1 } },
        "parameters": { reader, node in
            guard let text = reader.text(node, "parameters") else { return }
            if let rule: CBPhonePersona.ParameterRule = reader.choice((text, node), "parameters") { reader.persona.parameters = rule }
        },
        "least_interval": { $0.number($1, "least_interval", 6...3_200) { $0.leastInterval = UInt16($1) } },
        "hid_intervals": { reader, node in
            reader.persona.hidIntervals = reader.words(node, "hid_intervals").compactMap { word in
                guard let number = UInt16(word.text), (6...3_200).contains(number) else {
                    reader.report(word.node, "hid_intervals are numbers from 6 to 3200, not '\(word.text)'")
                    return nil
                }
                return number
            }
        },
        "packets_per_event": { $0.number($1, "packets_per_event", 1...100) { $0.packetsPerEvent = $1 } },
        "extended_octets": { $0.number($1, "extended_octets", 0...1_650) { $0.extendedOctets = $1 } },
        "overflow_area": { reader, node in
            guard let text = reader.text(node, "overflow_area") else { return }
            if !["true", "false"].contains(text) { reader.report(node, "overflow_area is true or false, not '\(text)'") }
            reader.persona.hasOverflowArea = text == "true"
        },
        "launch_time": { $0.number($1, "launch_time", 1...86_400) { $0.launchTime = Double($1) } },
        "authentication": { $0.number($1, "authentication", 0...0x3F, radix: 16) { $0.authentication = UInt8($1) } },
        "keys": { $0.number($1, "keys", 0...0x0F, radix: 16) { $0.keys = UInt8($1) } },
    ]

    private mutating func number(
        _ node: Node, _ name: String, _ limits: ClosedRange<Int>, radix: Int = 10, _ set: (inout CBPhonePersona, Int) -> Void
    ) {
        guard let text = text(node, name) else { return }
        guard let number = Int(text, radix: radix), limits.contains(number) else {
            let (least, most) = (String(limits.lowerBound, radix: radix), String(limits.upperBound, radix: radix).uppercased())
            return report(node, "\(name) is a number\(radix == 16 ? " in hexadecimal" : "") from \(least) to \(most), not '\(text)'")
        }
        set(&persona, number)
    }

    private mutating func range(_ node: Node, _ name: String, _ limits: ClosedRange<Int>) -> ClosedRange<Int>? {
        guard let text = text(node, name) else { return nil }
        let ends = text.replacing("..", with: " ").split(separator: " ").compactMap { Int($0) }
        guard (1...2).contains(ends.count), let least = ends.first, let most = ends.last, least <= most, limits.contains(least),
            limits.contains(most), text == (ends.count == 1 ? "\(least)" : "\(least)..\(most)")
        else {
            report(node, "\(name) is a number from \(limits.lowerBound) to \(limits.upperBound), or a range such as 8..16, not '\(text)'")
            return nil
        }
        return least...most
    }

    private mutating func choice<Choice: RawRepresentable & CaseIterable>(_ word: (text: String, node: Node), _ name: String) -> Choice?
    where Choice.RawValue == String {
        if let choice = Choice(rawValue: word.text) { return choice }
        report(word.node, "\(name) has no '\(word.text)'" + hint(word.text, Choice.allCases.map(\.rawValue)))
        return nil
    }
}
