import Packets
import Testing
import Timing

@testable import Host

@Suite struct L2CAPReassemblerTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        /// Boundary flag and octets of each fragment.
        let fragments: [(UInt8, String)]
        let actions: [L2CAPReassembler.Action]
        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(name: "one fragment", fragments: [(2, "0300 0400 0a0300")], actions: [.deliverFragment(cid: 4)]),
        Row(name: "empty payload", fragments: [(2, "0000 0400")], actions: [.deliverFragment(cid: 4)]),
        Row(name: "host's own start flag", fragments: [(0, "0100 0600 05")], actions: [.deliverFragment(cid: 6)]),
        Row(name: "two fragments", fragments: [(2, "0300 0400 0a"), (1, "0300")], actions: [.wait, .deliverAssembled(cid: 4)]),
        Row(
            name: "header in pieces", fragments: [(2, "03"), (1, "0004"), (1, "00 0a0300")],
            actions: [.wait, .wait, .deliverAssembled(cid: 4)]),
        Row(name: "empty start", fragments: [(2, ""), (1, "0000 0400")], actions: [.wait, .deliverAssembled(cid: 4)]),
        Row(
            name: "CVE-2020-0022: continuation exceeds the length", fragments: [(2, "0500 0400 01"), (1, "0102030405")],
            actions: [.wait, .drop(.tooLong)]),
        Row(
            name: "CVE-2020-0022: two octets, then the rest", fragments: [(2, "0100"), (1, "0400 0102")], actions: [.wait, .drop(.tooLong)]),
        Row(name: "CVE-2019-17518: more than the length says", fragments: [(2, "0100 0400 0102")], actions: [.drop(.tooLong)]),
        Row(
            name: "CVE-2019-17517: truncated, then a new start", fragments: [(2, "ff00 0400 01"), (2, "0100 0400 02")],
            actions: [.wait, .deliverFragment(cid: 4)]),
        Row(name: "CVE-2019-19195: continuation without a start", fragments: [(1, "0102")], actions: [.drop(.continuationWithoutStart)]),
        Row(
            name: "after an error all is forgotten", fragments: [(2, "0100 0400"), (1, "0102"), (1, "01")],
            actions: [.wait, .drop(.tooLong), .drop(.continuationWithoutStart)]),
        Row(name: "reserved flag", fragments: [(3, "0000 0400")], actions: [.drop(.reservedBoundary)]),
    ]

    @Test(arguments: rows) func fragments(_ row: Row) {
        var reassembler = L2CAPReassembler()
        let actions = row.fragments.map { boundary, text in
            let fragment = octets(text)
            return reassembler.receive(boundary: boundary, fragment.span.bytes)
        }
        #expect(actions == row.actions)
    }

    @Test func noFragmentsTrapAndBuffersStayBounded() {
        var random = RandomSource(seed: 2)
        var reassembler = L2CAPReassembler()
        for _ in 0..<20_000 {
            let fragment = random.octets(Int(random.next() % 300))
            _ = reassembler.receive(boundary: UInt8(random.next() & 3), fragment.span.bytes)
            #expect(reassembler.assembled.count <= 65_539 + 300)
        }
    }
}

@Suite struct LESignalingTests {
    static let legal = ConnectionParameterRequest(intervalMin: 6, intervalMax: 12, latency: 0, supervisionTimeout: 200)

    static let rows: [(name: String, command: String, asCentral: Bool, actions: [LESignaling.Action])] = [
        ("parameter request", "12 01 0800 0600 0c00 0000 c800", true, [.decideParameters(identifier: 1, legal)]),
        ("parameter request to a peripheral", "12 01 0800 0600 0c00 0000 c800", false, [.send([1, 1, 2, 0, 0, 0])]),
        ("short parameter request", "12 02 0400 0600 0c00", true, [.send([1, 2, 2, 0, 0, 0])]),
        ("unknown code", "2b 05 0000", true, [.send([1, 5, 2, 0, 0, 0])]),
        ("length beyond the PDU", "12 05 0900 00", true, [.send([1, 5, 2, 0, 0, 0])]),
        ("header cut", "12 01", true, [.send([1, 1, 2, 0, 0, 0])]),
        ("no header", "12", true, []),
        ("identifier 0", "12 00 0000", true, []),
        ("command reject nobody waits for", "01 03 0200 0000", true, []),
        ("disconnection of an unknown channel", "06 07 0400 40004100", true, [.send([1, 7, 6, 0, 2, 0, 0x40, 0, 0x41, 0])]),
        ("credits for an unknown channel", "16 08 0400 40000100", true, []),
        ("channel refused", "14 09 0a00 8000 4000 1700 1700 0100", true, [.send([0x15, 9, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0])]),
    ]

    @Test(arguments: rows) func command(name: String, command: String, asCentral: Bool, actions: [LESignaling.Action]) {
        var signaling = LESignaling()
        #expect(signaling.received(octets(command), asCentral: asCentral) == actions)
    }

    @Test func theAnswerToARequestIsTakenOnce() {
        var signaling = LESignaling()
        #expect(signaling.requestParameters(Self.legal) == [.send(octets("12 01 0800 0600 0c00 0000 c800"))])
        #expect(signaling.received(octets("13 02 0200 0000"), asCentral: false) == [])
        #expect(signaling.received(octets("13 01 0200 0100"), asCentral: false) == [.parametersAnswered(accepted: false)])
        #expect(signaling.received(octets("13 01 0200 0000"), asCentral: false) == [])
    }

    @Test func noCommandTraps() {
        var random = RandomSource(seed: 3)
        var signaling = LESignaling()
        for _ in 0..<20_000 {
            _ = signaling.received(random.octets(Int(random.next() % 20)), asCentral: random.next() & 1 == 0)
        }
    }
}
