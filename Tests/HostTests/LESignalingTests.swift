import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBHost

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
        ("24 octets", "12 05 1400" + String(repeating: "00", count: 20), true, [.send([1, 5, 4, 0, 1, 0, 23, 0])]),
        (
            "24 octets that begin with a response", "13 05 0200 0000 12 06 0e00" + String(repeating: "00", count: 14), true,
            [.send([1, 6, 4, 0, 1, 0, 23, 0])]
        ),
        ("24 octets of responses", "13 05 1400" + String(repeating: "00", count: 20), true, []),
        ("credits for an unknown channel", "16 08 0400 40000100", true, []),
        (
            "a channel is asked for", "14 09 0a00 8000 4000 1700 1700 0100", true,
            [.channel(.requested(identifier: 9, spsm: 0x80, count: 1))]
        ),
        (
            "a channel of 22 octets", "14 09 0a00 8000 4000 1600 1700 0100", true,
            [.send([0x15, 9, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0B, 0])]
        ),
    ]

    @Test(arguments: rows) func command(name: String, command: String, asCentral: Bool, actions: [LESignaling.Action]) {
        var signaling = LESignaling()
        #expect(signaling.received(octets(command), asCentral: asCentral, at: .zero) == actions)
    }

    @Test func theAnswerToARequestIsTakenOnce() {
        var signaling = LESignaling()
        #expect(signaling.requestParameters(Self.legal) == [.send(octets("12 01 0800 0600 0c00 0000 c800"))])
        #expect(signaling.received(octets("13 02 0200 0000"), asCentral: false, at: .zero) == [])
        #expect(signaling.received(octets("13 01 0200 0100"), asCentral: false, at: .zero) == [.parametersAnswered(accepted: false)])
        #expect(signaling.received(octets("13 01 0200 0000"), asCentral: false, at: .zero) == [])
    }

    @Test func noCommandTraps() {
        var random = RandomSource(seed: 3)
        var signaling = LESignaling()
        for _ in 0..<20_000 {
            _ = signaling.received(random.octets(Int(random.next() % 20)), asCentral: random.next() & 1 == 0, at: .zero)
        }
    }
}
