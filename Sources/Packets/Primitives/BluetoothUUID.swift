/// A UUID of 16, 32 or 128 bits. Core Vol 3, Part B, 2.5.1. Different forms of a UUID are equal.
public struct BluetoothUUID: Sendable {
    /// The 128-bit value.
    public let value: UInt128
    /// The number of octets of this UUID in a PDU: 2, 4 or 16.
    public let octetCount: Int

    /// 00000000-0000-1000-8000-00805F9B34FB.
    public static var base: UInt128 { 0x0000_1000_8000_0080_5F9B_34FB }

    public init(_ short: UInt16) {
        value = UInt128(short) << 96 | Self.base
        octetCount = 2
    }

    public init(long: UInt128) {
        value = long
        octetCount = 16
    }

    /// Decodes octets, least significant first; nil unless there are 2, 4 or 16.
    public init?(octets: [UInt8]) {
        var value: UInt128 = 0
        for octet in octets.reversed().prefix(16) { value = value << 8 | UInt128(octet) }
        switch octets.count {
        case 2, 4: self.value = value << 96 | Self.base
        case 16: self.value = value
        default: return nil
        }
        octetCount = octets.count
    }

    /// Parses `180D`, `0x180D` or the 36 characters of a long UUID.
    public init?(_ text: String) {
        let body = text.hasPrefix("0x") ? text.dropFirst(2) : text[...]
        let digits = body.filter { $0 != "-" }
        guard let value = UInt128(digits, radix: 16) else { return nil }
        switch digits.count {
        case 4, 8: (self.value, octetCount) = (value << 96 | Self.base, digits.count / 2)
        case 32: (self.value, octetCount) = (value, 16)
        default: return nil
        }
    }

    public var octets: [UInt8] {
        var rest = octetCount == 16 ? value : value >> 96
        var octets: [UInt8] = []
        for _ in 0..<octetCount {
            octets.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
        return octets
    }

    /// The 16-bit form, if there is one.
    public var short: UInt16? {
        value & ~(UInt128(0xFFFF) << 96) == Self.base ? UInt16(truncatingIfNeeded: value >> 96) : nil
    }

    /// The 16-octet form of the UUID.
    public var long: BluetoothUUID { BluetoothUUID(long: value) }
}

extension BluetoothUUID: Hashable {
    public static func == (a: BluetoothUUID, b: BluetoothUUID) -> Bool { a.value == b.value }
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension BluetoothUUID: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: UInt16) { self.init(value) }
}

extension BluetoothUUID: CustomStringConvertible {
    public var description: String {
        let digits = Hex.text(value, digits: octetCount == 16 ? 32 : octetCount * 2, shift: octetCount == 16 ? 0 : 96)
        guard octetCount == 16 else { return "0x" + digits }
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text.append("-") }
            text.append(digit)
        }
        return text
    }
}
