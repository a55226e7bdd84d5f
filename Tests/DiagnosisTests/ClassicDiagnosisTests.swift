import BBCapture
import BBL2CAP
import BBPackets
import Testing

@testable import BBDiagnosis

/// PDUs on the channels 0x0040 and 0x0041 of one BR/EDR link, by their PSM, and the rules that match.
private struct ClassicCourse: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var psm: UInt8
    var pdus: [(isOut: Bool, octets: [UInt8])]
    var expected: [String]
    /// The seconds until the end of the link.
    var wait: Int64

    init(_ description: String, _ psm: UInt8, _ pdus: [(isOut: Bool, octets: [UInt8])], _ expected: String..., wait: Int64 = 9) {
        (testDescription, self.psm, self.pdus, self.expected, self.wait) = (description, psm, pdus, expected, wait)
    }
}

private func serial(_ address: UInt8, _ control: UInt8, _ information: [UInt8] = [], credits: UInt8? = nil) -> [UInt8] {
    RFCOMMFrameView.bytes(address: address, control: control, credits: credits, information: information)
}

private func text(_ text: String) -> [UInt8] { Array(text.utf8) }

/// A parameter negotiation of DLCI 2 with two credits to each end.
private let negotiation = [
    (true, serial(0x03, 0xEF, [0x83, 0x11, 2, 0xF0, 0, 0, 100, 0, 0, 2])),
    (false, serial(0x01, 0xEF, [0x81, 0x11, 2, 0xE0, 0, 0, 100, 0, 0, 2])),
]
private let data = (true, serial(0x0B, 0xEF, text("data")))

/// A configuration of SBC for SEID 1 by SEID 2: frequency and channel mode, blocks, subbands and allocation, after what these offer.
private func configured(_ first: UInt8, _ second: UInt8, transport: [UInt8] = [], sink: UInt8 = 0) -> [(isOut: Bool, octets: [UInt8])] {
    [
        (true, [0x00, 0x01]), (false, [0x02, 0x01, 0x04, 0x08]), (false, [0x10, 0x01]), (true, [0x12, 0x01, 0x08, sink]),
        (true, [0x20, 0x02, 0x04]), (false, [0x22, 0x02, 1, 0, 7, 6, 0, 0, 0x3F, 0xFF, 2, 53]),
        (true, [0x30, 0x03, 0x04, 0x08, 1, UInt8(transport.count)] + transport + [7, 6, 0, 0, first, second, 2, 53]),
        (false, [0x32, 0x03]),
    ]
}
/// A command of AV/C to set the volume, and a response.
private func volume(_ kind: UInt8, _ response: UInt8) -> [(isOut: Bool, octets: [UInt8])] {
    [
        (true, [0x00, 0x11, 0x0E, kind, 0x48, 0, 0, 0x19, 0x58, 0x50, 0, 0, 1, 0x40]),
        (false, [0x02, 0x11, 0x0E, response, 0x48, 0, 0, 0x19, 0x58, 0x50, 0, 0, 1, 0x40]),
    ]
}

private let open = [(true, serial(0x0B, 0x3F)), (false, serial(0x0B, 0x73))]

/// Channels on which something never comes until the link ends, and their healthy neighbours.
private let waiting = [
    ClassicCourse("a serial port that is not opened", 0x03, [(true, serial(0x0B, 0x3F))], "request-unanswered", wait: 30),
    ClassicCourse("a serial port that is open", 0x03, open, wait: 30),
    ClassicCourse(
        "an AT command without a result", 0x03, open + [(true, serial(0x0B, 0xEF, text("AT+BRSF=1\r")))], "request-unanswered", wait: 30),
    ClassicCourse(
        "an AT command with its result in two parts", 0x03,
        open + [
            (true, serial(0x0B, 0xEF, text("AT+BRSF=1\r"))), (false, serial(0x09, 0xEF, text("\r\nO"))),
            (false, serial(0x09, 0xEF, text("K\r"))),
        ],
        wait: 30),
    ClassicCourse("a port without credits", 0x03, negotiation + open + [data, data], "channel-exhausted", wait: 30),
    ClassicCourse("a port with one credit left", 0x03, negotiation + open + [data], wait: 30),
    ClassicCourse(
        "a port whose credits come back", 0x03, negotiation + open + [data, data, (false, serial(0x09, 0xFF, credits: 2))], wait: 30),
    ClassicCourse("a port without credits for a short time", 0x03, negotiation + open + [data, data], wait: 12),
    ClassicCourse("a command of AV/C without a response", 0x17, [volume(0, 9)[0]], "request-unanswered", wait: 30),
    ClassicCourse("a command of AV/C with an interim response", 0x17, volume(3, 0xF), wait: 30),
    ClassicCourse("a report that a device refuses", 0x11, [(true, [0x43, 5]), (false, [0x02])], "service-refused"),
    ClassicCourse("a report", 0x11, [(true, [0x43, 5]), (false, [0xA3, 5, 1])], wait: 30),
    ClassicCourse("a protocol that a device accepts", 0x11, [(true, [0x71]), (false, [0x00])], wait: 30),
    ClassicCourse("a protocol that a device does not know", 0x11, [(true, [0x71]), (false, [0x03])], wait: 30),
    ClassicCourse("a report that does not come", 0x11, [(true, [0x43, 5])], "request-unanswered", wait: 30),
    ClassicCourse("the same octets on another channel", 0x13, [(true, [0x43, 5]), (false, [0x02])], wait: 30),
    ClassicCourse("a virtual cable that is unplugged", 0x11, [(true, [0x15])]),
]

private let courses = [
    ClassicCourse("a configuration of one value each", 0x19, configured(0x21, 0x15)),
    ClassicCourse("a configuration with two frequencies", 0x19, configured(0x31, 0x15), "stream-misconfigured"),
    ClassicCourse("a configuration without a block length", 0x19, configured(0x21, 0x05), "stream-misconfigured"),
    ClassicCourse("a configuration that is not offered", 0x19, configured(0x41, 0x15), "stream-misconfigured"),
    ClassicCourse("a configuration with a long transport", 0x19, configured(0x21, 0x15, transport: [0]), "stream-misconfigured"),
    ClassicCourse("a source with a source", 0x19, configured(0x21, 0x15, sink: 8), "stream-misconfigured"),
    ClassicCourse("a command to which AV/C says that it is done", 0x17, volume(0, 9)),
    ClassicCourse("a command that is answered like a question", 0x17, volume(0, 0xC), "control-misfit"),
    ClassicCourse("a question", 0x17, volume(1, 0xC)),
    ClassicCourse(
        "a command that AVRCP rejects", 0x17,
        [
            (true, [0x00, 0x11, 0x0E, 0x01, 0x48, 0, 0, 0x19, 0x58, 0x50, 0, 0, 1, 0x40]),
            (false, [0x02, 0x11, 0x0E, 0x0A, 0x48, 0, 0, 0x19, 0x58, 0x50, 0, 0, 1, 1]),
        ], "control-rejected"),
    ClassicCourse("a stream that is refused", 0x19, [(true, [0x10, 0x03, 4, 4]), (false, [0x13, 0x03, 0, 0x13])], "stream-refused"),
    ClassicCourse("a signal of AVDTP without a response", 0x19, [(true, [0x10, 0x01])], "request-unanswered"),
    ClassicCourse(
        "an error of service discovery", 0x01, [(true, [0x02, 0, 1, 0, 5, 0x35, 0, 0, 1, 0]), (false, [0x01, 0, 1, 0, 2, 0, 3])],
        "service-refused"),
    ClassicCourse("a serial port that is refused", 0x03, [(true, serial(0x0B, 0x3F)), (false, serial(0x0B, 0x1F))], "service-refused"),
    ClassicCourse(
        "an AT command that is refused", 0x03,
        [(true, serial(0x0B, 0xEF, text("AT+BCS=2\r"))), (false, serial(0x09, 0xEF, text("\r\nERROR\r\n")))], "service-refused"),
    ClassicCourse(
        "an AT command that succeeds", 0x03,
        [(true, serial(0x0B, 0xEF, text("AT+BCS=2\r"))), (false, serial(0x09, 0xEF, text("\r\nOK\r\n")))]),
    ClassicCourse("serial data within the credits", 0x03, negotiation + [data, data]),
    ClassicCourse("serial data without a credit", 0x03, negotiation + [data, data, data], "sent-without-credit"),
    ClassicCourse(
        "serial data with new credits", 0x03, negotiation + [data, data, (false, serial(0x09, 0xFF, credits: 1)), data]),
]

private let (out, back) = (true, false)
/// The request for a channel of this PSM, what becomes of it, and the end of the link.
private func channel(_ psm: UInt8, _ result: UInt8, _ packets: [(Double?, HCIPacket, Bool)], _ end: Double = 30) -> [(
    Double?, HCIPacket, Bool
)] {
    [
        (nil, .frame(1, [2, 9, 4, 0, psm, 0, 0x48, 0]), out), (nil, .frame(1, [3, 9, 8, 0, 0x49, 0, 0x48, 0, result, 0, 0, 0]), back),
    ] + packets + [(end, .left, back)]
}
/// A record of the peer that offers AVDTP, on the channels 0x0050 and 0x0051.
private let record: [(Double?, HCIPacket, Bool)] = [
    (0, .paged, back), (1, .frame(1, [2, 1, 4, 0, 1, 0, 0x50, 0]), out),
    (nil, .frame(1, [3, 1, 8, 0, 0x51, 0, 0x50, 0, 0, 0, 0, 0]), back),
    (nil, .frame(0x51, [0x06, 0, 1, 0, 15, 0x35, 3, 0x19, 0x11, 0x0B, 4, 0, 0x35, 5, 0x0A, 0, 0, 0xFF, 0xFF, 0]), out),
    (
        nil,
        .frame(
            0x50,
            [0x07, 0, 1, 0, 18, 0, 15, 0x35, 13, 0x35, 11, 9, 0, 4, 0x35, 6, 0x19, 1, 0, 9, 0, 0x19, 0]), back
    ),
]
/// The configuration of that channel by both ends, in enhanced retransmission mode; a host that asks for no check sequence.
private func retransmission(peerAsksNoCheck: Bool) -> [(Double?, HCIPacket, Bool)] {
    let mode: [UInt8] = [4, 9, 3, 8, 3, 0x30, 0, 0x30, 0, 0x64, 0]
    return [
        (nil, .frame(1, [4, 2, 18, 0, 0x49, 0, 0, 0] + mode + [5, 1, 0]), out),
        (nil, .frame(1, [5, 2, 6, 0, 0x48, 0, 0, 0, 0, 0]), back),
        (nil, .frame(1, [4, 3, 18, 0, 0x48, 0, 0, 0] + mode + [5, 1, peerAsksNoCheck ? 0 : 1]), back),
        (nil, .frame(1, [5, 3, 6, 0, 0x49, 0, 0, 0, 0, 0]), out),
    ]
}
private let frame: [UInt8] = [0, 0, 1, 2, 3]
private func check() -> [UInt8] {
    let value = L2CAPFrameCheckSequence.of(frame, on: 0x48)
    return [UInt8(truncatingIfNeeded: value), UInt8(value >> 8)]
}
private let offered = [
    TestCourse("a channel that is refused although a record offers it", record + channel(0x19, 2, []), "offer-refused"),
    TestCourse("a channel that is refused and not offered", record + channel(0x17, 2, [])),
    TestCourse(
        "a channel that one end does not configure",
        [(0, .paged, back)]
            + channel(
                0x19, 0, [(nil, .frame(1, [4, 2, 4, 0, 0x49, 0, 0, 0]), out), (nil, .frame(1, [5, 2, 6, 0, 0x48, 0, 0, 0, 0, 0]), back)]),
        "channel-unconfigured"),
    TestCourse("a channel that both ends configure", [(0, .paged, back)] + channel(0x19, 0, retransmission(peerAsksNoCheck: true))),
    TestCourse(
        "a frame without a check sequence",
        [(0, .paged, back)] + channel(0x81, 0, retransmission(peerAsksNoCheck: false) + [(nil, .frame(0x48, frame), back)]),
        "check-sequence-wrong"),
    TestCourse(
        "a frame with its check sequence",
        [(0, .paged, back)] + channel(0x81, 0, retransmission(peerAsksNoCheck: false) + [(nil, .frame(0x48, frame + check()), back)])),
    TestCourse(
        "a frame that needs no check sequence",
        [(0, .paged, back)] + channel(0x81, 0, retransmission(peerAsksNoCheck: true) + [(nil, .frame(0x48, frame), back)])),
]

@Suite struct ClassicDiagnosisTests {
    @Test(arguments: offered) func channelsAreExplained(_ course: TestCourse) throws {
        let found = try course.findings()
        #expect(found == course.expected)
    }

    @Test(arguments: courses + waiting) fileprivate func refusalsOnChannelsAreFound(_ course: ClassicCourse) throws {
        var examiner = Examiner(rules: try DiagnosisRule.builtIn())
        var seconds: Int64 = 0
        func examine(_ packet: HCIPacket, isOut: Bool, after wait: Int64 = 1) {
            seconds += wait
            let time = CaptureTime(nanoseconds: CaptureTime.virtualEpoch.nanoseconds + seconds * 1_000_000_000)
            examiner.examine(CaptureRecord(time: time, content: .hci(packet, isOut ? .hostToController : .controllerToHost)))
        }
        func frame(_ channel: UInt8, _ octets: [UInt8]) -> HCIPacket {
            let count = UInt8(octets.count)
            return HCIPacket(.acl, [0x40, 0x20, count + 4, 0, count, 0, channel, 0] + octets)
        }
        examine(HCIPacket(.event, [0x03, 11, 0, 0x40, 0, 1, 2, 3, 4, 5, 6, 1, 0]), isOut: false)
        examine(frame(1, [0x02, 1, 4, 0, course.psm, 0, 0x40, 0]), isOut: true)
        examine(frame(1, [0x03, 1, 8, 0, 0x41, 0, 0x40, 0, 0, 0, 0, 0]), isOut: false)
        for (isOut, octets) in course.pdus { examine(frame(isOut ? 0x41 : 0x40, octets), isOut: isOut) }
        examine(HCIPacket(.event, [0x05, 4, 0, 0x40, 0, 0x16]), isOut: false, after: course.wait)
        #expect(examiner.finish().findings.filter { $0.rule.severity != .note }.map(\.rule.id) == course.expected)
    }
}
