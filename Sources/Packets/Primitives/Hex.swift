/// Numbers and octets as hexadecimal text, without Foundation.
public enum Hex {
    static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }

    static func text(_ value: UInt128, digits count: Int, shift: Int = 0) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(count)
        for index in stride(from: count - 1, through: 0, by: -1) {
            text.append(digit(UInt8(truncatingIfNeeded: value >> (shift + 4 * index)) & 15))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns a hexadecimal number with the digits for the given number of bits: `0x0040`.
    public static func number<Value: FixedWidthInteger>(_ value: Value, bits: Int = Value.bitWidth) -> String {
        "0x" + text(UInt128(truncatingIfNeeded: value), digits: (bits + 3) / 4)
    }

    /// Returns octets in hexadecimal: `01 02 FF`, or without a separator.
    public static func octets(_ octets: some Sequence<UInt8>, separator: String = "") -> String {
        var text: [UInt8] = []
        text.reserveCapacity(octets.underestimatedCount * (2 + separator.utf8.count))
        for octet in octets {
            if !text.isEmpty { text.append(contentsOf: separator.utf8) }
            text.append(digit(octet >> 4))
            text.append(digit(octet & 15))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Parses hexadecimal digits; spaces and colons are ignored. Nil for other characters.
    public static func parse(_ text: String) -> [UInt8]? {
        var octets: [UInt8] = []
        var high: UInt8?
        for character in text.utf8 {
            let digit: UInt8
            switch character {
            case 0x30...0x39: digit = character - 0x30
            case 0x41...0x46: digit = character - 0x37
            case 0x61...0x66: digit = character - 0x57
            case 0x20, 0x3A, 0x09, 0x0A: continue
            default: return nil
            }
            if let upper = high {
                octets.append(upper << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return high == nil ? octets : nil
    }
}
