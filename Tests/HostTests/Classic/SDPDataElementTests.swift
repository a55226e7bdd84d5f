import BBBenchTesting
import BBPackets
import Testing

@testable import BBHost

/// Data elements on the wire. Core Vol 3, Part B, 3.
@Suite struct SDPDataElementTests {
    static let elements: [(String, SDPDataElement)] = [
        ("00", .none),
        ("08 7f", .u8(0x7F)),
        ("09 0100", .u16(0x0100)),
        ("0a 00010000", .u32(0x0001_0000)),
        ("0b 0102030405060708", .unsigned(0x0102_0304_0506_0708, octets: 8)),
        ("0c 00000000000000000000000000000001", .unsigned(1, octets: 16)),
        ("10 ff", .signed(-1, octets: 1)),
        ("11 8000", .signed(-32_768, octets: 2)),
        ("12 7fffffff", .signed(0x7FFF_FFFF, octets: 4)),
        ("19 1101", .uuid(0x1101)),
        ("1c 00001101 0000 1000 8000 00805f9b34fb", .uuid(BluetoothUUID(0x1101).long)),
        ("25 00", .text("")),
        ("25 03 616263", .text("abc")),
        ("28 01", .boolean(true)),
        ("35 00", .sequence([])),
        ("35 05 19 0100 28 00", .sequence([.uuid(0x0100), .boolean(false)])),
        ("3d 03 19 0003", .alternative([.uuid(0x0003)])),
        ("45 01 2f", .url([0x2F])),
        ("35 04 35 02 35 00", .sequence([.sequence([.sequence([])])])),
    ]

    @Test(arguments: elements)
    func elementsAreReadAndWritten(_ text: String, _ element: SDPDataElement) throws {
        #expect(element.octets == octets(text))
        let read = try read(octets(text))
        #expect(read == element)
        // The UUID keeps its length.
        #expect(read.octets == octets(text))
    }

    @Test(arguments: [(255, "25 ff"), (256, "26 0100"), (65_535, "26 ffff"), (65_536, "27 00010000")])
    func theShortestHeaderHoldsTheSize(_ count: Int, _ header: String) throws {
        let text = SDPDataElement.text([UInt8](repeating: 0x61, count: count))
        #expect(text.octets.starts(with: octets(header)))
        let read = try read(text.octets)
        #expect(read == text)
    }

    /// Longer headers than needed are accepted.
    @Test(arguments: ["26 0001 61", "27 00000001 61"])
    func sizesMayBeWide(_ text: String) throws {
        let element = try read(octets(text))
        #expect(element == .text("a"))
    }

    @Test(arguments: [
        "", "01 00", "08", "09 01", "0d 01 00", "18 11", "1b 0102030405060708", "19 11", "20 61", "25", "25 02 61", "26 00", "29 0001",
        "30 00", "35 01", "35 01 09", "35 02 19 1101", "36 ffff 00", "37 ffffffff 00", "48 00", "f8 00",
    ])
    func whatIsNoElementIsRefused(_ text: String) { #expect(throws: PDUError.self) { try read(octets(text)) } }

    @Test func depthIsBounded() throws {
        func nested(_ depth: Int) -> SDPDataElement { (0..<depth).reduce(.none) { element, _ in .sequence([element]) } }
        let deepest = try read(nested(SDPDataElement.depthLimit).octets)
        #expect(deepest == nested(SDPDataElement.depthLimit))
        #expect(throws: PDUError.self) { try read(nested(SDPDataElement.depthLimit + 1).octets) }
    }

    private func read(_ octets: [UInt8]) throws -> SDPDataElement {
        var reader = ByteReader(octets.span.bytes)
        let element = try SDPDataElement(from: &reader)
        if reader.remaining > 0 { throw PDUError(field: "", offset: reader.offset, problem: .trailing(reader.remaining)) }
        return element
    }
}
