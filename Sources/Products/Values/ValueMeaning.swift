import BBPackets

/// Unit, scale and names of a number in an attribute value. GATT Specification Supplement; Assigned Numbers, 3.5.
enum ValueMeaning: Sendable {
    /// A number times `factor`, with that many decimal places.
    case scaled(factor: Int, places: Int, String, isSigned: Bool, unknown: Int?)
    case named([Int: String])
    /// An IEEE 11073-20601 FLOAT; its unit depends on the first flag.
    case medical(String, whenFlagged: String)
    case hexadecimal

    private struct Key: Hashable {
        var uuid: BluetoothUUID
        var part: String
    }

    private static func unit(_ unit: String, factor: Int = 1, places: Int = 0, isSigned: Bool = false, unknown: Int? = nil) -> ValueMeaning
    {
        .scaled(factor: factor, places: places, unit, isSigned: isSigned, unknown: unknown)
    }

    private static let sites: [Int: String] = [
        1: "Armpit", 2: "Body", 3: "Ear", 4: "Finger", 5: "Gastrointestinal Tract", 6: "Mouth", 7: "Rectum", 8: "Toe", 9: "Tympanum",
    ]

    private static let all: [Key: ValueMeaning] = [
        Key(uuid: 0x2A04, part: "the least interval"): unit("ms", factor: 125, places: 2, unknown: 0xFFFF),
        Key(uuid: 0x2A04, part: "the greatest interval"): unit("ms", factor: 125, places: 2, unknown: 0xFFFF),
        Key(uuid: 0x2A04, part: "the supervision timeout"): unit("ms", factor: 10, unknown: 0xFFFF),
        Key(uuid: 0x2A07, part: "the level"): unit("dBm", isSigned: true), Key(uuid: 0x2A19, part: "the level"): unit("%"),
        Key(uuid: 0x2A1C, part: "the temperature"): .medical("degrees Celsius", whenFlagged: "degrees Fahrenheit"),
        Key(uuid: 0x2A1C, part: "the type"): .named(sites), Key(uuid: 0x2A1D, part: "the type"): .named(sites),
        Key(uuid: 0x2A21, part: "the interval"): unit("s"), Key(uuid: 0x2A37, part: "the rate"): unit("bpm"),
        Key(uuid: 0x2A37, part: "the energy expended"): unit("kJ"), Key(uuid: 0x2A37, part: "the RR-intervals"): unit("/1024 s"),
        Key(uuid: 0x2A38, part: "the location"): .named([
            0: "Other", 1: "Chest", 2: "Wrist", 3: "Finger", 4: "Hand", 5: "Ear Lobe", 6: "Foot",
        ]),
        Key(uuid: 0x2A4E, part: "the mode"): .named([0: "Boot Protocol Mode", 1: "Report Protocol Mode"]),
        Key(uuid: 0x2A50, part: "the vendor's source"): .named([1: "Bluetooth SIG", 2: "USB Implementers Forum"]),
        Key(uuid: 0x2A50, part: "the vendor"): .hexadecimal, Key(uuid: 0x2A50, part: "the product"): .hexadecimal,
        Key(uuid: 0x2A50, part: "the version"): .hexadecimal,
        Key(uuid: 0x2A6C, part: "the elevation"): unit("m", places: 2, isSigned: true),
        Key(uuid: 0x2A6D, part: "the pressure"): unit("Pa", places: 1),
        Key(uuid: 0x2A6E, part: "the temperature"): unit("degrees Celsius", places: 2, isSigned: true, unknown: 0x8000),
        Key(uuid: 0x2A6F, part: "the humidity"): unit("%", places: 2, unknown: 0xFFFF),
        Key(uuid: 0x2A76, part: "the index"): unit(""), Key(uuid: 0x2A77, part: "the irradiance"): unit("W/m2", places: 1),
        Key(uuid: 0x2AA6, part: "the support"): .named([0: "not supported", 1: "supported"]),
    ]

    /// Returns a number of a value with its unit or name.
    ///
    /// - Parameter flags: the first octet of the value.
    static func text(_ number: Int, octets: Int, _ uuid: BluetoothUUID, _ part: String, flags: UInt8) -> String {
        switch all[Key(uuid: uuid, part: part)] {
        case nil: "\(number)"
        case .scaled(_, _, _, _, number?): "not known"
        case .scaled(let factor, let places, let unit, let isSigned, _):
            decimal((isSigned ? signed(number, bits: octets * 8) : number) * factor, places)
                + (unit.isEmpty || unit.hasPrefix("/") ? "" : " ") + unit
        case .named(let names): names[number].map { "\($0) (\(number))" } ?? "\(number)"
        case .medical(let unit, let flagged): medical(number) + " " + (flags & 1 == 0 ? unit : flagged)
        case .hexadecimal: Hex.number(UInt16(truncatingIfNeeded: number))
        }
    }

    private static func signed(_ number: Int, bits: Int) -> Int { number >> (bits - 1) & 1 == 1 ? number - (1 << bits) : number }

    /// Returns a decimal fraction without zeros at its end.
    private static func decimal(_ number: Int, _ places: Int) -> String {
        var digits = String(number.magnitude)
        guard places > 0 else { return "\(number)" }
        digits = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
        var fraction = digits.suffix(places)
        while fraction.last == "0" { fraction.removeLast() }
        return (number < 0 ? "-" : "") + digits.dropLast(places) + (fraction.isEmpty ? "" : "." + fraction)
    }

    /// A FLOAT: an exponent of 8 bits above a mantissa of 24. IEEE 11073-20601.
    private static func medical(_ number: Int) -> String {
        let (mantissa, exponent) = (signed(number & 0xFF_FFFF, bits: 24), signed(number >> 24 & 0xFF, bits: 8))
        // NaN, NRes, the infinities and a reserved value.
        guard !(0x7F_FFFE...0x80_0002).contains(number & 0xFF_FFFF) else { return "not a number" }
        guard (-12...0).contains(exponent) else { return "\(mantissa)e\(exponent)" }
        return decimal(mantissa, -exponent)
    }
}

extension ValueFormat {
    /// Formats that serve only to show values.
    static let unjudged: [BluetoothUUID: ValueFormat] = [
        0x2A07: ValueFormat(name: "Tx Power Level", parts: [.number("the level", octets: 1, [0...255], .always)]),
        0x2A6C: ValueFormat(name: "Elevation", parts: [.number("the elevation", octets: 3, [0...0xFF_FFFF], .always)]),
        0x2A6D: ValueFormat(name: "Pressure", parts: [.number("the pressure", octets: 4, [0...0xFFFF_FFFF], .always)]),
        0x2A76: ValueFormat(name: "UV Index", parts: [.number("the index", octets: 1, [0...255], .always)]),
        0x2A77: ValueFormat(name: "Irradiance", parts: [.number("the irradiance", octets: 2, [0...0xFFFF], .always)]),
    ]
}
