import Packets
import Testing
import Transport

@testable import TransportUSB

/// Lets an expectation call what changes a value.
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

    // MARK: Start

    /// At which question the dongle answers; nil for one that never does.
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
                    #expect(ladder({ $0.received(event([0x0F, 4, 0, 1, 3, 12])) }) == nil)
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
