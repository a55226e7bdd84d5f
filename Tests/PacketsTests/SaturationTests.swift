import BBPackets
import Testing

/// Numbers from files, which a conversion of the standard library would not survive.
@Suite struct SaturationTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var number: Double
        var whole: Int
        var octet: UInt8
        var signedOctet: Int8
        var testDescription: String { "\(number)" }
    }

    static let rows = [
        Row(number: 0, whole: 0, octet: 0, signedOctet: 0), Row(number: -0.0, whole: 0, octet: 0, signedOctet: 0),
        Row(number: 2.9, whole: 2, octet: 2, signedOctet: 2), Row(number: -2.9, whole: -2, octet: 0, signedOctet: -2),
        Row(number: -0.9, whole: 0, octet: 0, signedOctet: 0), Row(number: 255.9, whole: 255, octet: 255, signedOctet: 127),
        Row(number: 256, whole: 256, octet: 255, signedOctet: 127), Row(number: -128.9, whole: -128, octet: 0, signedOctet: -128),
        Row(number: 1e300, whole: .max, octet: 255, signedOctet: 127), Row(number: -1e300, whole: .min, octet: 0, signedOctet: -128),
        Row(number: 0x1p63, whole: .max, octet: 255, signedOctet: 127), Row(number: -0x1p63, whole: .min, octet: 0, signedOctet: -128),
        Row(number: 0x1p63.nextDown, whole: 0x7FFF_FFFF_FFFF_FC00, octet: 255, signedOctet: 127),
        Row(number: .infinity, whole: .max, octet: 255, signedOctet: 127), Row(number: .nan, whole: 0, octet: 0, signedOctet: 0),
        Row(number: -.infinity, whole: .min, octet: 0, signedOctet: -128),
        Row(number: .leastNonzeroMagnitude, whole: 0, octet: 0, signedOctet: 0),
    ]

    @Test(arguments: rows) func whatDoesNotFitIsTheNearestLimit(_ row: Row) {
        #expect(Int(saturating: row.number) == row.whole)
        #expect(UInt8(saturating: row.number) == row.octet)
        #expect(Int8(saturating: row.number) == row.signedOctet)
    }

    @Test func theWidestTypeSaturates() {
        #expect(UInt64(saturating: 0x1p64) == .max)
        #expect(UInt64(saturating: 0x1p64.nextDown) == 0xFFFF_FFFF_FFFF_F800)
        #expect(UInt64(saturating: -1) == 0)
    }
}
