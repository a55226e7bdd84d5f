import BBPackets
import Testing

@testable import BBDiagnosis

private let (out, back) = (true, false)

/// Courses on one connection of LE.
private func le(_ description: String, _ packets: [(Double?, HCIPacket, Bool)], _ expected: String...) -> TestCourse {
    var course = TestCourse(
        description, [(0, .connected, back), (1, .told([0x3E, 0x07, 0x40, 0, 27, 0, 0x48, 1, 27, 0, 0x48, 1]), back)] + packets)
    course.expected = expected
    return course
}

private let readByType = HCIPacket.att(0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28)
private let prepare = HCIPacket.att(0x16, 9, 0, 0, 0, 1, 2)
private let prepared = HCIPacket.att(0x17, 9, 0, 0, 0, 1, 2)
private let full = HCIPacket.att(0x01, 0x16, 9, 0, 0x09)
/// The first 22 octets of a value, and others.
private let value = (1...22).map { UInt8($0) }
private let rest = (31...52).map { UInt8($0) }
private func read(_ answer: [UInt8]) -> [(Double?, HCIPacket, Bool)] {
    [
        (nil, .att(0x0A, 3, 0), out), (nil, .frame(4, [0x0B] + value), back), (nil, .att(0x0C, 3, 0, 22, 0), out),
        (nil, .frame(4, [0x0D] + answer), back), (9, .left, back),
    ]
}

private let answers = [
    le(
        "an error without a code", [(nil, readByType, out), (nil, .att(0x01, 0x08, 0, 0, 0), back), (9, .left, back)], "answer-invalid",
        "service-refused"),
    le("an error", [(nil, readByType, out), (nil, .att(0x01, 0x08, 1, 0, 0x0A), back), (9, .left, back)]),
    le(
        "a list whose last entry is cut",
        [(nil, readByType, out), (nil, .att(0x09, 7, 2, 0, 2, 3, 0, 0, 0x2A, 4, 0, 2), back), (9, .left, back)], "answer-invalid",
        "pdu-malformed"),
    le(
        "a list of whole entries",
        [(nil, readByType, out), (nil, .att(0x09, 7, 2, 0, 2, 3, 0, 0, 0x2A, 4, 0, 2, 5, 0, 1, 0x2A), back), (9, .left, back)]),
    le(
        "a handle before the range of the request",
        [
            (nil, .att(0x08, 9, 0, 0xFF, 0xFF, 0x03, 0x28), out), (nil, .att(0x09, 7, 2, 0, 2, 3, 0, 0, 0x2A), back), (9, .left, back),
        ], "answer-invalid"),
    le(
        "handles in the wrong order",
        [(nil, .att(0x04, 1, 0, 9, 0), out), (nil, .att(0x05, 1, 3, 0, 2, 0x29, 2, 0, 1, 0x29), back), (9, .left, back)], "answer-invalid"),
    le("a part of a value that ignores the offset", read(value), "offset-ignored"),
    le("the next part of a value", read(rest)),
    le("the end of a value", read([])),
    le(
        "a second answer before that to another request",
        [
            (nil, readByType, out), (nil, .att(0x01, 0x08, 1, 0, 0x0A), back), (nil, .att(0x10, 1, 0, 0xFF, 0xFF, 0, 0x28), out),
            (nil, .att(0x01, 0x08, 1, 0, 0x0A), back), (nil, .att(0x11, 6, 1, 0, 9, 0, 0, 0x18), back), (9, .left, back),
        ], "answer-repeated"),
    le("an answer to another request", [(nil, readByType, out), (nil, .att(0x0B, 1), back), (9, .left, back)], "answer-misfit"),
    le(
        "a queue that the client leaves full",
        [(nil, prepare, out), (nil, full, back), (nil, prepare, out), (nil, full, back), (9, .left, back)], "queue-left", "att-refused"),
    le(
        "a full queue that the client cancels",
        [
            (nil, prepare, out), (nil, prepared, back), (nil, prepare, out), (nil, full, back), (nil, .att(0x18, 0), out),
            (nil, .att(0x19), back), (nil, prepare, out), (nil, prepared, back), (9, .left, back),
        ], "att-refused"),
    le(
        "a queue that the server does not empty",
        [
            (nil, prepare, out), (nil, prepared, back), (nil, .att(0x18, 1), out), (nil, .att(0x01, 0x18, 9, 0, 0x0D), back),
            (nil, prepare, out), (nil, full, back), (9, .left, back),
        ], "queue-kept", "att-refused", "att-refused"),
    le(
        "a changed database of which the client takes no notice",
        [(nil, .att(0x12, 9, 0, 1, 0), out), (nil, .att(0x01, 0x12, 9, 0, 0x12), back), (9, .left, back)], "database-changed", "att-refused"
    ),
    le(
        "a changed database that the client discovers",
        [
            (nil, .att(0x12, 9, 0, 1, 0), out), (nil, .att(0x01, 0x12, 9, 0, 0x12), back), (nil, readByType, out),
            (nil, .att(0x01, 0x08, 1, 0, 0x0A), back), (9, .left, back),
        ], "att-refused"),
    le(
        "a request that is too short", [(nil, .att(0x0A, 3), out), (nil, .att(0x01, 0x0A, 0, 0, 4), back), (9, .left, back)],
        "pdu-malformed", "att-refused"),
    le(
        "a subscription to notifications of a value that is indicated",
        [
            (nil, readByType, out), (nil, .att(0x09, 7, 3, 0, 0x20, 4, 0, 0x37, 0x2A), back), (nil, .att(0x04, 5, 0, 0xFF, 0xFF), out),
            (nil, .att(0x05, 1, 5, 0, 0x02, 0x29), back), (nil, .att(0x12, 5, 0, 1, 0), out), (nil, .att(0x13), back), (9, .left, back),
        ], "use-not-declared"),
    le(
        "an exchange that is refused, and the end at once",
        [(nil, .att(0x02, 0x17, 0), back), (nil, .att(0x01, 0x02, 0, 0, 6), out), (nil, .ended, back)], "ended-after-refusal"),
    le(
        "an exchange that is refused, and the end after another request",
        [
            (nil, .att(0x02, 0x17, 0), back), (nil, .att(0x01, 0x02, 0, 0, 6), out), (nil, .att(0x0A, 3, 0), back),
            (nil, .att(0x0B, 1), out), (nil, .ended, back),
        ]),
    le(
        "a feature that the peer lacks, and the host's end at once",
        [(nil, .told([0x3E, 0x04, 0x1A, 0x40, 0] + octets(0, 8)), back), (nil, .left, back)], "ended-after-refusal"),
    le(
        "a feature that the peer lacks, and another change before the end",
        [
            (nil, .told([0x3E, 0x0C, 0x1A, 0x40, 0, 1, 1]), back), (nil, .told([0x3E, 0x0C, 0, 0x40, 0, 2, 2]), back), (nil, .left, back),
        ]),
    le(
        "a feature that the peer lacks, and the host's command at once",
        [
            (nil, .told([0x3E, 0x04, 0x1A, 0x40, 0] + octets(0, 8)), back), (nil, .att(0x02, 0x17, 0), back),
            (nil, .order(0x0406, [0x40, 0, 0x13]), out), (nil, .left, back),
        ], "ended-after-refusal"),
    le(
        "a feature that the peer lacks, and the peer's end",
        [(nil, .told([0x3E, 0x04, 0x1A, 0x40, 0] + octets(0, 8)), back), (nil, .ended, back)]),
]

private let start: [UInt8] = [20, 0, 4, 0, 0x1B, 9, 0]
private let fragments = [
    le(
        "a part without a start",
        [(nil, .att(0x0A, 3, 0), out), (nil, .part(isFirst: false, [2, 0, 4, 0, 0x0B, 1]), back), (40, .left, back)],
        "continuation-without-start", "att-unanswered"),
    le(
        "a start that is the rest of another PDU",
        [(nil, .part(isFirst: true, [0x1B, 0x12, 0, 0x41, 1]), out), (nil, .att(0x52, 3, 0, 1), out), (9, .left, back)],
        "fragment-impossible", "fragment-abandoned"),
    le(
        "a PDU that is not finished", [(nil, .part(isFirst: true, start), out), (nil, .att(0x52, 3, 0, 1), out), (9, .left, back)],
        "fragment-abandoned"),
    le(
        "a PDU in two parts",
        [
            (nil, .part(isFirst: true, start), out), (nil, .part(isFirst: false, octets(1, 17)), out), (nil, .att(0x52, 3, 0, 1), out),
            (9, .left, back),
        ]),
    le("a PDU that the end cuts off", [(nil, .part(isFirst: true, start), out), (nil, .left, back)]),
]

@Suite struct AnswerDiagnosisTests {
    @Test(arguments: answers + fragments) func answersAndFragmentsAreExplained(_ course: TestCourse) throws {
        let found = try course.findings()
        #expect(found == course.expected)
    }
}
