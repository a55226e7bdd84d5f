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
        "a value without a subscription", [(1, notification, .controllerToHost), (2, ended, .controllerToHost)], "value-unsubscribed"),
    Course(
        "a value after a subscription",
        [
            (1, att([0x12, 0x05, 0x00, 0x01, 0x00]), .hostToController), (1.1, att([0x13]), .controllerToHost),
            (1.2, notification, .controllerToHost), (2, ended, .controllerToHost),
        ]),
    Course("a read shortly before the end", [(1, read, .hostToController), (1.5, ended, .controllerToHost)]),
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
