import BBPackets
import BBTransport
import Testing

@testable import BBTransportUSB

/// Allows an expectation to call a mutating method.
private final class Held<Value> {
    private(set) var value: Value
    init(_ value: Value) { self.value = value }
    func callAsFunction<Result>(_ body: (inout Value) -> Result) -> Result { body(&value) }
}

@Suite struct ProtocolTests {
    private static let disconnected: [UInt8] = [0x05, 4, 0, 0x40, 0x00, 0x13]

    private func event(_ bytes: [UInt8]) -> HCIPacket { HCIPacket(.event, bytes) }
    private func data(_ octet: UInt8, handle: UInt8 = 0x40) -> HCIPacket { HCIPacket(.acl, [handle, 0x20, 1, 0, octet]) }

    // MARK: Reassembly

    @Test func packetsComeTogetherFromAnyPieces() {
        let packets = [event([0x0E, 4, 1, 3, 12, 0]), event([0xFF, 0]), event([0x3E, 0x40] + [UInt8](repeating: 7, count: 0x40))]
        let stream = packets.flatMap(\.bytes)
        for size in 1...stream.count {
            var reassembly = PipeReassembly(.event, longest: 257)
            var delivered: [HCIPacket] = []
            for start in stride(from: 0, to: stream.count, by: size) {
                Array(stream[start..<min(start + size, stream.count)]).withUnsafeBytes { reassembly.append($0) { delivered.append($0) } }
                [UInt8]().withUnsafeBytes { reassembly.append($0) { delivered.append($0) } }
            }
            #expect(delivered == packets)
        }
    }

    @Test func afterAnErrorThePipeBeginsAnew() {
        var reassembly = PipeReassembly(.acl, longest: 100)
        var delivered: [HCIPacket] = []
        func feed(_ bytes: [UInt8]) { bytes.withUnsafeBytes { reassembly.append($0) { delivered.append($0) } } }
        feed([0x40, 0x20, 9, 0, 1])
        reassembly.restart()
        feed(data(1).bytes)
        feed([0x40, 0x20, 0xFF, 0xFF])
        feed(data(2).bytes)
        #expect(delivered == [data(1), data(2)])
        #expect(reassembly.discarded == 2)
    }

    struct Pieces: Sendable, CustomStringConvertible {
        var description: String
        var pieces: [[UInt8]]
        /// Lengths of the delivered events (second octet), which identify them.
        var delivered: [[UInt8]]
        var stray = 0
        var joined = 0
    }

    /// Events of 4, 16 and 17 octets.
    private static let small: [UInt8] = [0xFF, 2, 1, 2]
    private static let full: [UInt8] = [0xFF, 14] + [UInt8](repeating: 3, count: 14)
    private static let long: [UInt8] = [0xFF, 15] + [UInt8](repeating: 4, count: 15)

    static let pieces: [Pieces] = [
        Pieces(description: "one each", pieces: [small, full], delivered: [small, full]),
        Pieces(description: "split", pieces: [Array(long.prefix(16)), Array(long.suffix(1))], delivered: [long]),
        Pieces(description: "two in one", pieces: [small + small], delivered: [small, small]),
        Pieces(
            description: "four fill a transfer", pieces: [small + small + small + small.prefix(3) + [2], full],
            delivered: [small, small, small, small, full]),
        Pieces(
            description: "one octet of the next in a full transfer",
            pieces: [[0xFF, 13] + full.suffix(13) + small.prefix(1), Array(small.dropFirst())],
            delivered: [[0xFF, 13] + full.suffix(13), small], joined: 1),
        Pieces(description: "a stray octet", pieces: [small + [0x5A], small], delivered: [small, small], stray: 1),
        Pieces(description: "a stray octet on its own", pieces: [full, [0x5A], small], delivered: [full, small], stray: 1),
        Pieces(description: "an empty packet ends nothing", pieces: [full, [], small], delivered: [full, small]),
    ]

    @Test(arguments: pieces)
    func whatFollowsAShortTransferIsNoBeginning(row: Pieces) {
        var reassembly = PipeReassembly(.event, longest: 257)
        var delivered: [[UInt8]] = []
        for piece in row.pieces {
            piece.withUnsafeBytes { octets in
                reassembly.append(octets, isShort: !octets.count.isMultiple(of: 16)) { delivered.append($0.bytes) }
            }
        }
        #expect(delivered == row.delivered)
        #expect(reassembly.strayOctets == row.stray)
        #expect(reassembly.joined == row.joined)
    }

    // MARK: Debug data

    @Test func whatNoConnectionSentIsNoData() {
        func acl(_ first: UInt16) -> HCIPacket { HCIPacket(.acl, [UInt8(first & 0xFF), UInt8(first >> 8), 1, 0, 7]) }
        let nobody: (ConnectionHandle) -> Bool = { _ in false }
        #expect(DebugData(data: acl(0x2EDC), isOpen: nobody) == .log)
        #expect(DebugData(data: acl(0x2EDD), isOpen: nobody) == .dump)
        #expect(DebugData(data: acl(0x2EDD)) { $0.rawValue == 0x0EDD } == nil)
        #expect(DebugData(data: acl(0x2FF1), isOpen: nobody) == .log)
        #expect(DebugData(data: acl(0x2040), isOpen: nobody) == nil)
        #expect(DebugData(event: event([0xFF, 2, 0x34, 1]), isRealtek: true) == .dump)
        #expect(DebugData(event: event([0xFF, 2, 0x34, 1]), isRealtek: false) == nil)
    }

    // MARK: Start

    @Test func aDongleThatWasResetByLeavingIsNotResetAgain() {
        let ladder = Held(StartupLadder(wasReset: true))
        _ = ladder { $0.start(at: 0) }
        #expect(ladder({ $0.timeOut(at: 1) }) == [.sendReset])
        #expect(ladder.value.question.commandOpcode == HCICommands.ReadLocalVersionInformation.opcode)
        let answer = HCIPacket(complete: HCICommands.ReadLocalVersionInformation.self, .init(companyIdentifier: 10))
        #expect(ladder({ $0.received(answer) }) == .ready(.firstReset))
    }

    @Test func itIsAwaitedSoOftenAndNoMore() {
        var absence = ReconnectState()
        for _ in 0..<ReconnectState.most {
            let isAwaited = absence.left(.portReset, at: 10, within: 20)
            #expect(isAwaited && absence.isAway && !absence.isOver(at: 29) && absence.isOver(at: 30))
            absence.ended(at: 15)
            #expect(absence.longest == 5 && !absence.isAway)
        }
        let isAwaited = absence.left(.portReset, at: 10, within: 20)
        #expect(!isAwaited)
    }

    /// The question that the dongle answers; nil for a dongle that never does.
    @Test(arguments: [StartupStep.firstReset, .secondReset, .portReset, nil])
    func theLadderClimbsOnlyAsFarAsItMust(answers: StartupStep?) {
        let ladder = Held(StartupLadder())
        #expect(ladder({ $0.start(at: 0) }) == .drain)
        #expect(ladder({ $0.received(event(Self.disconnected)) }) == nil)
        var questions = 0
        var isPortReset = false
        var end: StartupLadder.Action?
        while end == nil, let deadline = ladder.value.deadline {
            for action in ladder({ $0.timeOut(at: deadline) }) {
                switch action {
                case .sendReset:
                    questions += 1
                    #expect(ladder({ $0.received(event([0x0F, 4, 0x0C, 1, 3, 12])) }) == nil)
                    if questions - 1 == answers?.rawValue { end = ladder({ $0.received(event([0x0E, 4, 1, 3, 12, 0])) }) }
                case .resetPort: isPortReset = true
                case .fail, .ready: end = action
                case .drain: Issue.record("drained twice")
                }
            }
        }
        #expect(end == answers.map { .ready($0) } ?? .fail)
        #expect(isPortReset == ((answers ?? .portReset) == .portReset))
        #expect(ladder.value.deadline == nil)
        #expect(ladder.value.discarded == 1 + questions)
    }
}
