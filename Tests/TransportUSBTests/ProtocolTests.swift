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
    private static let connected: [UInt8] = [0x3E, 19, 0x01, 0, 0x40, 0x00, 0] + [UInt8](repeating: 0, count: 14)
    private static let disconnected: [UInt8] = [0x05, 4, 0, 0x40, 0x00, 0x13]
    private static let encryptionChanged: [UInt8] = [0x08, 4, 0, 0x40, 0x00, 1]

    private func event(_ bytes: [UInt8]) -> HCIPacket { HCIPacket(.event, bytes) }
    private func data(_ octet: UInt8, handle: UInt8 = 0x40) -> HCIPacket { HCIPacket(.acl, [handle, 0x20, 1, 0, octet]) }

    // MARK: Order of data and events

    @Test func dataThatOvertakesItsConnectionWaitsForIt() {
        let gate = Held(HandleGate())
        #expect(!gate({ $0.admit(data(1), at: 0) }))
        #expect(!gate({ $0.admit(data(2), at: 3_000) }))
        #expect(gate.value.deadline == 100_000)
        #expect(gate({ $0.note(event: event(Self.connected), at: 7_000) }) == [data(1), data(2)])
        #expect(gate({ $0.admit(data(3), at: 7_001) }))
        #expect(gate.value.statistics == PipeDisorder(held: 2, worstWait: 7_000, dropped: 0))
        #expect(gate.value.deadline == nil)
    }

    @Test func dataWhoseConnectionNeverComesIsCountedAndDropped() {
        let gate = Held(HandleGate())
        #expect(!gate({ $0.admit(data(1), at: 0) }))
        #expect(gate({ $0.expire(at: 99_999) }).isEmpty)
        #expect(gate.value.statistics.dropped == 0)
        #expect(gate({ $0.expire(at: 100_000) }).isEmpty)
        #expect(gate.value.statistics == PipeDisorder(held: 1, worstWait: 0, dropped: 1))
        for octet in 0..<200 { _ = gate({ $0.admit(data(UInt8(octet)), at: 200_000) }) }
        #expect(gate.value.statistics.held == 1 + HandleGate.mostHeld)
    }

    @Test func encryptedDataWaitsForTheChangeAndPassesInTheEndAnyway() {
        let gate = Held(HandleGate())
        _ = gate({ $0.note(event: event(Self.connected), at: 0) })
        gate({ $0.note(command: HCIPacket(.command, [0x19, 0x20, 28, 0x40, 0x00] + [UInt8](repeating: 0, count: 26)), at: 1_000) })
        #expect(!gate({ $0.admit(data(1), at: 2_000) }))
        #expect(gate({ $0.note(event: event(Self.encryptionChanged), at: 4_000) }) == [data(1)])
        gate({ $0.note(command: HCIPacket(.command, [0x1A, 0x20, 18, 0x40, 0x00] + [UInt8](repeating: 0, count: 16)), at: 5_000) })
        #expect(!gate({ $0.admit(data(2), at: 6_000) }))
        #expect(gate({ $0.expire(at: 106_000) }) == [data(2)])
        #expect(gate({ $0.admit(data(3), at: 106_001) }))
    }

    @Test func aHandleEndsWithItsConnectionAndWithAReset() {
        for end in [Self.disconnected, [0x0E, 4, 1, 0x03, 0x0C, 0]] {
            let gate = Held(HandleGate())
            _ = gate({ $0.note(event: event(Self.connected), at: 0) })
            #expect(gate({ $0.admit(data(1), at: 1) }))
            _ = gate({ $0.note(event: event(end), at: 2) })
            #expect(!gate({ $0.admit(data(2), at: 3) }))
        }
    }

    @Test func isochronousDataIsToldByItsHandle() {
        let gate = Held(HandleGate())
        _ = gate({ $0.note(event: event([0x3E, 29, 0x19, 0, 0x60, 0x00] + [UInt8](repeating: 0, count: 25)), at: 0) })
        #expect(gate({ $0.isIsochronous(data(0, handle: 0x60)) }))
        #expect(!gate({ $0.isIsochronous(data(0)) }))
    }

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
