import BBCapture
import BBPackets
import Testing

@testable import BBDiagnosis

/// PDUs on the channels 0x0040 and 0x0041 of one BR/EDR link, by their PSM, and the rules that match.
private struct ClassicCourse: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var psm: UInt8
    var pdus: [(isOut: Bool, octets: [UInt8])]
    var expected: [String]

    init(_ description: String, _ psm: UInt8, _ pdus: [(isOut: Bool, octets: [UInt8])], _ expected: String...) {
        (testDescription, self.psm, self.pdus, self.expected) = (description, psm, pdus, expected)
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

private let courses = [
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

@Suite struct ClassicDiagnosisTests {
    @Test(arguments: courses) fileprivate func refusalsOnChannelsAreFound(_ course: ClassicCourse) throws {
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
        examine(HCIPacket(.event, [0x05, 4, 0, 0x40, 0, 0x16]), isOut: false, after: 9)
        #expect(examiner.finish().findings.filter { $0.rule.severity != .note }.map(\.rule.id) == course.expected)
    }
}
