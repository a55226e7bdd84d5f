import BBCapture
import BBPackets
import Testing

@testable import BBDiagnosis

private let (out, back) = (true, false)
/// LE_Set_Scan_Enable, and its answer.
private func scan(_ isOn: UInt8, _ status: UInt8 = 0) -> [(Double?, HCIPacket, Bool)] {
    [(nil, .order(0x200C, [isOn, 0]), out), (nil, .told([0x0E, 1, 0x0C, 0x20, status]), back)]
}
private func scanParameters(_ interval: UInt8, _ window: UInt8, _ status: UInt8) -> [(Double?, HCIPacket, Bool)] {
    [(1, .order(0x200B, [0, interval, 0, window, 0, 0, 0]), out), (nil, .told([0x0E, 1, 0x0B, 0x20, status]), back)]
}
private let connected: (Double?, HCIPacket, Bool) = (2, .connected, back)
/// LE_BIG_Create_Sync with a code, and its result.
private func broadcast(_ status: UInt8) -> [(Double?, HCIPacket, Bool)] {
    [
        (1, .order(0x206B, [1, 0x40, 0, 1] + octets(7, 16) + [0, 10, 0, 1, 1]), out), (nil, .told([0x0F, 0, 1, 0x6B, 0x20]), back),
        (2, .told([0x3E, 0x1D, status, 1] + octets(0, 12) + (status == 0 ? [1, 0x60, 0] : [0])), back),
    ]
}

private let courses = [
    TestCourse(
        "a scan that a connection forbids", scan(1) + scan(0) + [connected] + scan(1, 0x0C) + scan(1, 0x0C), "scan-refused-while-connected"),
    TestCourse("a scan that is refused, and goes on later", scan(1) + scan(0) + [connected] + scan(1, 0x0C) + scan(1) + scan(1, 0x0C)),
    TestCourse(
        "a scan that is refused while the controller connects",
        scan(1) + scan(0) + [connected, (nil, .order(0x200D, octets(0, 25)), out)] + scan(1, 0x0C) + scan(1, 0x0C)),
    TestCourse(
        "data whose last structure is too long",
        [(0, .order(0x2008, [3, 2, 1, 6] + octets(0, 28)), out), (1, .order(0x2008, [5, 2, 1, 6, 9, 9] + octets(0, 26)), out)],
        "advertising-malformed"),
    TestCourse(
        "a random address that is not set",
        [(0, .order(0x0C03), out), (1, .order(0x2006, [0, 1, 0, 1, 0, 1] + octets(0, 7) + [7, 0]), out)]
            + [(nil, .order(0x200A, [1]), out), (nil, .told([0x0E, 1, 0x0A, 0x20, 0x12]), back)], "parameter-outside-range",
        "activity-refused"),
    TestCourse(
        "a random address that is set",
        [(0, .order(0x0C03), out), (1, .order(0x2006, [0, 1, 0, 1, 0, 1] + octets(0, 7) + [7, 0]), out)]
            + [
                (nil, .order(0x2005, octets(0xC1, 6)), out), (nil, .order(0x200A, [1]), out),
                (nil, .told([0x0E, 1, 0x0A, 0x20, 0x12]), back),
            ],
        "activity-refused"),
    TestCourse(
        "an attempt to connect beside another one",
        [(nil, .order(0x200D, octets(0, 25)), out), (nil, .told([0x0F, 0x0C, 1, 0x0D, 0x20]), back)], "connect-disallowed"),
    TestCourse(
        "an attempt to connect that succeeds later",
        [
            (nil, .order(0x200D, octets(0, 25)), out), (nil, .told([0x0F, 0x0C, 1, 0x0D, 0x20]), back), (nil, .connected, back),
            (9, .left, back),
        ]),
    TestCourse("a window longer than the interval", scanParameters(0x10, 0x20, 0x12), "parameter-outside-range", "command-refused"),
    TestCourse("an interval outside its range", scanParameters(0x02, 0x02, 0x12), "parameter-outside-range", "command-refused"),
    TestCourse("an interval that the controller refuses", scanParameters(0x10, 0x10, 0x12), "command-refused"),
    TestCourse("an interval that the controller takes", scanParameters(0x10, 0x10, 0)),
    TestCourse("a broadcast with another code", broadcast(0x3D), "broadcast-code-wrong"),
    TestCourse("a broadcast with its code", broadcast(0)),
    TestCourse(
        "a command that loops back",
        [
            (0, .order(0x0C03), out), (nil, .told([0x0E, 1, 0x03, 0x0C, 0]), back), (1, .order(0x2018), out),
            (nil, .told([0x19, 0x18, 0x20, 0]), back),
        ]
            + [(20, .order(0x0C03), out), (nil, .told([0x0E, 1, 0x03, 0x0C, 0]), back)]),
    TestCourse(
        "a command that is lost",
        [(0, .order(0x0C03), out), (nil, .told([0x0E, 1, 0x03, 0x0C, 0]), back), (1, .order(0x2018), out)]
            + [(20, .order(0x0C03), out), (nil, .told([0x0E, 1, 0x03, 0x0C, 0]), back)], "command-unanswered"),
    TestCourse(
        "a read that a peripheral with latency answers late",
        [(0, .connectedSlowly, back), (1, .att(0x0A, 3, 0), out), (4, .left, back)]),
    TestCourse(
        "a read that it does not answer", [(0, .connectedSlowly, back), (1, .att(0x0A, 3, 0), out), (29, .left, back)], "att-unanswered"),
    TestCourse(
        "the server of a phone, whose database changes while its client goes on",
        [
            (0, .connected, back), (1, .att(0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28), out), (nil, .att(0x09, 7, 2, 0, 2, 3, 0, 0, 0x2A), back),
            (nil, .att(0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28), back), (nil, .att(0x09, 7, 2, 0, 0x20, 3, 0, 0x05, 0x2A), out),
            (nil, .att(0x12, 4, 0, 2, 0), back), (nil, .att(0x13), out), (nil, .att(0x1D, 3, 0, 1, 0, 0xFF, 0xFF), out),
            (nil, .att(0x1E), back), (nil, .att(0x0A, 3, 0), out), (nil, .att(0x0B, 1), back), (9, .left, back),
        ]),
    TestCourse(
        "a channel whose pending result is answered late",
        [
            (0, .paged, back), (1, .frame(1, [2, 1, 4, 0, 0x19, 0, 0x40, 0]), out),
            (nil, .frame(1, [3, 1, 8, 0, 0, 0, 0x40, 0, 1, 0, 1, 0]), back),
            (70, .frame(1, [3, 1, 8, 0, 0, 0, 0x40, 0, 4, 0, 0, 0]), back), (80, .left, back),
        ], "signalling-refused"),
    TestCourse(
        "packets that wait within a long supervision timeout",
        [
            (0, .connectedSlowly, back), (1, .att(0x52, 3, 0, 1), out), (2, .told([0x13, 1, 0x40, 0, 1, 0]), back),
            (3, .att(0x52, 3, 0, 1), out), (nil, .att(0x52, 3, 0, 1), out), (nil, .att(0x52, 3, 0, 1), out),
            (9, .told([0x13, 1, 0x40, 0, 3, 0]), back), (10, .left, back),
        ]),
    TestCourse(
        "packets that the controller does not send",
        [
            (0, .connectedSlowly, back), (1, .att(0x52, 3, 0, 1), out), (2, .told([0x13, 1, 0x40, 0, 1, 0]), back),
            (3, .att(0x52, 3, 0, 1), out), (nil, .att(0x52, 3, 0, 1), out), (nil, .att(0x52, 3, 0, 1), out),
            (60, .att(0x1B, 3, 0, 1), back), (61, .left, back),
        ], "credits-stalled"),
]

/// Events of two adapters, by interface.
private struct Adapters: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var packets: [(interface: Int, packet: HCIPacket, isOut: Bool)]
    var expected: [String]
}

private let mixed = HCIPacket.told([0x0E, 1, 0x0B, 0x20, 0x0C])
private let adapters = [
    Adapters(
        testDescription: "an adapter with extended commands, and one with legacy ones",
        packets: [(0, .order(0x2042, [1, 0, 0, 0, 0, 0]), out), (1, mixed, back)], expected: []),
    Adapters(
        testDescription: "an adapter with both",
        packets: [(0, .order(0x2042, [1, 0, 0, 0, 0, 0]), out), (0, mixed, back)], expected: ["advertising-commands-mixed"]),
]

@Suite struct ControllerDiagnosisTests {
    @Test(arguments: courses) func hostsAndControllersAreExplained(_ course: TestCourse) throws {
        let found = try course.findings()
        #expect(found == course.expected)
    }

    @Test(arguments: adapters) fileprivate func adaptersAreApart(_ adapters: Adapters) throws {
        var examiner = Examiner(rules: try DiagnosisRule.builtIn())
        for (index, (interface, packet, isOut)) in adapters.packets.enumerated() {
            let time = CaptureTime(nanoseconds: CaptureTime.virtualEpoch.nanoseconds + Int64(index) * 1_000_000)
            examiner.examine(
                CaptureRecord(time: time, interface: interface, content: .hci(packet, isOut ? .hostToController : .controllerToHost)))
        }
        #expect(examiner.finish().findings.filter { $0.rule.severity != .note }.map(\.rule.id) == adapters.expected)
    }
}
