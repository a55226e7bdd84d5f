import BBPackets

/// The format of the value of a characteristic or descriptor, from the GATT Specification Supplement and the services.
package struct ValueFormat: Sendable {
    /// The parts of a value in order.
    enum Part: Sendable {
        /// A number of the given octets, least significant first, in one of the ranges; present if the flag is set.
        case number(String, octets: Int, [ClosedRange<Int>], Presence)
        /// One or more numbers of the given octets up to the end; present if the flag is set.
        case numbers(String, octets: Int, Presence)
        /// Octets with any value.
        case octets(String, ClosedRange<Int>)
        /// UTF-8 text up to the end, with a maximum number of octets.
        case text(String, atMost: Int)
        /// Short and long items of a HID report descriptor up to the end.
        case items(String)
    }

    /// The presence of a part: always, or as a bit of the first octet indicates.
    enum Presence: Sendable {
        case always
        case set(Int)
        case clear(Int)

        func holds(_ flags: UInt8) -> Bool {
            switch self {
            case .always: true
            case .set(let bit): flags >> UInt8(bit) & 1 == 1
            case .clear(let bit): flags >> UInt8(bit) & 1 == 0
            }
        }
    }

    var name: String
    var parts: [Part]

    /// Returns the mistake in a value; empty if there is none or the format is unknown.
    package static func fault(in value: [UInt8], of uuid: BluetoothUUID) -> String {
        guard let format = all[uuid] else { return "" }
        return format.fault(in: value).map { "\(format.name): \($0)" } ?? ""
    }

    func fault(in value: [UInt8]) -> String? {
        var rest = value[...]
        for part in parts {
            switch part {
            case .number(let name, let octets, let ranges, let presence):
                guard presence.holds(value.first ?? 0) else { continue }
                guard rest.count >= octets else { return "\(name) is missing in \(value.count) octets" }
                let number = rest.prefix(octets).reversed().reduce(0) { $0 << 8 | Int($1) }
                guard ranges.contains(where: { $0.contains(number) }) else {
                    return "\(name) is \(number), not \(ranges.map { "\($0.lowerBound) to \($0.upperBound)" }.joined(separator: " or "))"
                }
                rest = rest.dropFirst(octets)
            case .numbers(let name, let octets, let presence):
                guard presence.holds(value.first ?? 0) else { continue }
                guard !rest.isEmpty, rest.count % octets == 0 else {
                    return "\(name) has \(rest.count) octets, not a multiple of \(octets)"
                }
                rest = []
            case .octets(let name, let count):
                guard count.contains(rest.count) else {
                    return "\(name) has \(rest.count) octets, not \(count.lowerBound) to \(count.upperBound)"
                }
                rest = []
            case .text(let name, let most):
                guard rest.count <= most else { return "\(name) has \(rest.count) octets, more than \(most)" }
                guard String(validating: rest, as: UTF8.self) != nil else { return "\(name) is not UTF-8" }
                rest = []
            case .items(let name):
                if let position = Self.brokenItem(in: Array(rest)) { return "\(name) is cut short in the item at octet \(position)" }
                if let text = Self.unbalancedCollection(in: Array(rest)) { return "\(name) \(text)" }
                rest = []
            }
        }
        return rest.isEmpty ? nil : "\(rest.count) octets are left over of \(value.count)"
    }

    /// Returns the offset of an invalid item in a report descriptor. HID 1.11, 6.2.2.2 and 6.2.2.3.
    private static func brokenItem(in octets: [UInt8]) -> Int? {
        var position = 0
        while position < octets.count {
            guard let length = itemLength(at: position, in: octets), position + length <= octets.count else { return position }
            position += length
        }
        return octets.isEmpty ? 0 : nil
    }

    /// Returns the octets of an item with its prefix; nil if its length is cut off.
    private static func itemLength(at position: Int, in octets: [UInt8]) -> Int? {
        guard octets[position] == 0xFE else { return 1 + [0, 1, 2, 4][Int(octets[position] & 3)] }
        return position + 1 < octets.count ? 3 + Int(octets[position + 1]) : nil
    }

    /// Returns what is wrong with the nesting of collections in a report descriptor of whole items. HID 1.11, 6.2.2.6.
    private static func unbalancedCollection(in octets: [UInt8]) -> String? {
        var (position, depth) = (0, 0)
        while position < octets.count, let length = itemLength(at: position, in: octets) {
            // Tag and type of a short item.
            switch octets[position] & 0xFC {
            case 0xA0: depth += 1
            case 0xC0: depth -= 1
            default: break
            }
            if depth < 0 { return "ends a collection at octet \(position) that has not begun" }
            position += length
        }
        return depth == 0 ? nil : "does not end \(depth) of its collections"
    }
}

extension ValueFormat {
    private static func one(_ name: String, _ field: String, octets: Int = 1, _ ranges: ClosedRange<Int>...) -> ValueFormat {
        ValueFormat(name: name, parts: [.number(field, octets: octets, ranges, .always)])
    }

    private static func text(_ name: String, atMost most: Int = 512) -> ValueFormat {
        ValueFormat(name: name, parts: [.text("the text", atMost: most)])
    }

    private static func byte(_ name: String, _ range: ClosedRange<Int> = 0...255, _ presence: Presence = .always) -> Part {
        .number(name, octets: 1, [range], presence)
    }

    private static func word(_ name: String, _ ranges: ClosedRange<Int>..., when presence: Presence = .always) -> Part {
        .number(name, octets: 2, ranges.isEmpty ? [0...0xFFFF] : ranges, presence)
    }

    private static let date: [Part] = [
        word("the year", 0...0, 1582...9999), byte("the month", 0...12), byte("the day", 0...31), byte("the hour", 0...23),
        byte("the minute", 0...59), byte("the second", 0...59),
    ]

    /// The formats by UUID from the Assigned Numbers.
    static let all: [BluetoothUUID: ValueFormat] = [
        0x2900: ValueFormat(name: "Characteristic Extended Properties", parts: [.octets("the properties", 2...2)]),
        0x2901: text("Characteristic User Description"),
        0x2904: ValueFormat(name: "Characteristic Presentation Format", parts: [.octets("the format", 7...7)]),
        0x2908: ValueFormat(name: "Report Reference", parts: [byte("the report ID"), byte("the report type", 1...3)]),
        0x2A00: text("Device Name", atMost: 248),
        0x2A01: one("Appearance", "the category", octets: 2, 0...0xFFFF),
        0x2A04: ValueFormat(
            name: "Peripheral Preferred Connection Parameters",
            parts: [
                word("the least interval", 6...3_200, 0xFFFF...0xFFFF), word("the greatest interval", 6...3_200, 0xFFFF...0xFFFF),
                word("the latency", 0...499), word("the supervision timeout", 10...3_200, 0xFFFF...0xFFFF),
            ]),
        0x2A0F: ValueFormat(
            name: "Local Time Information",
            parts: [
                .number("the time zone", octets: 1, [0...56, 0xD0...0xFF, 0x80...0x80], .always),
                .number("the DST offset", octets: 1, [0...0, 2...2, 4...4, 8...8, 255...255], .always),
            ]),
        0x2A19: one("Battery Level", "the level", 0...100),
        0x2A1C: ValueFormat(
            name: "Temperature Measurement",
            parts: [byte("the flags"), .number("the temperature", octets: 4, [0...0xFFFF_FFFF], .always)]
                + date.map { $0.when(.set(1)) } + [byte("the type", 1...255, .set(2))]),
        0x2A1D: one("Temperature Type", "the type", 1...255),
        0x2A21: one("Measurement Interval", "the interval", octets: 2, 0...0xFFFF),
        0x2A23: ValueFormat(name: "System ID", parts: [.octets("the identifier", 8...8)]),
        0x2A24: text("Model Number String"), 0x2A25: text("Serial Number String"), 0x2A26: text("Firmware Revision String"),
        0x2A27: text("Hardware Revision String"), 0x2A28: text("Software Revision String"), 0x2A29: text("Manufacturer Name String"),
        0x2A2B: ValueFormat(
            name: "Current Time",
            parts: date + [byte("the day of the week", 0...7), byte("the fraction"), byte("the reason", 0...15)]),
        0x2A37: ValueFormat(
            name: "Heart Rate Measurement",
            parts: [
                byte("the flags"), byte("the rate", 0...255, .clear(0)), word("the rate", when: .set(0)),
                word("the energy expended", when: .set(3)), .numbers("the RR-intervals", octets: 2, .set(4)),
            ]),
        0x2A38: one("Body Sensor Location", "the location", 0...6),
        0x2A4A: ValueFormat(name: "HID Information", parts: [word("the version"), byte("the country"), byte("the flags", 0...255)]),
        0x2A4B: ValueFormat(name: "Report Map", parts: [.items("the report descriptor")]),
        0x2A4E: one("Protocol Mode", "the mode", 0...1),
        0x2A51: ValueFormat(name: "Glucose Feature", parts: [word("the features")]),
        0x2A50: ValueFormat(
            name: "PnP ID", parts: [byte("the vendor's source", 1...2), word("the vendor"), word("the product"), word("the version")]),
        0x2A6E: one("Temperature", "the temperature", octets: 2, 0...0x7FFF, 0x8000...0x8000, 0x954D...0xFFFF),
        0x2A6F: one("Humidity", "the humidity", octets: 2, 0...10_000, 0xFFFF...0xFFFF),
        0x2AA6: one("Central Address Resolution", "the support", 0...1),
        0x2AC9: one("Resolvable Private Address Only", "the use", 0...0),
        0x2B2A: ValueFormat(name: "Database Hash", parts: [.octets("the hash", 16...16)]),
        0x2B3A: ValueFormat(name: "Server Supported Features", parts: [.octets("the features", 1...512)]),
    ]
}

extension ValueFormat.Part {
    /// Returns the part with another presence.
    fileprivate func when(_ presence: ValueFormat.Presence) -> ValueFormat.Part {
        if case .number(let name, let octets, let ranges, _) = self { .number(name, octets: octets, ranges, presence) } else { self }
    }
}
