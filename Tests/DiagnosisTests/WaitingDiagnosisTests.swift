import BBPackets
import Testing

@testable import BBDiagnosis

private typealias Packets = [(Double?, HCIPacket, Bool)]
private let (out, back) = (true, false)

/// Courses on one connection of LE, with the local device as its central.
private func le(_ description: String, _ packets: Packets, _ expected: String...) -> TestCourse {
    var course = TestCourse(description, [(0, .connected, back)] + packets)
    course.expected = expected
    return course
}

/// A channel of LE with four credits for the local device.
private let channel: Packets = [
    (1, .frame(5, [0x14, 1, 10, 0, 0x81, 0, 0x40, 0, 100, 0, 50, 0, 5, 0]), out),
    (nil, .frame(5, [0x15, 1, 10, 0, 0x41, 0, 100, 0, 50, 0, 4, 0, 0, 0]), back),
]
private func sdu(_ length: UInt8, _ count: Int) -> (Double?, HCIPacket, Bool) { (nil, .frame(0x41, [length, 0] + octets(7, count)), out) }
private func credits(_ low: UInt8, _ high: UInt8) -> (Double?, HCIPacket, Bool) {
    (nil, .frame(5, [0x16, 2, 4, 0, 0x41, 0, low, high]), back)
}
private let note: (Double?, HCIPacket, Bool) = (40, .told([0x3E, 0x14, 0x40, 0, 1]), back)

private let channels = [
    le("a channel whose sender has no credit", channel + [sdu(4, 4), sdu(4, 4), sdu(4, 4), sdu(4, 4), note], "channel-exhausted"),
    le("a channel whose sender has a credit", channel + [sdu(4, 4), sdu(4, 4), sdu(4, 4), note]),
    le("a channel whose credits come back", channel + [sdu(4, 4), sdu(4, 4), sdu(4, 4), sdu(4, 4), credits(1, 0), note]),
    le("no credit", channel + [credits(0, 0), (9, .left, back)], "credits-invalid"),
    le("too many credits", channel + [credits(0xFC, 0xFF), (9, .left, back)], "credits-invalid"),
    le("as many credits as there are", channel + [credits(0xFB, 0xFF), (9, .left, back)]),
    le(
        "an MTU that is too small",
        [
            (1, .frame(5, [0x17, 1, 10, 0, 0x81, 0, 32, 0, 64, 0, 5, 0, 0x40, 0]), out),
            (nil, .frame(5, [0x18, 1, 8, 0, 0, 0, 0, 0, 0, 0, 0x0C, 0]), back), (9, .left, back),
        ], "pdu-malformed", "signalling-refused"),
    TestCourse(
        "a configuration that the peer does not accept",
        [
            (0, .paged, back), (1, .frame(1, [0x04, 1, 8, 0, 0x40, 0, 0, 0, 1, 2, 48, 0]), out),
            (nil, .frame(1, [0x05, 1, 10, 0, 0x40, 0, 0, 0, 1, 0, 1, 2, 100, 0]), back), (9, .left, back),
        ], "configuration-refused"),
    TestCourse(
        "a configuration that the peer accepts at last",
        [
            (0, .paged, back), (1, .frame(1, [0x04, 1, 8, 0, 0x40, 0, 0, 0, 1, 2, 48, 0]), out),
            (nil, .frame(1, [0x05, 1, 10, 0, 0x40, 0, 0, 0, 1, 0, 1, 2, 100, 0]), back),
            (nil, .frame(1, [0x04, 2, 8, 0, 0x40, 0, 0, 0, 1, 2, 100, 0]), out),
            (nil, .frame(1, [0x05, 2, 6, 0, 0x40, 0, 0, 0, 0, 0]), back),
            (9, .left, back),
        ]),
    TestCourse(
        "a channel that remains pending",
        [
            (0, .paged, back), (1, .frame(1, [0x02, 1, 4, 0, 0x19, 0, 0x40, 0]), out),
            (nil, .frame(1, [0x03, 1, 8, 0, 0, 0, 0x40, 0, 1, 0, 2, 0]), back), (60, .left, back),
        ], "request-unanswered"),
    TestCourse(
        "a channel that is refused after it was pending",
        [
            (0, .paged, back), (1, .frame(1, [0x02, 1, 4, 0, 0x19, 0, 0x40, 0]), out),
            (nil, .frame(1, [0x03, 1, 8, 0, 0, 0, 0x40, 0, 1, 0, 2, 0]), back),
            (9, .frame(1, [0x03, 1, 8, 0, 0, 0, 0x40, 0, 2, 0, 0, 0]), back), (60, .left, back),
        ]),
]

private let update: Packets = [
    (1, .frame(5, [0x12, 1, 8, 0, 80, 0, 100, 0, 0, 0, 0xF4, 1]), back), (nil, .frame(5, [0x13, 1, 2, 0, 0, 0]), out),
]
/// The answer to a command of the host, the status of LE_Connection_Update, and its end.
private let updated: Packets = [
    (nil, .order(0x2013, [0x40, 0] + octets(0, 12)), out), (nil, .told([0x0F, 0, 1, 0x13, 0x20]), back),
    (nil, .told([0x3E, 0x03, 0, 0x40, 0, 80, 0, 0, 0, 0xF4, 1]), back),
]
private func ends(_ reason: UInt8) -> (Double?, HCIPacket, Bool) { (50, .told([0x05, 0, 0x40, 0, reason]), back) }

private let reactions = [
    le("a security request without a reaction", [(1, .smp([0x0B, 1]), back), note, ends(0x16)], "security-request-ignored"),
    le("a security request and a pairing", [(1, .smp([0x0B, 1]), back), (2, .smp([0x05, 0x05]), out), note, ends(0x16)]),
    le("a security request at the end", [(1, .smp([0x0B, 1]), back), (2, .left, back)]),
    le(
        "a security request on an encrypted link",
        [(0.5, .encrypted, back), (1, .smp([0x0B, 1]), back), note, ends(0x16)]),
    le("parameters that are accepted and not used", update + [note, ends(0x16)], "accepted-parameters-unused"),
    le("parameters that are accepted and used", update + updated + [note, ends(0x16)]),
    le(
        "an update whose instant has passed",
        [
            (1, .order(0x2013, [0x40, 0] + octets(0, 12)), out), (nil, .told([0x0F, 0, 1, 0x13, 0x20]), back),
            (2, .told([0x05, 0, 0x40, 0, 0x28]), back),
        ],
        "instant-passed-update", "instant-passed"),
    le("an instant of another procedure", updated + [(9, .told([0x05, 0, 0x40, 0, 0x28]), back)], "instant-passed"),
    le(
        "an encryption that is switched off",
        [(1, .encrypted, back), (2, .told([0x08, 0, 0x40, 0, 0]), back), note, ends(0x16)], "encryption-switched-off"),
    le(
        "an encryption that is switched off and on",
        [(1, .encrypted, back), (2, .told([0x08, 0, 0x40, 0, 0]), back), (3, .encrypted, back), note, ends(0x16)]),
]

/// The exchange of MTUs by one end.
private func exchange(isOut: Bool, _ client: UInt8, _ server: UInt8) -> Packets {
    [(nil, .att(0x02, client, 0), isOut), (nil, .att(0x03, server, 0), !isOut)]
}
private let refusal = HCIPacket.att(0x01, 0x12, 9, 0, 0x06)
/// A characteristic with notifications at 8 whose descriptor is 9, and one without a response at 12.
private let database: Packets = [
    (nil, .att(0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28), out),
    (nil, .att(0x09, 7, 7, 0, 0x10, 8, 0, 0x01, 0x2A, 11, 0, 0x08, 12, 0, 0x02, 0x2A), back),
    (nil, .att(0x04, 9, 0, 9, 0), out), (nil, .att(0x05, 1, 9, 0, 0x02, 0x29), back),
]
private let subscribe = HCIPacket.att(0x12, 9, 0, 1, 0)

private let attributes = [
    le("one exchange of MTUs", exchange(isOut: true, 200, 100) + [(9, .left, back)]),
    le("two exchanges with one result", exchange(isOut: true, 200, 100) + exchange(isOut: false, 100, 150) + [(9, .left, back)]),
    le(
        "two exchanges with different results", exchange(isOut: true, 200, 100) + exchange(isOut: false, 150, 200) + [(9, .left, back)],
        "mtu-differs"),
    le(
        "the same exchange twice", exchange(isOut: true, 200, 100) + exchange(isOut: true, 200, 100) + [(9, .left, back)], "mtu-asked-twice"
    ),
    le(
        "an exchange after a refused one",
        [(1, .att(0x02, 200, 0), out), (nil, .att(0x01, 0x02, 0, 0, 0x06), back)] + exchange(isOut: true, 200, 100) + [(9, .left, back)]),
    le(
        "a subscription that is refused", database + [(nil, subscribe, out), (nil, refusal, back), (9, .left, back)], "subscription-refused"
    ),
    le("a subscription that is accepted", database + [(nil, subscribe, out), (nil, .att(0x13), back), (9, .left, back)]),
    le(
        "a subscription that needs security",
        database + [(nil, subscribe, out), (nil, .att(0x01, 0x12, 9, 0, 0x0F), back), (nil, .smp([0x05, 5]), back), (9, .left, back)],
        "att-security"),
    le(
        "a request that is supported and is not",
        [
            (1, .att(0x12, 5, 0, 1), out), (nil, .att(0x13), back), (nil, .att(0x12, 9, 0, 1), out), (nil, refusal, back), (9, .left, back),
        ], "refused-though-supported"),
    le("a request that is not supported", [(1, .att(0x12, 9, 0, 1), out), (nil, refusal, back), (9, .left, back)]),
    le("a command that a value does not offer", database + [(nil, .att(0x52, 12, 0, 1), out), (9, .left, back)], "command-not-declared"),
    le("a command for a value of an unknown declaration", database + [(nil, .att(0x52, 14, 0, 1), out), (9, .left, back)]),
    le(
        "a group that ends before it begins",
        [(1, .att(0x10, 1, 0, 0xFF, 0xFF, 0, 0x28), out), (nil, .att(0x11, 6, 9, 0, 8, 0, 0, 0x18), back), (9, .left, back)],
        "answer-invalid"),
    le(
        "a group of one attribute",
        [(1, .att(0x10, 1, 0, 0xFF, 0xFF, 0, 0x28), out), (nil, .att(0x11, 6, 9, 0, 9, 0, 0, 0x18), back), (9, .left, back)]),
    le(
        "a value before its declaration",
        [(1, .att(0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28), out), (nil, .att(0x09, 7, 9, 0, 2, 9, 0, 0, 0x2A), back), (9, .left, back)],
        "answer-invalid"),
    le(
        "a prepared write that is changed",
        [(1, .att(0x16, 9, 0, 0, 0, 1, 2), out), (nil, .att(0x17, 9, 0, 0, 0, 1, 3), back), (9, .left, back)], "answer-invalid"),
]

private func confirms(_ count: Int) -> Packets {
    [(1, .smp([0x01, 2, 0, 0x0D, 16, 0, 0]), out), (nil, .smp([0x02, 0, 0, 0x0D, 16, 0, 0]), back)]
        + (0..<count).flatMap { index -> Packets in
            let value = (0..<15).map { UInt8($0 + index) }
            return [(nil, .smp([0x03, 1] + value), out), (nil, .smp([0x03, 2] + value), back)]
                + [(nil, .smp([0x04, 3] + value), out), (nil, .smp([0x04, 4] + value), back)]
        } + [(nil, .smp([0x05, 0x08]), back), (9, .left, back)]
}

private let rounds = [
    le("a pairing with one round too many", confirms(21), "passkey-rounds", "pairing-failed"),
    le("a pairing with twenty rounds", confirms(20), "pairing-failed"),
]

@Suite struct WaitingDiagnosisTests {
    @Test(arguments: channels + reactions + attributes + rounds) func whatNeverComesIsFound(_ course: TestCourse) throws {
        let found = try course.findings()
        #expect(found == course.expected)
    }
}
