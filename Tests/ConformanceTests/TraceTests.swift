import BBPackets
import Foundation
import Testing

@testable import BBConformance

struct TraceTests {
    private static func command(_ number: Int) -> HCIPacket {
        HCIPacket(command: number % 2 == 0 ? HCICommands.LEReadPHY(connectionHandle: 1) : HCICommands.LEReadPHY(connectionHandle: 2))
    }

    @Test(arguments: [(10, 0), (160, 0), (161, 1), (480, 320), (481, 321), (5_000, 4_840)])
    func aTrailKeepsTheFirstAndTheLast(_ count: Int, _ omitted: Int) {
        var trail = PacketTrail()
        for number in 1...count {
            trail.add(Self.command(number), .hostToController, .tester, number: number, at: Microseconds(Int64(number)))
        }
        let trace = trail.trace
        #expect(trace.omitted == omitted && trace.packets.count == count - omitted)
        #expect(trace.packets.first?.packet == 1 && trace.packets.last?.packet == count)
        #expect(trace.packets.map(\.packet) == trace.packets.map(\.packet).sorted())
        if omitted > 0 { #expect(trace.packets[trace.gap].packet - trace.packets[trace.gap - 1].packet == omitted + 1) }
        #expect(trace.packets.first?.name == "LE_Read_PHY" && trace.packets.first?.fields == ["Connection_Handle=0x0002"])
    }

    @Test func creditsAreNoRow() {
        var trail = PacketTrail()
        let event = HCIEvents.NumberOfCompletedPackets(handles: [.init(connectionHandle: 0x40, numCompletedPackets: 2)])
        trail.add(HCIPacket(event: event), .controllerToHost, .tester, number: 1, at: .zero)
        #expect(trail.trace.packets.isEmpty)
    }

    /// Letters stand for packets; a capital letter is a command.
    @Test(arguments: [
        ("aaaa", "a4"), ("abababc", "a3 b3 c1"), ("xabcabcabcy", "x1 a3 b3 c3 y1"), ("AAA", "A1 A1 A1"), ("abba", "a1 b2 a1"),
        ("AbAb", "A1 b1 A1 b1"), ("", ""),
    ])
    func roundsAreFolded(_ names: String, _ folded: String) {
        let rows = names.map { name in
            PacketTrace(packet: 1, side: "tester", way: name.isUppercase ? .down : .air, atMilliseconds: 0, name: String(name), fields: [])
        }
        #expect(RepeatedRows.folded(rows).map { "\($0.name)\($0.times)" }.joined(separator: " ") == folded)
    }

    @Test(arguments: [Verdict.fail, .pass]) func aResultComesBackFromItsLine(_ verdict: Verdict) throws {
        var result = CaseResult(id: "phy/a", title: "A", verdict: verdict)
        result.about.purpose = "Why"
        result.about.tags = ["usb"]
        result.packetRange = PacketRange(first: 3, last: 9)
        result.steps = [
            StepRecord(
                part: .steps, depth: 1, position: "a:1:1", step: "wait", beganMilliseconds: 1, endedMilliseconds: 2, outcome: .done,
                times: 3)
        ]
        result.failedStep = FailedStep(
            position: "a:1:1", step: "s", requirement: nil, diff: ExpectationDiff(expected: "1", got: "2", packet: 4))
        var trace = CaseTrace()
        trace.packets = [
            PacketTrace(packet: 4, side: "subject", way: .up, atMilliseconds: 1.5, name: "X", fields: ["Status=Success"], times: 2)
        ]
        (trace.omitted, trace.gap) = (5, 1)
        result.trace = trace
        var again = try JSONDecoder().decode(CaseResult.self, from: JSONEncoder().encode(result))
        if verdict == .pass { (again.trace, result.trace) = (again.trace, nil) }
        #expect(again == result)
    }
}
