import BBHCI
import BBPackets
import BBTiming
import Testing

@Suite struct L2CAPReassemblerTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        /// Boundary flag and octets of each fragment.
        let fragments: [(ACLHeader.Boundary, String)]
        let actions: [L2CAPReassembler.Action]
        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(name: "one fragment", fragments: [(.first, "0300 0400 0a0300")], actions: [.deliverFragment(cid: 4)]),
        Row(name: "empty payload", fragments: [(.first, "0000 0400")], actions: [.deliverFragment(cid: 4)]),
        Row(name: "host's own start flag", fragments: [(.firstNonFlushable, "0100 0600 05")], actions: [.deliverFragment(cid: 6)]),
        Row(
            name: "two fragments", fragments: [(.first, "0300 0400 0a"), (.continuing, "0300")],
            actions: [.wait, .deliverAssembled(cid: 4)]),
        Row(
            name: "header in pieces", fragments: [(.first, "03"), (.continuing, "0004"), (.continuing, "00 0a0300")],
            actions: [.wait, .wait, .deliverAssembled(cid: 4)]),
        Row(name: "empty start", fragments: [(.first, ""), (.continuing, "0000 0400")], actions: [.wait, .deliverAssembled(cid: 4)]),
        Row(
            name: "CVE-2020-0022: continuation exceeds the length", fragments: [(.first, "0500 0400 01"), (.continuing, "0102030405")],
            actions: [.wait, .drop(.tooLong)]),
        Row(
            name: "CVE-2020-0022: two octets, then the rest", fragments: [(.first, "0100"), (.continuing, "0400 0102")],
            actions: [.wait, .drop(.tooLong)]),
        Row(name: "CVE-2019-17518: more than the length says", fragments: [(.first, "0100 0400 0102")], actions: [.drop(.tooLong)]),
        Row(
            name: "CVE-2019-17517: truncated, then a new start", fragments: [(.first, "ff00 0400 01"), (.first, "0100 0400 02")],
            actions: [.wait, .deliverFragment(cid: 4)]),
        Row(
            name: "CVE-2019-19195: continuation without a start", fragments: [(.continuing, "0102")],
            actions: [.drop(.continuationWithoutStart)]),
        Row(
            name: "after an error all is forgotten", fragments: [(.first, "0100 0400"), (.continuing, "0102"), (.continuing, "01")],
            actions: [.wait, .drop(.tooLong), .drop(.continuationWithoutStart)]),
        Row(name: "reserved flag", fragments: [(.complete, "0000 0400")], actions: [.drop(.reservedBoundary)]),
    ]

    @Test(arguments: rows) func fragments(_ row: Row) {
        var reassembler = L2CAPReassembler()
        let actions = row.fragments.map { boundary, text in
            let fragment = Hex.parse(text) ?? []
            return reassembler.receive(boundary: boundary, fragment.span.bytes)
        }
        #expect(actions == row.actions)
    }

    @Test func noFragmentsTrapAndBuffersStayBounded() {
        var random = RandomSource(seed: 2)
        var reassembler = L2CAPReassembler()
        for _ in 0..<20_000 {
            let fragment = random.octets(Int(random.next() % 300))
            _ = reassembler.receive(boundary: ACLHeader.Boundary(rawValue: UInt8(random.next() & 3)) ?? .first, fragment.span.bytes)
            #expect(reassembler.assembled.count <= 65_539 + 300)
        }
    }
}
