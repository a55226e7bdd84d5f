import BBPackets
import Testing

@testable import BBDiagnosis

private typealias Packets = [(Double?, HCIPacket, Bool)]
private let (out, back) = (true, false)

/// A command, and its answer.
private func complete(_ opcode: UInt16, _ parameters: [UInt8] = [], _ returns: UInt8...) -> Packets {
    [(nil, .order(opcode, parameters), out), (nil, .told([0x0E, 1, UInt8(opcode & 0xFF), UInt8(opcode >> 8)] + returns), back)]
}
private func status(_ opcode: UInt16, _ parameters: [UInt8], _ status: UInt8) -> Packets {
    [(nil, .order(opcode, parameters), out), (nil, .told([0x0F, status, 1, UInt8(opcode & 0xFF), UInt8(opcode >> 8)]), back)]
}
private let connect = octets(0, 6) + [1, 2, 3, 4, 5, 6] + octets(0, 13)
private let cancelled: Packets =
    complete(0x200E, [], 0) + [(nil, .told([0x3E, 0x01, 2] + octets(0, 17)), back)]

private let dials = [
    TestCourse(
        "an attempt beside an open one", status(0x200D, connect, 0) + status(0x200D, connect, 0x0C) + cancelled, "dial-repeated",
        "connect-disallowed"),
    TestCourse("an attempt after a cancelled one", status(0x200D, connect, 0) + cancelled + status(0x200D, connect, 0) + cancelled),
    TestCourse("an attempt after a refused one", status(0x200D, connect, 0x0C) + status(0x200D, connect, 0) + [(nil, .connected, back)]),
]

/// The parameters of an advertising set, and data of 100 octets for it.
private func set(_ handle: UInt8) -> [UInt8] { [handle] + octets(0, 24) }
private let long = [UInt8](arrayLiteral: 0, 3, 1, 100) + [99, 0xFF] + octets(1, 98)
private let address: [UInt8] = [0, 1, 2, 3, 4, 5, 6]
private let other: [UInt8] = [0, 1, 2, 3, 4, 5, 7]

private let states = [
    TestCourse(
        "parameters while advertising", complete(0x200A, [1], 0) + complete(0x2006, octets(0, 15), 0x0C), "command-against-state-once"),
    TestCourse("parameters after advertising", complete(0x200A, [1], 0) + complete(0x200A, [0], 0) + complete(0x2006, octets(0, 15), 0x0C)),
    TestCourse(
        "a random address while scanning", complete(0x200C, [1, 0], 0) + complete(0x2005, octets(1, 6), 0x0C), "command-against-state-once"),
    TestCourse(
        "an accept list that an attempt to connect uses", status(0x200D, connect, 0) + complete(0x2011, address, 0x0C) + cancelled,
        "command-against-state-once"),
    TestCourse(
        "parameters of a set that is on", complete(0x2039, [1, 1, 5, 0, 0, 0], 0) + complete(0x2036, set(5), 0x0C),
        "command-against-state-once"),
    TestCourse("parameters of another set", complete(0x2039, [1, 1, 5, 0, 0, 0], 0) + complete(0x2036, set(6), 0x0C)),
    TestCourse(
        "data that are too long", complete(0x203A, [], 0, 50, 0) + complete(0x2037, long, 0x07), "parameter-outside-range",
        "command-refused"),
    TestCourse(
        "data that are refused for another reason", complete(0x203A, [], 0, 100, 0) + complete(0x2037, long, 0x07),
        "command-refused"),
    TestCourse("data that are taken", complete(0x203A, [], 0, 100, 0) + complete(0x2037, long, 0)),
    TestCourse(
        "a set too many", complete(0x203B, [], 0, 1) + complete(0x2036, set(0), 0, 0) + complete(0x2036, set(1), 0x07),
        "parameter-outside-range", "command-refused"),
    TestCourse(
        "a device too many", complete(0x200F, [], 0, 1) + complete(0x2011, address, 0) + complete(0x2011, other, 0x07),
        "parameter-outside-range", "command-refused"),
    TestCourse(
        "a device again",
        complete(0x200F, [], 0, 1) + complete(0x2011, address, 0) + complete(0x2012, address, 0) + complete(0x2011, other, 0x07),
        "command-refused"),
]

private let late: (Double?, HCIPacket, Bool) = (90, .told([0x3E, 0x14, 0x40, 0, 1]), back)
/// Three buffers of the controller, and packets to it.
private func sent(_ count: Int) -> Packets {
    complete(0x2002, [], 0, 27, 0, 3) + [(1, .connected, back)]
        + (0..<count).map { _ in (nil, .att(0x52, 3, 0, 1), out) }
}
private let completed: Packets = [(nil, .told([0x13, 1, 0x40, 0, 1, 0]), back)]
/// Flow control to a host with three buffers, and packets to it.
private func received(_ count: Int) -> Packets {
    complete(0x0C33, [251, 0, 0, 3, 0, 0, 0], 0) + complete(0x0C31, [1], 0) + [(1, .connected, back), (nil, .att(0x12, 3, 0, 1, 0), out)]
        + (0..<count).map { _ in (nil, .att(0x1B, 3, 0, 1), back) }
}
private let returned: Packets = [(nil, .order(0x0C35, [1, 0x40, 0, 1, 0]), out)]

private let buffers = [
    TestCourse("buffers of which none is completed", sent(3) + [late, (nil, .left, back)], "credits-exhausted"),
    TestCourse("a capture without completions", sent(5) + [late, (nil, .left, back)]),
    TestCourse("a buffer that is left", sent(2) + [late, (nil, .left, back)]),
    TestCourse("buffers that are completed", sent(3) + completed + completed + completed + [late, (nil, .left, back)]),
    TestCourse("a link that is lost with full buffers", sent(3) + [(5, .told([0x05, 0, 0x40, 0, 0x08]), back)], "supervision-timeout"),
    TestCourse("buffers that the host keeps", received(3) + [late, (nil, .left, back)], "host-buffers-kept", "att-unanswered"),
    TestCourse("a buffer that the host returns", received(3) + returned + [late, (nil, .left, back)], "att-unanswered"),
    TestCourse("a capture without returned buffers", received(5) + [late, (nil, .left, back)], "att-unanswered"),
    TestCourse(
        "no command allowed", [(0, .order(0x200C, [0, 0]), out), (nil, .told([0x0E, 0, 0x0C, 0x20, 0]), back), late], "commands-withheld"),
    TestCourse(
        "no command allowed for a moment",
        [(0, .order(0x200C, [0, 0]), out), (nil, .told([0x0E, 0, 0x0C, 0x20, 0]), back), (nil, .told([0x0E, 1, 0, 0]), back), late]),
]

/// LE_Create_CIS, and the stream with data from the central alone, or in both directions.
private func stream(back octets: UInt8) -> Packets {
    [(0, .connected, back)] + status(0x2064, [1, 0x60, 0, 0x40, 0], 0)
        + [(nil, .told([0x3E, 0x19, 0, 0x60, 0] + [UInt8](repeating: 1, count: 15) + [1, octets, 4, 4, 120, 0, 120, 0, 8, 0]), back)]
}
private func path(_ direction: UInt8, _ status: UInt8) -> Packets {
    complete(0x206E, [0x60, 0, direction] + octets(0, 10), status, 0x60, 0)
}
private func streamEnds(_ reason: UInt8) -> Packets { [(9, .told([0x05, 0, 0x60, 0, reason]), back), (12, .left, back)] }
private let voice: Packets = [
    (0, .paged, back), (1, .told([0x2C, 0, 0x42, 0, 1, 2, 3, 4, 5, 6, 2, 6, 1, 60, 0, 60, 0, 3]), back),
]
private func speech(_ isOut: Bool) -> (Double?, HCIPacket, Bool) { (nil, HCIPacket(.sco, [0x42, 0, 2, 1, 2]), isOut) }

private let streams = [
    TestCourse("a path without data", stream(back: 0) + path(1, 0x0C) + streamEnds(0x16), "stream-path-refused"),
    TestCourse("a path with data", stream(back: 1) + path(1, 0) + streamEnds(0x16)),
    TestCourse("a path twice", stream(back: 1) + path(0, 0) + path(0, 0x0C) + streamEnds(0x16), "stream-path-refused"),
    TestCourse("a MIC failure of a stream", stream(back: 1) + streamEnds(0x3D), "stream-mic-failure"),
    TestCourse("a stream that is lost", stream(back: 1) + streamEnds(0x08), "stream-lost"),
    TestCourse("a stream that the peer ends with an error", stream(back: 1) + streamEnds(0x14), "stream-ended"),
    TestCourse("a stream that the peer ends", stream(back: 1) + streamEnds(0x13)),
    TestCourse("a MIC failure of the connection", [(0, .connected, back), (9, .told([0x05, 0, 0x40, 0, 0x3D]), back)], "mic-failure"),
    TestCourse("voice in one direction", voice + (0..<310).map { _ in speech(out) }, "voice-silent"),
    TestCourse("voice in both directions", voice + [speech(back)] + (0..<310).map { _ in speech(out) }),
]

private let answers = [
    TestCourse(
        "an answer of the wrong kind",
        complete(0x0C03, [], 0) + [(nil, .order(0x0C37, [0x40, 0, 0, 1]), out), (nil, .told([0x0F, 0, 1, 0x37, 0x0C]), back)],
        "controller-rule-broken"),
    TestCourse(
        "an answer of the right kind", complete(0x0C03, [], 0) + complete(0x0C37, [0x40, 0, 0, 1], 0, 0x40, 0)),
    TestCourse("a set that was not made", complete(0x2039, [1, 1, 5, 0, 0, 0], 0x42), "set-unknown"),
    TestCourse("a connection too many", status(0x200D, connect, 0x09), "connection-limit"),
    TestCourse("a connection that is made at last", status(0x200D, connect, 0x09) + [(5, .connected, back)]),
    TestCourse(
        "a packet that is too long",
        complete(0x2002, [], 0, 4, 0, 3) + [(1, .connected, back), (nil, .att(0x52, 3, 0, 1), out), (nil, .left, back)],
        "acl-too-long"),
    TestCourse(
        "a packet as long as the buffers",
        complete(0x2002, [], 0, 8, 0, 3) + [(1, .connected, back), (nil, .att(0x52, 3, 0, 1), out), (nil, .left, back)]),
    TestCourse("a refused command", complete(0x2084, [1, 0, 0, 0, 1, 0], 0x12), "command-refused"),
    TestCourse("a feature that the controller lacks", complete(0x2074, [32, 1], 0x12)),
]

private let decisions = [
    TestCourse(
        "a host that refuses to pair",
        [(0, .paged, back), (1, .told([0x31, 1, 2, 3, 4, 5, 6]), back)] + complete(0x0434, [1, 2, 3, 4, 5, 6, 0x18], 0),
        "pairing-not-allowed"),
    TestCourse("a host that refuses a stream", [(0, .connected, back)] + complete(0x2067, [0x61, 0, 0x0D], 0, 0x61, 0), "stream-rejected"),
    TestCourse("a short key", [(0, .paged, back)] + complete(0x1408, [0x40, 0], 0, 0x40, 0, 5), "encryption-key-short"),
    TestCourse("a whole key", [(0, .paged, back)] + complete(0x1408, [0x40, 0], 0, 0x40, 0, 16)),
]

@Suite struct StateDiagnosisTests {
    @Test(arguments: dials + states + buffers + streams + answers + decisions) func whatAControllerHoldsIsExplained(_ course: TestCourse)
        throws
    {
        let found = try course.findings()
        #expect(found == course.expected)
    }
}
