import BBBenchTesting
import BBPackets
import Testing

@testable import BBHost

/// Signalling of AVDTP: packets, each role alone, and both with one another.
@Suite struct AVDTPTests {
    // MARK: Packets

    static let messages: [(AVDTPMessage, String)] = [
        (AVDTPMessage(label: 0, .command, signal: 1), "00 01"),
        (AVDTPMessage(label: 15, .accept, signal: 1, [0x04, 0x08]), "f2 01 04 08"),
        (AVDTPMessage(label: 1, .reject, signal: 3, [7, 0x29]), "13 03 07 29"),
        (AVDTPMessage(label: 2, .generalReject, signal: 0x3F), "21 3f"),
    ]

    @Test(arguments: messages)
    func messagesAreReadAndWritten(_ message: AVDTPMessage, _ text: String) {
        var assembler = AVDTPAssembler()
        let read = assembler.receive(octets(text))
        #expect(message.packets(mtu: 48) == [octets(text)])
        #expect(read == message)
    }

    /// Start, continue and end packets: none exceeds the MTU, and no data is lost at the boundaries.
    @Test(arguments: [46, 47, 48, 92, 93, 94, 139, 140, 500])
    func longMessagesAreCut(_ count: Int) {
        let message = AVDTPMessage(label: 3, .accept, signal: 2, (0..<count).map { UInt8(truncatingIfNeeded: $0) })
        let packets = message.packets(mtu: 48)
        var assembler = AVDTPAssembler()
        let read = packets.compactMap { assembler.receive($0) }
        #expect(packets.allSatisfy { $0.count <= 48 })
        #expect(packets.count == 1 || Int(packets[0][1]) == packets.count)
        #expect(read == [message])
    }

    static let wrongPackets: [[String]] = [
        [""], ["00"], ["04 02"], ["04 01 01 00"], ["08 01"], ["0c 01"], ["04 02 02 00", "18 00"], ["04 03 02 00", "0c 00"],
        ["04 02 02 00", "08 00"], ["04 02 02 00", "0e 00"],
    ]

    @Test(arguments: wrongPackets)
    func whatIsNoMessageIsDropped(_ packets: [String]) {
        var assembler = AVDTPAssembler()
        let read = packets.compactMap { assembler.receive(octets($0)) }
        #expect(read.isEmpty)
        let next = assembler.receive([0x00, 0x01])
        #expect(next != nil)
    }

    // MARK: The acceptor

    static let sbc = "07 06 0000 2115 0235"
    static let configure = "00 03 0404 0100 \(sbc)"
    static let open = [configure, "10 06 04"]

    /// Packets of an initiator to end point 1, a sink, and end point 2, a source, and the last response.
    static let exchanges: [(String, [String], String?)] = [
        ("discover", ["00 01"], "02 01 0408 0800"),
        ("discover with an octet", ["00 01 00"], "03 01 11"),
        ("capabilities", ["10 02 04"], "12 02 0100 07 06 0000 ffff 0235"),
        ("all capabilities", ["10 0c 04"], "12 0c 0100 07 06 0000 ffff 0235 0800"),
        ("capabilities of nobody", ["10 02 0c"], "13 02 12"),
        ("capabilities without a SEID", ["10 02"], "13 02 11"),
        ("capabilities of two", ["10 02 0408"], "13 02 11"),
        ("set configuration", [configure], "02 03"),
        ("in use", [configure, "00 03 0408 0100 \(sbc)"], "03 03 00 13"),
        ("discover in use", [configure, "00 01"], "02 01 0608 0800"),
        ("configuration of nobody", ["00 03 0c04 0100 \(sbc)"], "03 03 00 12"),
        ("configuration without a codec", ["00 03 0404 0100"], "03 03 07 29"),
        ("an unknown category", ["00 03 0404 0100 0900 \(sbc)"], "03 03 09 17"),
        ("a category that is not there", ["00 03 0404 0100 0402 0200 \(sbc)"], "03 03 04 29"),
        ("another codec", ["00 03 0404 0100 0708 0002 8001 0480 0000"], "03 03 07 29"),
        ("two frequencies", ["00 03 0404 0100 0706 0000 3115 0235"], "03 03 07 c3"),
        ("no channel mode", ["00 03 0404 0100 0706 0000 2015 0235"], "03 03 07 c5"),
        ("two block lengths", ["00 03 0404 0100 0706 0000 2135 0235"], "03 03 07 dd"),
        ("no subbands", ["00 03 0404 0100 0706 0000 2111 0235"], "03 03 07 c7"),
        ("two allocation methods", ["00 03 0404 0100 0706 0000 2117 0235"], "03 03 07 c9"),
        ("a bitpool below 2", ["00 03 0404 0100 0706 0000 2115 0135"], "03 03 07 cb"),
        ("a bitpool above 250", ["00 03 0404 0100 0706 0000 2115 02fb"], "03 03 07 cd"),
        ("a bitpool that is too large here", ["00 03 0404 0100 0706 0000 2115 0240"], "03 03 07 ce"),
        ("a frequency that is not there", ["00 03 0804 0100 0706 0000 8115 0235"], "03 03 07 c4"),
        ("a configuration cut short", ["00 03 0404 0100 0706 0000"], "03 03 00 11"),
        ("get configuration", [configure, "10 04 04"], "12 04 0100 \(sbc)"),
        ("get configuration of one not in use", ["10 04 04"], "13 04 14"),
        ("get configuration of nobody", ["10 04 fc"], "13 04 12"),
        ("reconfigure before open", [configure, "10 05 04 \(sbc)"], "13 05 00 31"),
        ("reconfigure", open + ["10 05 04 0706 0000 1115 0220"], "12 05"),
        ("reconfigure, and what there is then", open + ["10 05 04 0706 0000 1115 0220", "20 04 04"], "22 04 0100 0706 0000 1115 0220"),
        ("reconfigure the transport", open + ["10 05 04 0100"], "13 05 01 1a"),
        ("open", open, "12 06"),
        ("open twice", open + ["20 06 04"], "23 06 31"),
        ("open what is not configured", ["10 06 04"], "13 06 31"),
        ("open nobody", ["10 06 0c"], "13 06 12"),
        ("start before open", [configure, "10 07 04"], "13 07 0431"),
        ("start without media", open + ["20 07 04"], "23 07 0431"),
        ("start", open + ["media", "20 07 04"], "22 07"),
        ("start nobody", open + ["media", "20 07 0c"], "23 07 0c12"),
        ("start one that can and one that cannot", open + ["media", "20 07 0408"], "23 07 0831"),
        ("start without SEIDs", ["10 07"], "13 07 00 11"),
        ("suspend what does not stream", open + ["media", "20 09 04"], "23 09 0431"),
        ("suspend", open + ["media", "20 07 04", "30 09 04"], "32 09"),
        ("close", open + ["media", "20 08 04"], "22 08"),
        ("close what is not open", [configure, "20 08 04"], "23 08 31"),
        ("close nobody", ["20 08 0c"], "23 08 12"),
        ("abort", open + ["20 0a 04"], "22 0a"),
        ("abort what is idle", ["20 0a 04"], "22 0a"),
        ("abort nobody: no answer", ["20 0a 0c"], nil),
        ("abort without a SEID: no answer", ["20 0a"], nil),
        ("configure after abort", open + ["20 0a 04", configure], "02 03"),
        ("security", ["10 0b 04 00"], "13 0b 19"),
        ("a delay report to a sink", [configure, "10 0d 04 0064"], "13 0d 31"),
        ("a delay report", ["00 03 0804 0100 \(sbc)", "10 0d 08 0064"], "12 0d"),
        ("signal 0", ["10 00"], "11 00"),
        ("signal 14", ["10 0e 04"], "11 0e"),
        ("signal 63", ["f0 3f"], "f1 3f"),
        ("a response out of the blue", ["12 01 0408"], nil),
    ]

    @Test(arguments: exchanges.indices)
    func acceptorsAnswer(_ index: Int) {
        let (name, packets, wanted) = Self.exchanges[index]
        var session = AVDTPSession(endpoints: [.sbc(seid: 1, isSink: true), .sbc(seid: 2, isSink: false)])
        var answer: [String] = []
        for packet in packets {
            if packet == "media" {
                #expect(session.endpointAwaitingMedia == 1)
                session.mediaOpened(1)
                continue
            }
            answer = session.receive(octets(packet), at: 0).compactMap { if case .send(let octets) = $0 { hex(octets) } else { nil } }
        }
        #expect(answer == (wanted.map { [hex(octets($0))] } ?? []), "\(name)")
    }

    @Test func nothingToDiscover() {
        var session = AVDTPSession(endpoints: [])
        let actions = session.receive([0x00, 0x01], at: 0)
        #expect(actions == [.send([0x03, 0x01, 0x19])])
    }

    // MARK: Both

    /// A source discovers a sink, configures SBC, streams, suspends, reconfigures, streams again and closes, or aborts.
    @Test(arguments: [true, false])
    func aStreamFromBeginningToEnd(_ isClosed: Bool) throws {
        var line = SignallingLine(source: .sbc(seid: 5, isSink: false), sink: .sbc(seid: 9, isSink: true))
        #expect(line.perform(.discover) == .endpoints([.init(seid: 9, isSink: true)]))
        guard case .capabilities(let list) = line.perform(.getAllCapabilities(9)) else { return }
        let capabilities = try #require(list.compactMap(\.sbc).first)
        let setting = try #require(SBCCapabilities.source.setting(with: capabilities))
        #expect(setting == SBCCapabilities([.hz44100, .jointStereo], [.blocks16, .subbands8, .loudness], bitpool: 2...53))
        let configuration: [AVDTPCapability] = [.init(.mediaTransport), .sbc(setting), .init(.delayReporting)]
        #expect(line.perform(.setConfiguration(acceptor: 9, initiator: 5, configuration)) == .accepted)
        #expect(line.perform(.getConfiguration(9)) == .capabilities(configuration))
        #expect(line.perform(.delayReport(5, 1_500), from: 1) == .accepted)
        #expect(line.perform(.open(9)) == .accepted)
        #expect(line.mediaIsOpen)
        #expect(line.perform(.start([9])) == .accepted)
        #expect(line.states == [.streaming, .streaming])
        // The sink may suspend, too.
        #expect(line.perform(.suspend([5]), from: 1) == .accepted)
        #expect(line.states == [.open, .open])
        let other = SBCCapabilities([.hz48000, .mono], [.blocks4, .subbands4, .snr], bitpool: 2...31)
        #expect(line.perform(.reconfigure(9, [.sbc(other)])) == .accepted)
        #expect(line.ends.map { $0.streams.values.first?.configuration.compactMap(\.sbc) } == [[other], [other]])
        #expect(line.perform(.start([9])) == .accepted)
        #expect(line.perform(isClosed ? .close(9) : .abort(9)) == .accepted)
        #expect(!line.mediaIsOpen && line.states.isEmpty)
        #expect(line.ends.allSatisfy { $0.deadline == nil })
        #expect(line.delays == [1_500])
    }

    /// All labels can be in use at the same time; each times out without a response.
    @Test func commandsTimeOut() {
        var session = AVDTPSession(endpoints: [])
        let sent = (0..<20).flatMap { _ in session.send(.discover, at: 7) }
        #expect(sent.count == 16)
        #expect(session.deadline == 7 + AVDTPSession.responseTimeOut)
        let early = session.expire(at: 8)
        #expect(early.isEmpty)
        let late = session.expire(at: 7 + AVDTPSession.responseTimeOut)
        #expect(late == [AVDTPAction](repeating: .answered(.discover, .timedOut), count: 16))
        #expect(session.deadline == nil)
    }

    /// Responses of a faulty acceptor with label 0: to Discover, and to Start of end point 4.
    static let answers: [(AVDTPCommand, String, AVDTPResponse?)] = [
        (.discover, "02 01", .endpoints([])),
        (.discover, "02 01 04", .malformed),
        (.discover, "12 01 0408", nil),
        (.discover, "02 02 0408", nil),
        (.discover, "01 01", .notKnown),
        (.discover, "03 01 19", .rejected(.notSupportedCommand)),
        (.discover, "03 01", .malformed),
        (.getCapabilities(4), "02 02 07 06 00", .malformed),
        (.getCapabilities(4), "02 02 ff00", .capabilities([.init(0xFF)])),
        (.start([4]), "03 07 10 31", .rejected(.badState, about: 4)),
        (.start([4]), "03 07 31", .malformed),
        (.setConfiguration(acceptor: 4, initiator: 1, []), "03 03 07 c4", .rejected(.notSupportedSamplingFrequency, about: 7)),
    ]

    @Test(arguments: answers.indices)
    func answersAreJudged(_ index: Int) {
        let (command, packet, wanted) = Self.answers[index]
        var session = AVDTPSession(endpoints: [.sbc(seid: 1, isSink: false)])
        _ = session.send(command, at: 0)
        let actions = session.receive(octets(packet), at: 0)
        #expect(actions == (wanted.map { [.answered(command, $0)] } ?? []))
    }

    @Test func mediaThatEndsEndsTheStream() {
        var line = SignallingLine(source: .sbc(seid: 1, isSink: false), sink: .sbc(seid: 1, isSink: true))
        _ = line.perform(.setConfiguration(acceptor: 1, initiator: 1, [.init(.mediaTransport), .sbc(SignallingLine.setting)]))
        _ = line.perform(.open(1))
        let gone = line.ends[0].mediaClosed(1)
        #expect(gone == [.changed(seid: 1, .idle)])
        let closed = line.ends[1].channelClosed()
        #expect(closed == [.changed(seid: 1, .idle)])
    }
}

/// A source and a sink, with both channels between them.
private struct SignallingLine {
    static let setting = SBCCapabilities([.hz44100, .jointStereo], [.blocks16, .subbands8, .loudness], bitpool: 2...53)

    var ends: [AVDTPSession]
    var mediaIsOpen = false
    var delays: [UInt16] = []

    init(source: AVDTPEndpoint, sink: AVDTPEndpoint) {
        ends = [AVDTPSession(endpoints: [source], mtu: 48), AVDTPSession(endpoints: [sink], mtu: 48)]
    }

    var states: [AVDTPStream.State] { ends.flatMap { $0.streams.values.map(\.state) } }

    /// - Returns: the response.
    mutating func perform(_ command: AVDTPCommand, from end: Int = 0) -> AVDTPResponse? {
        var mail = ends[end].send(command, at: 0).map { (end, $0) }
        var response: AVDTPResponse?
        while !mail.isEmpty {
            let (from, action) = mail.removeFirst()
            switch action {
            case .send(let octets): mail += ends[1 - from].receive(octets, at: 0).map { (1 - from, $0) }
            case .answered(_, let answer): response = answer
            case .openMedia(let seid):
                mediaIsOpen = true
                ends[from].mediaOpened(seid)
                if let other = ends[1 - from].endpointAwaitingMedia { ends[1 - from].mediaOpened(other) }
            case .closeMedia:
                mediaIsOpen = false
                for index in 0..<2 {
                    for seid in ends[index].streams.keys { mail += ends[index].mediaClosed(seid).map { (index, $0) } }
                }
            case .delay(_, let delay): delays.append(delay)
            case .changed, .reconfigured: break
            }
        }
        return response
    }
}
