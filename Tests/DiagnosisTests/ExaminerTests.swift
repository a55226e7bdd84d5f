import BBCapture
import BBPackets
import BBTraffic
import Testing

@testable import BBDiagnosis

/// HCI traffic of one connection, handle 0x0040, by seconds.
private struct Course: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var packets: [(Double, HCIPacket, CaptureDirection)]
    var expected: [String]

    init(_ description: String, _ packets: [(Double, HCIPacket, CaptureDirection)], _ expected: String...) {
        testDescription = description
        self.packets = [(0, connected, .controllerToHost)] + packets
        self.expected = expected
    }
}

private func event(_ octets: [UInt8]) -> HCIPacket { HCIPacket(.event, [octets[0], UInt8(octets.count - 1)] + octets.dropFirst()) }

private let connected = event([0x3E, 0x01, 0x00, 0x40, 0x00, 0x00, 0x00, 1, 2, 3, 4, 5, 6, 0x18, 0x00, 0x00, 0x00, 0xF4, 0x01, 0x00])
private let setPHY = HCIPacket(.command, [0x32, 0x20, 0x07, 0x40, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00])
private let phyTold = event([0x3E, 0x0C, 0x00, 0x40, 0x00, 0x02, 0x02])
private let advertised = event([0x3E, 0x02, 0x01, 0x00, 0x00, 1, 2, 3, 4, 5, 6, 0x00, 0xC0])
private let ended = event([0x05, 0x00, 0x40, 0x00, 0x13])
private let lost = event([0x05, 0x00, 0x40, 0x00, 0x08])
private let completed = event([0x13, 0x01, 0x40, 0x00, 0x01, 0x00])
private let reset = event([0x0E, 0x01, 0x03, 0x0C, 0x00])
private func status(_ code: UInt8) -> HCIPacket { event([0x0F, code, 0x01, 0x32, 0x20]) }
private func att(_ octets: [UInt8]) -> HCIPacket {
    let count = UInt8(octets.count)
    return HCIPacket(.acl, [0x40, 0x20, count + 4, 0x00, count, 0x00, 0x04, 0x00] + octets)
}
private let read = att([0x0A, 0x03, 0x00])
private let value = att([0x0B, 0x55])
private func frame(_ channel: UInt8, _ octets: [UInt8]) -> HCIPacket {
    let count = UInt8(octets.count)
    return HCIPacket(.acl, [0x40, 0x20, count + 4, 0x00, count, 0x00, channel, 0x00] + octets)
}
private func signal(_ octets: [UInt8]) -> HCIPacket { frame(5, octets) }
private let left = event([0x05, 0x00, 0x40, 0x00, 0x16])
private let disconnect = HCIPacket(.command, [0x06, 0x04, 0x03, 0x40, 0x00, 0x13])
private let mtuAsked = att([0x02, 0x17, 0x00])
private let subscribed = att([0x12, 0x05, 0x00, 0x01, 0x00])
private func updated(_ interval: UInt8) -> HCIPacket { event([0x3E, 0x03, 0x00, 0x40, 0x00, interval, 0, 0, 0, 0xF4, 0x01]) }
/// Connection_Complete of a BR/EDR device, and events of its pairing.
private func paged(_ status: UInt8) -> HCIPacket { event([0x03, status, 0x41, 0, 1, 2, 3, 4, 5, 6, 1, 0]) }
private let asked = event([0x33, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0])
private let paired = event([0x36, 0, 1, 2, 3, 4, 5, 6])
/// The discovery of a value, 4, with the properties write without response and indicate, and of its configuration, 5.
private let declared: [(Double, HCIPacket, CaptureDirection)] = [
    (1, att([0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28]), .hostToController),
    (1.1, att([0x09, 7, 3, 0, 0x24, 4, 0, 0x37, 0x2A]), .controllerToHost),
    (1.2, att([0x04, 5, 0, 0xFF, 0xFF]), .hostToController), (1.3, att([0x05, 1, 5, 0, 0x02, 0x29]), .controllerToHost),
]
/// A channel of MTU 100, MPS 50 and one credit to the peer, whose end is 0x0041.
private let channel: [(Double, HCIPacket, CaptureDirection)] = [
    (1, signal([0x14, 1, 10, 0, 0x80, 0, 0x40, 0, 100, 0, 50, 0, 1, 0]), .hostToController),
    (1.1, signal([0x15, 1, 10, 0, 0x41, 0, 100, 0, 50, 0, 1, 0, 0, 0]), .controllerToHost),
]
/// A key of these octets, and its names.
private func bond(_ octet: UInt8) -> [(Double, HCIPacket, CaptureDirection)] {
    [
        (1, frame(6, [0x06] + [UInt8](repeating: octet, count: 16)), .hostToController),
        (1.1, frame(6, [0x07] + [UInt8](repeating: octet, count: 10)), .hostToController),
    ]
}
private let notification = att([0x1B, 0x04, 0x00, 0x50])
private let log = HCIPacket(.acl, [0xDC, 0x2E, 0x06, 0x00, 0x02, 0x00, 0xFF, 0x00, 0x12, 0x34])

private let courses = [
    Course(
        "a PHY update that nobody completes",
        [(1, setPHY, .hostToController), (1.1, status(0), .controllerToHost), (9, ended, .controllerToHost)], "procedure-unanswered"),
    Course(
        "a PHY update that is completed",
        [
            (1, setPHY, .hostToController), (1.1, status(0), .controllerToHost), (1.2, phyTold, .controllerToHost),
            (9, ended, .controllerToHost),
        ]),
    Course(
        "a PHY update that is refused",
        [(1, setPHY, .hostToController), (1.1, status(0x0C), .controllerToHost), (9, ended, .controllerToHost)]),
    Course("a read without a response", [(1, read, .hostToController), (9, ended, .controllerToHost)], "att-unanswered"),
    Course("a read that is answered", [(1, read, .hostToController), (1.1, value, .controllerToHost), (9, ended, .controllerToHost)]),
    Course(
        "a value without a subscription, after discovery",
        [
            (1, att([0x10, 1, 0, 0xFF, 0xFF, 0, 0x28]), .hostToController), (1.1, att([0x01, 0x10, 1, 0, 0x0A]), .controllerToHost),
            (1.2, notification, .controllerToHost), (2, ended, .controllerToHost),
        ], "value-unsubscribed"),
    Course("a value that may have a subscription", [(1, notification, .controllerToHost), (2, ended, .controllerToHost)]),
    Course(
        "a value after a subscription",
        [
            (1, att([0x12, 0x05, 0x00, 0x01, 0x00]), .hostToController), (1.1, att([0x13]), .controllerToHost),
            (1.2, notification, .controllerToHost), (2, ended, .controllerToHost),
        ]),
    Course("a read shortly before the peer leaves", [(1, read, .hostToController), (1.5, ended, .controllerToHost)], "att-open-at-end"),
    Course("a read shortly before the host leaves", [(1, read, .hostToController), (1.5, left, .controllerToHost)]),
    Course(
        "two requests at once",
        [
            (1, read, .hostToController), (1.1, mtuAsked, .hostToController), (1.2, value, .controllerToHost),
            (1.3, left, .controllerToHost),
        ],
        "att-at-once"),
    Course(
        "a value longer than the MTU",
        [
            (1, subscribed, .hostToController), (1.1, att([0x13]), .controllerToHost),
            (1.2, att([0x1B, 4, 0] + [UInt8](repeating: 1, count: 21)), .controllerToHost), (2, ended, .controllerToHost),
        ], "att-too-long"),
    Course(
        "handles from another time",
        [(1, read, .hostToController), (1.1, att([0x01, 0x0A, 3, 0, 0x01]), .controllerToHost), (2, ended, .controllerToHost)],
        "stale-handle", "att-application-error"),
    Course(
        "a handle that discovery did not find",
        [
            (1, att([0x04, 1, 0, 0xFF, 0xFF]), .hostToController), (1.1, att([0x01, 0x04, 1, 0, 0x0A]), .controllerToHost),
            (1.2, read, .hostToController), (1.3, att([0x01, 0x0A, 3, 0, 0x01]), .controllerToHost), (2, ended, .controllerToHost),
        ], "att-application-error"),
    Course(
        "a Service Changed indication that the client ignores",
        [
            (1, att([0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28]), .hostToController),
            (1.1, att([0x09, 7, 2, 0, 0x20, 3, 0, 0x05, 0x2A]), .controllerToHost),
            (1.2, att([0x12, 4, 0, 2, 0]), .hostToController), (1.3, att([0x13]), .controllerToHost),
            (2, att([0x1D, 3, 0, 1, 0, 0xFF, 0xFF]), .controllerToHost), (2.1, att([0x1E]), .hostToController),
            (3, read, .hostToController), (3.1, value, .controllerToHost), (4, ended, .controllerToHost),
        ], "service-change-ignored"),
    Course("a page without an answer", [(1, paged(0x04), .controllerToHost)], "page-timeout"),
    Course("a pairing that fails", [(1, frame(6, [0x05, 0x04]), .controllerToHost), (4, ended, .controllerToHost)], "pairing-failed"),
    Course(
        "a pairing that fails before another one",
        [
            (1, frame(6, [0x05, 0x04]), .controllerToHost), (3, event([0x08, 0, 0x40, 0, 1]), .controllerToHost),
            (4, ended, .controllerToHost),
        ]),
    Course(
        "a question that the host leaves open", [(1, asked, .controllerToHost), (40, notification, .controllerToHost)], "host-unanswered"),
    Course(
        "a question that the end of the pairing settles",
        [(1, asked, .controllerToHost), (2, paired, .controllerToHost), (40, notification, .controllerToHost)]),
    Course(
        "a write that the declaration does not offer",
        declared + [
            (2, att([0x12, 4, 0, 9]), .hostToController), (2.1, att([0x01, 0x12, 4, 0, 0x03]), .controllerToHost),
            (4, ended, .controllerToHost),
        ], "use-not-declared", "att-refused"),
    Course(
        "a notification where indications are configured",
        declared + [
            (2, att([0x12, 5, 0, 2, 0]), .hostToController), (2.1, att([0x13]), .controllerToHost), (3, notification, .controllerToHost),
            (4, ended, .controllerToHost),
        ], "other-value-kind"),
    Course(
        "a notification where both kinds are configured",
        declared + [
            (2, att([0x12, 5, 0, 3, 0]), .hostToController), (2.1, att([0x13]), .controllerToHost), (3, notification, .controllerToHost),
            (4, ended, .controllerToHost),
        ]),
    Course(
        "data of a connection that has ended", [(1, left, .controllerToHost), (1.5, notification, .controllerToHost)], "data-after-end"),
    Course("data just after the end", [(1, left, .controllerToHost), (1.01, notification, .controllerToHost)]),
    Course(
        "a command for a connection whose end is missing",
        [(1, disconnect, .hostToController), (1.1, event([0x0F, 0x02, 1, 0x06, 0x04]), .controllerToHost), (9, value, .controllerToHost)],
        "end-missed", "att-unrequested"),
    Course(
        "a command that meets the end",
        [
            (1, disconnect, .hostToController), (1.1, event([0x0F, 0x02, 1, 0x06, 0x04]), .controllerToHost),
            (1.2, ended, .controllerToHost),
        ]),
    Course(
        "encryption that does not start",
        [(1, event([0x08, 0, 0x40, 0, 0]), .controllerToHost), (2, left, .controllerToHost)], "encryption-not-started"),
    Course(
        "encryption that is switched off",
        [
            (1, event([0x08, 0, 0x40, 0, 1]), .controllerToHost), (2, event([0x08, 0, 0x40, 0, 0]), .controllerToHost),
            (3, left, .controllerToHost),
        ]),
    Course(
        "a stream that fails",
        [(1, event([0x3E, 0x19, 0x3E, 0x60, 0] + [UInt8](repeating: 0, count: 25)), .controllerToHost), (2, left, .controllerToHost)],
        "event-error"),
    Course(
        "a feature that the peer lacks",
        [(1, event([0x3E, 0x0C, 0x1A, 0x40, 0, 1, 1]), .controllerToHost), (2, left, .controllerToHost)]),
    Course(
        "a command with wrong parameters, once",
        [(1, event([0x0E, 1, 0x41, 0x20, 0x12]), .controllerToHost), (2, left, .controllerToHost)], "command-refused"),
    Course(
        "a command with wrong parameters, again",
        [1, 2].map { ($0, event([0x0E, 1, 0x41, 0x20, 0x12]), .controllerToHost) } + [(3, left, .controllerToHost)],
        "command-refused"),
    Course(
        "a connection that the controller refuses",
        [(1, event([0x0F, 0x12, 1, 0x0D, 0x20]), .controllerToHost), (2, left, .controllerToHost)], "activity-refused"),
    Course(
        "a command that the controller does not know",
        [(1, event([0x0E, 1, 0x41, 0x20, 0x01]), .controllerToHost), (2, left, .controllerToHost)]),
    Course(
        "a channel that is refused",
        [
            (1, signal([0x14, 1, 10, 0, 0x80, 0, 0x40, 0, 100, 0, 50, 0, 1, 0]), .hostToController),
            (1.1, signal([0x15, 1, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0]), .controllerToHost), (2, left, .controllerToHost),
        ], "signalling-refused"),
    Course(
        "one of two channels that is opened",
        [
            (1, signal([0x17, 1, 12, 0, 0x80, 0, 100, 0, 64, 0, 1, 0, 0x40, 0, 0x41, 0]), .hostToController),
            (1.1, signal([0x18, 1, 12, 0, 100, 0, 64, 0, 1, 0, 4, 0, 0x40, 0, 0, 0]), .controllerToHost), (2, left, .controllerToHost),
        ]),
    Course(
        "two channels of which none is opened",
        [
            (1, signal([0x17, 1, 12, 0, 0x80, 0, 100, 0, 64, 0, 1, 0, 0x40, 0, 0x41, 0]), .hostToController),
            (1.1, signal([0x18, 1, 12, 0, 100, 0, 64, 0, 1, 0, 4, 0, 0, 0, 0, 0]), .controllerToHost), (2, left, .controllerToHost),
        ], "signalling-refused"),
    Course(
        "a channel that nobody answers",
        [(1, signal([0x14, 1, 10, 0, 0x80, 0, 0x40, 0, 100, 0, 50, 0, 1, 0]), .hostToController), (9, left, .controllerToHost)],
        "request-unanswered"),
    Course("a PDU longer than the MPS", channel + [(2, frame(0x41, [UInt8](repeating: 9, count: 51)), .hostToController)], "sdu-too-long"),
    Course("an SDU longer than the MTU", channel + [(2, frame(0x41, [101, 0, 1]), .hostToController)], "sdu-too-long"),
    Course(
        "a PDU without a credit",
        channel + [(2, frame(0x41, [1, 0, 1]), .hostToController), (3, frame(0x41, [1, 0, 1]), .hostToController)], "sent-without-credit"),
    Course(
        "a PDU with a new credit",
        channel + [
            (2, frame(0x41, [1, 0, 1]), .hostToController), (2.5, signal([0x16, 2, 4, 0, 0x41, 0, 1, 0]), .controllerToHost),
            (3, frame(0x41, [1, 0, 1]), .hostToController),
        ]),
    Course(
        "an SDU for whose rest there is no credit",
        channel + [(2, frame(0x41, [40, 0, 1]), .hostToController), (9, left, .controllerToHost)], "channel-stalled"),
    Course(
        "a key request that the host leaves unanswered",
        [
            (1, event([0x3E, 0x05, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), .controllerToHost),
            (31, event([0x05, 0, 0x40, 0, 0x22]), .controllerToHost),
        ], "host-unanswered", "response-timeout"),
    Course(
        "a key that a tool has hidden",
        [(1, frame(6, [0x06] + [UInt8](repeating: 0, count: 16)), .controllerToHost), (2, left, .controllerToHost)]),
    Course(
        "the key of another bond",
        [0x12, 0x56].flatMap { bond($0) } + [
            (2, event([0x3E, 0x05, 0x40, 0] + [UInt8](repeating: 0x12, count: 10)), .controllerToHost),
            (2.1, HCIPacket(.command, [0x1A, 0x20, 18, 0x40, 0] + [UInt8](repeating: 0x56, count: 16)), .hostToController),
            (3, event([0x05, 0, 0x40, 0, 0x3D]), .controllerToHost),
        ], "wrong-key", "mic-failure"),
    Course(
        "parameters that change all the time",
        (0..<12).map { (1 + Double($0) / 10, updated(6 + UInt8($0)), .controllerToHost) } + [(3, left, .controllerToHost)],
        "updates-too-often"),
    Course(
        "a peer that advertises all along, and disappears",
        [
            (1, advertised, .controllerToHost), (2, notification, .controllerToHost), (3, advertised, .controllerToHost),
            (7, lost, .controllerToHost),
        ], "supervision-timeout"),
    Course(
        "a controller that reports silence",
        [(4.9, event([0x3E, 0x04, 0x08, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0]), .controllerToHost), (5, lost, .controllerToHost)],
        "supervision-timeout", "event-timeout"),
    Course("a read before a reset", [(1, read, .hostToController), (9, reset, .controllerToHost)], "att-unanswered"),
    Course(
        "an unknown request that is refused",
        [
            (1, att([0x3E, 0x01, 0x00]), .hostToController), (1.1, att([0x01, 0x3E, 0x00, 0x00, 0x06]), .controllerToHost),
            (2, ended, .controllerToHost),
        ]),
    Course("a response without a request", [(1, value, .controllerToHost), (2, ended, .controllerToHost)], "att-unrequested"),
    Course(
        "a peer that restarts", [(1, read, .hostToController), (3, advertised, .controllerToHost), (6, lost, .controllerToHost)],
        "peer-restarted", "att-unanswered"),
    Course(
        "a peer that restarts, and packets that its end completes",
        [
            (1, read, .hostToController), (3, advertised, .controllerToHost), (5.99, completed, .controllerToHost),
            (6, lost, .controllerToHost),
        ], "peer-restarted", "att-unanswered"),
    Course("a peer that disappears", [(6, lost, .controllerToHost)], "supervision-timeout"),
    Course("a controller's own log", [(1, log, .controllerToHost), (2, ended, .controllerToHost)]),
    Course("a time before the first packet", [(-5, read, .hostToController), (-4.9, value, .controllerToHost)]),
]

@Suite struct ExaminerTests {
    @Test(arguments: courses) fileprivate func coursesOfEventsAreExplained(_ course: Course) throws {
        var examiner = Examiner(rules: try DiagnosisRule.builtIn())
        for (time, packet, direction) in course.packets {
            let time = CaptureTime(nanoseconds: CaptureTime.virtualEpoch.nanoseconds + Int64(saturating: time * 1e9))
            examiner.examine(CaptureRecord(time: time, content: .hci(packet, direction)))
        }
        let diagnosis = examiner.finish()
        #expect(diagnosis.findings.filter { ![.capture, .note].contains($0.rule.severity) }.map(\.rule.id) == course.expected)
        #expect(diagnosis.links.count == 1)
        #expect(try diagnosis.json().contains("connections"))
    }

    /// The same finding over the links of one device is one; four attributes are four.
    @Test func findingsOfADeviceAreFolded() throws {
        var examiner = Examiner(rules: try DiagnosisRule.builtIn())
        var time = 0.0
        func examine(_ packet: HCIPacket, _ direction: CaptureDirection) {
            time += 1
            let moment = CaptureTime(nanoseconds: CaptureTime.virtualEpoch.nanoseconds + Int64(saturating: time * 1e9))
            examiner.examine(CaptureRecord(time: moment, content: .hci(packet, direction)))
        }
        for _ in 0..<8 {
            examine(connected, .controllerToHost)
            time += 5
            examine(lost, .controllerToHost)
        }
        examine(connected, .controllerToHost)
        for handle in UInt8(1)...4 {
            examine(att([0x12, handle, 0, 1, 0]), .hostToController)
            examine(att([0x01, 0x12, handle, 0, 0x03]), .controllerToHost)
        }
        let findings = examiner.finish().findings
        let timeouts = findings.filter { $0.rule.id == "supervision-timeout" }
        #expect(timeouts.map(\.count) == [8] && timeouts.first?.links.count == 8)
        #expect(timeouts.first?.place.contains("8 connections with device 1, 8 times") == true)
        #expect(findings.count { $0.rule.id == "att-refused" } == 4)
    }

    /// Without directions nobody knows who asked.
    @Test func packetsWithoutDirectionsAccuseNobody() throws {
        var examiner = Examiner(rules: try DiagnosisRule.builtIn())
        for (index, packet) in [connected, mtuAsked, att([0x03, 0x17, 0x00]), read, value, left].enumerated() {
            let time = CaptureTime(nanoseconds: CaptureTime.virtualEpoch.nanoseconds + Int64(index) * 1_000_000)
            examiner.examine(CaptureRecord(time: time, content: .hci(packet, nil)))
        }
        #expect(examiner.finish().findings.map(\.rule.id) == [])
    }

    /// A file of another network has no packet of Bluetooth.
    @Test func whatWasExaminedIsSaid() throws {
        var examiner = Examiner(rules: try DiagnosisRule.builtIn())
        examiner.examine(CaptureRecord(time: .virtualEpoch, content: .note("a note")))
        #expect(examiner.finish().coverage.bluetooth == 0)
        examiner.examine(CaptureRecord(time: .virtualEpoch, content: .hci(connected, .controllerToHost)))
        let diagnosis = examiner.finish()
        #expect(diagnosis.coverage.bluetooth == 1)
        #expect(diagnosis.text.contains("No fault found.\nExamined: 1 HCI events."))
    }

    /// A controller completes dropped packets just before it reports the end.
    @Test func completionsAtTheEndAreNoSignOfThePeer() throws {
        var examiner = Examiner(rules: try DiagnosisRule.builtIn())
        let course = [
            (0, connected, CaptureDirection.controllerToHost), (1, read, .hostToController), (1.1, value, .controllerToHost),
            (1.4, read, .hostToController), (1.5, completed, .controllerToHost), (2, read, .hostToController),
            (6.48, completed, .controllerToHost), (6.49, completed, .controllerToHost), (6.5, lost, .controllerToHost),
        ]
        for (time, packet, direction) in course {
            let time = CaptureTime(nanoseconds: CaptureTime.virtualEpoch.nanoseconds + Int64(saturating: time * 1e9))
            examiner.examine(CaptureRecord(time: time, content: .hci(packet, direction)))
        }
        #expect(examiner.finish().text.contains("after 5000 ms without a packet. The timeout is 5000 ms."))
    }

    /// A response to a request in clear may come after encryption has started.
    @Test(arguments: [false, true]) func whatIsEncryptedMayAnswer(isEncrypted: Bool) throws {
        let (advertising, link): ([UInt8], [UInt8]) = ([0xD6, 0xBE, 0x89, 0x8E], [0xA7, 0x4C, 0x65, 0x50])
        func frame(_ header: UInt8, _ payload: [UInt8], _ way: AirFrame.Channel) -> AirFrame {
            AirFrame(
                rfChannel: 1, signalPower: -40, referenceAccessAddress: 0, flags: [.dewhitened], channel: way, modulation: .le1M,
                bytes: (way == .advertising ? advertising : link) + [header, UInt8(payload.count)] + payload + [0, 0, 0])
        }
        let parameters: [UInt8] = [1, 2, 3, 1, 0, 0, 24, 0, 0, 0, 0x80, 0x0C, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 5]
        let connect = frame(0x05, [1, 1, 1, 1, 1, 0xC1, 2, 2, 2, 2, 2, 0xC2] + link + parameters, .advertising)
        let write = frame(0x02, [5, 0, 4, 0, 0x12, 3, 0, 1, 0], .dataFromCentral)
        let start = frame(0x03, [0x05], .dataFromPeripheral)
        let sealed = frame(0x0F, [1, 2, 3, 4, 5], .dataFromCentral)
        var examiner = Examiner(rules: try DiagnosisRule.builtIn())
        let later = frame(0x01, [], .dataFromPeripheral)
        for (seconds, frame) in [(0, connect), (0, write)] + (isEncrypted ? [(1, start), (2, sealed)] : []) + [(40, later), (41, later)] {
            let time = CaptureTime(nanoseconds: CaptureTime.virtualEpoch.nanoseconds + Int64(seconds) * 1_000_000_000)
            examiner.examine(CaptureRecord(time: time, content: .air(frame)))
        }
        #expect(examiner.finish().findings.contains { $0.rule.id == "att-unanswered" } == !isEncrypted)
    }

    @Test func addressesAreHidden() throws {
        for showsSecrets in [false, true] {
            var examiner = Examiner(rules: try DiagnosisRule.builtIn(), showsSecrets: showsSecrets)
            examiner.examine(CaptureRecord(time: .virtualEpoch, content: .hci(connected, .controllerToHost)))
            let diagnosis = examiner.finish()
            #expect(diagnosis.text.contains("06:05:04:03:02:01") == showsSecrets)
            #expect(try diagnosis.json().contains("06:05:04:03:02:01") == showsSecrets)
        }
    }
}
