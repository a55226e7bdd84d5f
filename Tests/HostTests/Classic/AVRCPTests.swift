import BBBenchTesting
import BBPackets
import Testing

@testable import BBHost

/// AVCTP's packets, and AVRCP's controller and target over them.
@Suite struct AVRCPTests {
    // MARK: Packets

    @Test(arguments: [44, 45, 46, 90, 91, 92, 93, 138, 500])
    func messagesAreCutAndPutTogether(_ count: Int) {
        let message = AVCTPMessage(label: 9, isResponse: true, profile: 0x110E, (0..<count).map { UInt8(truncatingIfNeeded: $0) })
        let packets = message.packets(mtu: 48)
        var assembler = AVCTPAssembler()
        let read = packets.compactMap { assembler.receive($0) }
        #expect(packets.allSatisfy { $0.count <= 48 })
        #expect(packets.count == 1 || Int(packets[0][1]) == packets.count)
        #expect(read == [message])
    }

    static let wrongPackets: [[String]] = [
        [""], ["00"], ["0011"], ["04 02 11"], ["04 01 110e 00"], ["08 01"], ["0c 01"], ["04 02 110e 00", "18 00"],
        ["04 03 110e 00", "0c 00"],
        ["04 02 110e 00", "08 00"],
    ]

    @Test(arguments: wrongPackets)
    func whatIsNoMessageIsDropped(_ packets: [String]) {
        var session = AVRCPSession(target: .player)
        let actions = packets.flatMap { session.receive(octets($0), at: 0) }
        #expect(actions.isEmpty)
        let answer = session.receive(octets("00 110e 01 ff 30 ffffffffff"), at: 0)
        #expect(answer.count == 1)
    }

    // MARK: The target

    /// Commands and responses after the AVCTP header, with label 0, for a player.
    static let exchanges: [(String, String, String)] = [
        ("unit info", "01 ff 30 ffffffffff", "0c ff 30 07 48 001958"),
        ("subunit info", "01 ff 31 07ffffffff", "0c ff 31 07 48 ffffff"),
        ("play", "00 48 7c 4400", "09 48 7c 4400"),
        ("play released", "00 48 7c c400", "09 48 7c c400"),
        ("a key that is not there", "00 48 7c 0000", "08 48 7c 0000"),
        ("a key with a length beyond its data", "00 48 7c 4401", "0a 48 7c 4401"),
        ("a key without a length", "00 48 7c 44", "0a 48 7c 44"),
        ("companies", "01 48 00 001958 10 00 0001 02", "0c 48 00 001958 10 00 0005 02 01 001958"),
        ("events", "01 48 00 001958 10 00 0001 03", "0c 48 00 001958 10 00 0004 03 02 01 02"),
        ("an unknown capability", "01 48 00 001958 10 00 0001 04", "0a 48 00 001958 10 00 0001 01"),
        ("capabilities without one", "01 48 00 001958 10 00 0000", "0a 48 00 001958 10 00 0001 02"),
        ("play status", "01 48 00 001958 30 00 0000", "0c 48 00 001958 30 00 0009 ffffffff ffffffff 00"),
        ("an event", "03 48 00 001958 31 00 0005 01 00000000", "0f 48 00 001958 31 00 0002 01 00"),
        ("an event that is not there", "03 48 00 001958 31 00 0005 0d 00000000", "0a 48 00 001958 31 00 0001 01"),
        ("an event cut short", "03 48 00 001958 31 00 0001 01", "0a 48 00 001958 31 00 0001 02"),
        ("a volume, where there is none", "00 48 00 001958 50 00 0001 40", "0a 48 00 001958 50 00 0001 00"),
        ("titles", "01 48 00 001958 20 00 000d 0000000000000000 01 00000001", "0c 48 00 001958 20 00 0001 00"),
        ("an unknown PDU", "01 48 00 001958 99 00 0000", "0a 48 00 001958 99 00 0001 00"),
        ("a length beyond the PDU", "01 48 00 001958 10 00 0004 03", "0a 48 00 001958 10 00 0001 02"),
        ("a PDU cut short", "01 48 00 001958 10", "0a 48 00 001958 10 00 0001 02"),
        ("a part of a PDU", "01 48 00 001958 10 01 0001 03", "0a 48 00 001958 10 00 0001 00"),
        ("another company", "00 48 00 001234 10 00 0000", "08 48 00 001234 10 00 0000"),
        ("an unknown opcode", "00 48 b0 00", "08 48 b0 00"),
        ("another subunit", "00 20 7c 4400", "08 20 7c 4400"),
    ]

    @Test(arguments: exchanges)
    func targetsAnswer(_ name: String, _ command: String, _ response: String) {
        var session = AVRCPSession(target: .player)
        let actions = session.receive(octets("00 110e" + command), at: 0)
        #expect(actions.first == .send(octets("02 110e" + response)), "\(name)")
    }

    @Test func otherProfilesAreInvalid() {
        var session = AVRCPSession(target: .player)
        let actions = session.receive(octets("50 110f 00 48 7c 4400"), at: 0)
        #expect(actions == [.send(octets("53 110f"))])
    }

    // MARK: Both

    @Test func controllerAndTarget() {
        var line = ControlLine(AVRCPSession(target: .player, mtu: 48), AVRCPSession(target: .loudspeaker, mtu: 48))
        line.ends[0].target.attributes = [1: "A title that is so long that it takes more than one packet of the channel", 2: "Somebody"]
        let title = "A title that is so long that it takes more than one packet of th"
        #expect(line.perform(1, .press(.play)) == [.accepted])
        #expect(line.perform(1, .press(.play, isReleased: true)) == [.accepted])
        #expect(line.perform(1, .press(.mute)) == [.notImplemented])
        #expect(line.perform(1, .supportedEvents) == [.events([.playbackStatusChanged, .trackChanged])])
        #expect(line.perform(1, .elementAttributes([])) == [.attributes([1: title, 2: "Somebody"])])
        #expect(line.perform(1, .register(.playbackStatusChanged)) == [.interim(.playbackStatus(0))])
        #expect(line.perform(0, .register(.volumeChanged)) == [.interim(.volume(0x40))])
        #expect(line.perform(0, .setAbsoluteVolume(0x7F)) == [.volume(0x7F)])
        // Changed is sent once, until the next registration.
        #expect(line.change(0, .playbackStatus(1)) == [.changed(.playbackStatus(1))])
        #expect(line.change(0, .playbackStatus(2)) == [])
        #expect(line.change(1, .volume(3)) == [.changed(.volume(3))])
        #expect(line.perform(1, .playStatus) == [.playStatus(length: .max, position: .max, status: 2)])
        #expect(line.perform(0, .playStatus) == [.rejected(.invalidCommand)])
        #expect(line.perform(0, .unitInfo) == [.information([0x07, 0x48, 0x00, 0x19, 0x58])])
        #expect(line.perform(0, .subunitInfo) == [.information([0x07, 0x48, 0xFF, 0xFF, 0xFF])])
        #expect(
            line.others == [.key(.play, isPressed: true), .key(.play, isPressed: false), .volume(0x7F)])
        #expect(line.ends.allSatisfy { $0.deadline == nil && $0.transactions.isEmpty })
    }

    // MARK: The controller

    /// Responses of a faulty target with label 0.
    static let answers: [(AVRCPRequest, String, AVRCPResult?)] = [
        (.press(.play), "02 110e 09 48 7c 4500", .malformed),
        (.press(.play), "02 110e 0a 48 7c 4400", .rejected(nil)),
        (.press(.play), "02 110e 09 48 7d 4400", .malformed),
        (.press(.play), "02 110e 09", .malformed),
        (.press(.play), "03 110e", .invalidProfile),
        (.press(.play), "12 110e 09 48 7c 4400", nil),
        (.press(.play), "02 110f 09 48 7c 4400", nil),
        (.supportedEvents, "02 110e 0c 48 00 001958 10 00 0004 03 ff 01 02", .malformed),
        (.supportedEvents, "02 110e 0c 48 00 001958 30 00 0004 03 02 01 02", .malformed),
        (.supportedEvents, "02 110e 0a 48 00 001958 10 00 0001 01", .rejected(.invalidParameter)),
        (.supportedEvents, "02 110e 08 48 00 001958 10 00 0001 03", .notImplemented),
        (.register(.volumeChanged), "02 110e 0f 48 00 001958 31 00 0002 01 00", .malformed),
        (.register(.volumeChanged), "02 110e 0f 48 00 001958 31 00 0001 0d", .malformed),
        (.elementAttributes([1]), "02 110e 0c 48 00 001958 20 00 0009 01 00000001 006a ffff", .malformed),
        (.elementAttributes([1]), "02 110e 0c 48 00 001958 20 01 0000", .malformed),
    ]

    @Test(arguments: answers.indices)
    func answersAreJudged(_ index: Int) {
        let (request, packet, wanted) = Self.answers[index]
        var session = AVRCPSession()
        _ = session.send(request, at: 0)
        let actions = session.receive(octets(packet), at: 0)
        #expect(actions == (wanted.map { [.answered(request, $0)] } ?? []))
    }

    /// A response in three frames: the rest is requested after each. A target that never ends is given up.
    @Test func longResponsesAreContinued() {
        var session = AVRCPSession()
        _ = session.send(.elementAttributes([1]), at: 0)
        let more = octets("00 110e 00 48 00 001958 40 00 0001 20")
        let first = session.receive(octets("02 110e 0c 48 00 001958 20 01 0009 01 00000001 006a 0003"), at: 0)
        #expect(first == [.send(more)])
        let second = session.receive(octets("02 110e 0c 48 00 001958 20 02 0002 6162"), at: 0)
        #expect(second == [.send(more)])
        let third = session.receive(octets("02 110e 0c 48 00 001958 20 03 0001 63"), at: 0)
        #expect(third == [.answered(.elementAttributes([1]), .attributes([1: "abc"]))])

        _ = session.send(.elementAttributes([2]), at: 0)
        let part = "12 110e 0c 48 00 001958 20 02 0064" + String(repeating: "00", count: 100)
        var count = 0
        while !session.transactions.isEmpty, count < 1_000 {
            count += 1
            _ = session.receive(octets(part), at: 0)
        }
        #expect(count < 100)
    }

    @Test func requestsTimeOut() {
        var session = AVRCPSession()
        _ = session.send(.unitInfo, at: 3)
        let late = session.expire(at: 3 + AVRCPSession.responseTimeOut)
        #expect(late == [.answered(.unitInfo, .timedOut)])
    }
}

/// Both ends of a control channel.
private struct ControlLine {
    var ends: [AVRCPSession]
    var others: [AVRCPAction] = []

    init(_ one: AVRCPSession, _ other: AVRCPSession) { ends = [one, other] }

    mutating func perform(_ end: Int, _ request: AVRCPRequest) -> [AVRCPResult] { settle(end, ends[end].send(request, at: 0)) }

    mutating func change(_ end: Int, _ value: AVRCPNotification) -> [AVRCPResult] { settle(end, ends[end].changed(value)) }

    private mutating func settle(_ end: Int, _ actions: [AVRCPAction]) -> [AVRCPResult] {
        var mail = actions.map { (end, $0) }
        var results: [AVRCPResult] = []
        while !mail.isEmpty {
            let (from, action) = mail.removeFirst()
            switch action {
            case .send(let octets):
                #expect(octets.count <= 48)
                mail += ends[1 - from].receive(octets, at: 0).map { (1 - from, $0) }
            case .answered(_, let result): results.append(result)
            case .key, .volume: others.append(action)
            }
        }
        return results
    }
}
