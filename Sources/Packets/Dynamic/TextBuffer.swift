/// A UTF-8 buffer for text. Lines of packets are written into one buffer, without a String for each part.
public struct TextBuffer: Sendable {
    public private(set) var utf8: [UInt8] = []

    public init() {}

    public var text: String { String(decoding: utf8, as: UTF8.self) }

    /// Removes the text after the first octets.
    public mutating func cut(to octets: Int) { utf8.removeLast(max(0, utf8.count - octets)) }

    /// Returns the text written by a function.
    public static func text(_ body: (inout TextBuffer) -> Void) -> String {
        var buffer = TextBuffer()
        buffer.utf8.reserveCapacity(64)
        body(&buffer)
        return buffer.text
    }

    public mutating func write(_ text: String) {
        let isDone: Void? = text.utf8.withContiguousStorageIfAvailable { utf8.append(contentsOf: $0) }
        if isDone == nil { utf8.append(contentsOf: text.utf8) }
    }

    public mutating func writeSpace() { utf8.append(UInt8(ascii: " ")) }

    /// Appends encoded text.
    public mutating func write(utf8 octets: [UInt8]) { utf8.append(contentsOf: octets) }

    public mutating func write(decimal number: Int) {
        if number < 0 { utf8.append(UInt8(ascii: "-")) }
        write(decimal: UInt64(number.magnitude))
    }

    /// Writes a number in decimal with a minimum number of digits, at most 20.
    public mutating func write(decimal number: UInt64, digits: Int = 1) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.mostDigits) { text in
            var start = text.count
            var rest = number
            repeat {
                start -= 1
                text[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0 || start > text.count - min(digits, text.count)
            utf8.append(contentsOf: UnsafeMutableBufferPointer(rebasing: text[start...]))
        }
    }

    /// Those of the largest number.
    private static let mostDigits = 20

    /// Writes a hexadecimal number with the digits for the given number of bits: `0x0040`.
    public mutating func write(hex number: UInt64, bits: Int) {
        write("0x")
        for shift in stride(from: ((bits + 3) / 4 - 1) * 4, through: 0, by: -4) {
            utf8.append(Hex.digit(UInt8(truncatingIfNeeded: number >> UInt64(shift)) & 15))
        }
    }

    /// Writes octets in hexadecimal: `01FF`.
    public mutating func write(octets: ArraySlice<UInt8>) {
        for octet in octets { write(octet: octet) }
    }

    mutating func write(octet: UInt8) {
        utf8.append(Hex.digit(octet >> 4))
        utf8.append(Hex.digit(octet & 15))
    }

    mutating func write(scalar: Unicode.Scalar) {
        if let encoded = UTF8.encode(scalar) { utf8.append(contentsOf: encoded) }
    }
}
