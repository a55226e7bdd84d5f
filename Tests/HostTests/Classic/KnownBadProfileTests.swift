import BBBenchTesting
import BBPackets
import Testing

@testable import BBHost

/// Each PDU of the tables cut at each octet, and with each octet at a limit: the protocol cores continue to answer correct PDUs afterwards.
@Suite struct KnownBadProfileTests {
    /// The octets truncated at every position, and with each octet replaced by a limit, a neighbouring value or its complement.
    private static func spoiled(_ octets: [UInt8]) -> [[UInt8]] {
        let cut = octets.indices.map { Array(octets[..<$0]) }
        let changed = octets.indices.flatMap { index in
            [0x00, 0xFF, octets[index] &+ 1, octets[index] &- 1, ~octets[index]].map { value in
                var other = octets
                other[index] = value
                return other
            }
        }
        return cut + changed + [octets + [0x00], octets + octets]
    }

    @Test(arguments: SDPTests.exchanges.map(\.1))
    func serversOfSDP(_ text: String) {
        let server = SDPTests.server()
        for request in Self.spoiled(octets(text)) {
            let answer = server.receive(request, mtu: 48)
            #expect(answer.map { $0.count <= 48 } ?? true)
        }
    }

    @Test(arguments: SDPTests.responses.flatMap(\.1))
    func clientsOfSDP(_ text: String) {
        for response in Self.spoiled(octets(text)) {
            var client = SDPClient()
            _ = client.start(.attributes(0x0001_0000, [.all]), at: 0)
            _ = client.receive(response, at: 0)
            #expect(client.isBusy == (client.deadline != nil))
        }
    }

    @Test(arguments: RFCOMMTests.exchanges.indices)
    func sessionsOfRFCOMM(_ index: Int) {
        let frames = RFCOMMTests.exchanges[index].1
        for (position, text) in frames.enumerated() {
            for frame in Self.spoiled(octets(text)) {
                var session = RFCOMMSession(.acceptor, RFCOMMSettings(services: [1, 2]))
                for before in frames[..<position] { _ = session.receive(octets(before), at: 0) }
                _ = session.receive(frame, at: 0)
                // With a correct FCS the content matters.
                if frame.count > 3 { _ = session.receive(Array(frame.dropLast()) + [RFCOMMTests.check(Array(frame.prefix(2)))], at: 0) }
                let answer = session.receive(octets(RFCOMMTests.sabm), at: 0)
                #expect(answer.first == .send(octets(RFCOMMTests.ua)) || session.isOver)
            }
        }
    }

    @Test(arguments: AVDTPTests.exchanges.indices)
    func sessionsOfAVDTP(_ index: Int) {
        let packets = AVDTPTests.exchanges[index].1.filter { $0 != "media" }
        for (position, text) in packets.enumerated() {
            for packet in Self.spoiled(octets(text)) {
                var session = AVDTPSession(endpoints: [.sbc(seid: 1, isSink: true), .sbc(seid: 2, isSink: false)])
                for before in packets[..<position] { _ = session.receive(octets(before), at: 0) }
                _ = session.receive(packet, at: 0)
                let answer = session.receive([0x50, 0x01], at: 0)
                #expect(answer.count == 1)
            }
        }
    }

    @Test(arguments: AVRCPTests.exchanges.map(\.1) + AVRCPTests.answers.map(\.1))
    func sessionsOfAVRCP(_ text: String) {
        for packet in Self.spoiled(octets("00 110e" + text)) + Self.spoiled(octets(text)) {
            var session = AVRCPSession(target: .player)
            _ = session.send(.elementAttributes([1]), at: 0)
            _ = session.receive(packet, at: 0)
            let answer = session.receive(octets("50 110e 01 ff 30 ffffffffff"), at: 0)
            #expect(answer == [.send(octets("52 110e 0c ff 30 07 48 001958"))])
        }
    }

    @Test(arguments: HFPTests.exchanges.flatMap(\.1).filter { $0.utf8.count < 100 })
    func gatewaysOfHFP(_ text: String) {
        for line in Self.spoiled([UInt8](text.utf8)) {
            var gateway = HFPAudioGateway(features: HFPTests.everything)
            _ = gateway.receive(line + [0x0D], at: 0)
            let answer = gateway.receive([UInt8]("AT+CIND?\r".utf8), at: 0)
            #expect(answer.count == 2)
        }
    }
}
