import BBCapture
import BBPackets
import BBTraffic
import Testing

@testable import BBDiagnosis

private typealias Packets = [(Double?, HCIPacket, Bool)]
private let (out, back) = (true, false)

/// A command and its answer.
private func order(_ opcode: UInt16, _ parameters: [UInt8] = [], _ status: UInt8 = 0, _ returns: [UInt8] = []) -> Packets {
    [(nil, .order(opcode, parameters), out), (nil, .told([0x0E, 1, UInt8(opcode & 0xFF), UInt8(opcode >> 8), status] + returns), back)]
}
/// A command and its status.
private func begin(_ opcode: UInt16, _ parameters: [UInt8], _ status: UInt8 = 0) -> Packets {
    [(nil, .order(opcode, parameters), out), (nil, .told([0x0F, status, 1, UInt8(opcode & 0xFF), UInt8(opcode >> 8)]), back)]
}

// MARK: Host and controller

private func advertise(_ isOn: UInt8) -> Packets { order(0x200A, [isOn]) }
private func address(_ status: UInt8) -> Packets { order(0x2005, octets(0xC1, 6), status) }
/// The buffers for packets of LE, by their octets and their number.
private func buffers(_ size: UInt8, _ count: UInt8) -> Packets { order(0x2002, [], 0, [size, 0, count]) }
private let connected: Packets = [(nil, .connected, back)]
private let left: Packets = [(nil, .left, back)]
/// A write of 20 octets, which fill a packet of 24.
private let write: Packets = [(nil, .frame(4, [0x52, 3, 0] + octets(1, 17)), out)]
private let completed: Packets = [(nil, .told([0x13, 1, 0x40, 0, 1, 0]), back)]
/// A request of the peer, and the end of the link N seconds later.
private func asked(_ answer: Packets, _ end: Double) -> Packets {
    [(nil, .connected, back), (nil, .att(0x0A, 3, 0), back)] + answer + [(end, .left, back)]
}
/// A synchronization with a timeout and an interval of 1 s, and its loss.
private func sync(_ timeout: UInt8) -> Packets {
    begin(0x2044, [0, 2, 0, 1, 2, 3, 4, 5, 6, 0, 0, timeout, 0, 0]) + [
        (nil, .told([0x3E, 0x0E, 0, 0, 0, 2, 0, 1, 2, 3, 4, 5, 6, 1, 0x20, 0x03, 0]), back), (nil, .told([0x3E, 0x10, 0, 0]), back),
    ]
}
private func scan(_ isOn: UInt8, filter: UInt8 = 0) -> Packets { order(0x2042, [isOn, filter, 0, 0, 0, 0]) }
/// A report of a device, whole or with more to come.
private func report(_ device: UInt8, isWhole: Bool = true, at time: Double? = nil) -> Packets {
    [(time, .told([0x3E, 0x0D, 1, isWhole ? 0 : 0x20, 0, 1] + octets(device, 6) + [1, 1, 0, 0x7F, 0xC0, 0, 0, 0] + octets(0, 7)), back)]
}
private let reports = (0..<20).flatMap { _ in report(0xC1) }
/// The end of a scan after 15 s, and another one.
private func restart(_ filter: UInt8 = 0) -> Packets {
    [(20, .order(0x2042, octets(0, 6)), out), (nil, .told([0x0E, 1, 0x42, 0x20, 0]), back)] + scan(1, filter: filter)
}
private func voice(_ status: UInt8) -> Packets {
    begin(0x0428, [0x40, 0] + octets(0, 15)) + [
        (nil, .told([0x2C, status, 0x41, 0, 1, 2, 3, 4, 5, 6, 2, 12, 2, 60, 0, 60, 0, 2]), back)
    ]
}
/// A peer that says whether it resolves addresses, and advertising that is directed at it without success.
private func directed(_ answer: HCIPacket, own: UInt8 = 3) -> Packets {
    connected + [(nil, .att(0x08, 1, 0, 0xFF, 0xFF, 0xA6, 0x2A), out), (nil, answer, back)] + left
        + order(0x2027, [0, 1, 2, 3, 4, 5, 6] + octets(7, 16) + octets(8, 16))
        + order(0x2006, [0x20, 0, 0x20, 0, 1, own, 0, 1, 2, 3, 4, 5, 6, 7, 0]) + advertise(1)
        + [(nil, .told([0x3E, 0x01, 0x3C] + octets(0, 17)), back)]
}
private let absent = HCIPacket.att(0x01, 0x08, 1, 0, 0x0A)

private let ofControllers = [
    TestCourse("an address that advertising forbids", advertise(1) + address(0x0C) + address(0x0C), "command-against-state"),
    TestCourse("an address that a scan forbids", scan(1) + address(0x0C) + address(0x0C), "command-against-state"),
    TestCourse("an address that is refused once", advertise(1) + address(0x0C), "command-against-state-once"),
    TestCourse("an address that is set after advertising", advertise(1) + address(0x0C) + advertise(0) + address(0)),
    TestCourse("an address that is refused for no reason", address(0x0C) + address(0x0C) + address(0x0C), "command-never-accepted"),
    TestCourse("an address that is refused twice", address(0x0C) + address(0x0C) + address(0)),
    TestCourse(
        "an address of another set than the one that advertises",
        order(0x2039, [1, 1, 1, 0, 0, 0]) + order(0x2035, [2] + octets(0xC1, 6), 0x0C) + order(0x2035, [2] + octets(0xC1, 6))),
    TestCourse("a packet that is too long", buffers(20, 8) + connected + write + left, "acl-too-long"),
    TestCourse(
        "a packet that is too long, and an error of the controller",
        buffers(20, 8) + connected + write + [(nil, .told([0x10, 0x12]), back)],
        "acl-too-long", "hardware-error"),
    TestCourse("a packet that is as long as allowed", buffers(24, 8) + connected + write + left),
    TestCourse("a packet whose limit is not known", connected + write + left),
    TestCourse("a completion after the end", connected + write + left + completed, "completed-after-end"),
    TestCourse("a completion before the end", connected + write + completed + left),
    TestCourse("a completion on the next connection", connected + write + left + connected + write + completed + left),
    TestCourse(
        "a host without buffers", buffers(27, 2) + connected + write + write + left + asked([], 40), "buffers-lost", "att-unanswered"),
    TestCourse("a host that has one buffer", buffers(27, 2) + connected + write + left + asked([], 40), "att-unanswered"),
    TestCourse(
        "a host that counts right, and is silent",
        buffers(27, 2) + connected + write + write + completed + completed + left + asked([], 40),
        "att-unanswered"),
    TestCourse(
        "a host that answers", buffers(27, 2) + connected + write + write + left + asked([(nil, .att(0x0B, 1), out)], 40)),
    TestCourse("a timeout shorter than the interval", sync(10), "sync-timeout-too-short"),
    TestCourse("a timeout longer than the interval", sync(200)),
    TestCourse("a report that never ends", scan(1) + report(0xC1, isWhole: false) + restart(), "report-incomplete"),
    TestCourse("a report that ends", scan(1) + report(0xC1, isWhole: false) + report(0xC1) + restart()),
    TestCourse("a scan that ends in a report", scan(1) + report(0xC1, isWhole: false) + scan(0) + [(20, .order(0x0C03), out)]),
    TestCourse("reports that a restart brings back", scan(1) + reports + restart() + report(0xC1), "reports-stopped"),
    TestCourse("a device that comes later", scan(1) + reports + restart() + report(0xC2)),
    TestCourse("devices that are reported once", scan(1, filter: 1) + reports + restart(1) + report(0xC1)),
    TestCourse(
        "a voice connection beside an open one", [(0, .paged, back)] + voice(0) + voice(0x0A), "voice-not-closed", "voice-refused"),
    TestCourse(
        "a voice connection after a closed one",
        [(0, .paged, back)] + voice(0) + [(nil, .told([5, 0, 0x41, 0, 0x16]), back)] + voice(0x0A),
        "voice-refused"),
    TestCourse("advertising at a device that does not resolve", directed(absent), "directed-unresolvable"),
    TestCourse("advertising from a public address", directed(absent, own: 0)),
    TestCourse("advertising at a device that resolves", directed(.att(0x09, 3, 3, 0, 1))),
]

// MARK: Links

/// The features of a peer, LE 2M PHY among them or not, and a PHY update that fails.
private func update(_ features: UInt8) -> Packets {
    connected + [(nil, .told([0x3E, 4, 0, 0x40, 0, 1, features] + octets(0, 6)), back)] + phy
        + [(nil, .told([0x3E, 0x0C, 0x1A, 0x40, 0, 1, 1]), back), (9, .left, back)]
}
private let phy = begin(0x2032, [0x40, 0, 0, 2, 2, 0, 0])
private let phyUpdated: Packets = [(nil, .told([0x3E, 0x0C, 0, 0x40, 0, 2, 2]), back)]
private let parameters: Packets = [(nil, .told([0x3E, 6, 0x40, 0, 12, 0, 12, 0, 0, 0, 100, 0]), back)]
private let collision: Packets = [(nil, .told([5, 0, 0x40, 0, 0x2A]), back)]
private let subscription: Packets = [(nil, .att(0x12, 4, 0, 1, 0), out)]
/// A refusal for lack of encryption, which follows.
private func refused(_ request: UInt8, _ then: Packets, _ end: Double = 30) -> Packets {
    [(nil, .att(0x01, request, 4, 0, 0x0F), back), (nil, .encrypted, back)] + then + [(end, .left, back)]
}
private let confirmed: Packets = [(nil, .att(0x13), back)]

private let ofLinks = [
    TestCourse("a feature that the peer claims and does not have", update(1), "feature-untrue"),
    TestCourse("a feature that the peer does not claim", update(0)),
    TestCourse("two procedures at a time", connected + phy + parameters + collision, "procedures-collided", "update-collision"),
    TestCourse("two procedures, one after the other", connected + phy + phyUpdated + parameters + collision, "update-collision"),
    TestCourse("a subscription that is not repeated", connected + subscription + refused(0x12, []), "subscription-not-repeated"),
    TestCourse("a subscription that is repeated", connected + subscription + refused(0x12, subscription + confirmed)),
    TestCourse("a subscription on a short link", connected + subscription + refused(0x12, [], 5)),
    TestCourse("a subscription that the server has kept", connected + subscription + refused(0x12, [(nil, .att(0x1B, 3, 0, 1), back)])),
    TestCourse(
        "a read that is not repeated", connected + [(nil, .att(0x0A, 4, 0), out)] + refused(0x0A, []), "request-not-repeated"),
]

// MARK: Channels

private func channel(_ identifier: UInt8, _ psm: [UInt8], _ own: UInt8) -> Packets {
    [
        (nil, .frame(1, [2, identifier, 4, 0] + psm + [own, 0]), out),
        (nil, .frame(1, [3, identifier, 8, 0, own + 1, 0, own, 0, 0, 0, 0, 0]), back),
    ]
}
/// The signalling and the transport channel of AVDTP.
private let streams: Packets = [(0, .paged, back)] + channel(1, [0x19, 0], 0x40) + channel(2, [0x19, 0], 0x42)
private let disconnecting: Packets = [(nil, .frame(1, [6, 3, 4, 0, 0x43, 0, 0x42, 0]), out)]
private let disconnected: Packets = [(nil, .frame(1, [7, 3, 4, 0, 0x43, 0, 0x42, 0]), back)]
private let configuration: Packets = [(nil, .frame(0x41, [0x10, 0x03, 4, 4]), out)]
private let accepted: Packets = [(nil, .frame(0x40, [0x12, 0x03]), back)]
private let inUse: Packets = [(nil, .frame(0x40, [0x13, 0x03, 0, 0x13]), back)]
private let closed: Packets = [(nil, .frame(0x41, [0x20, 0x08, 4]), out), (nil, .frame(0x40, [0x22, 0x08]), back)]

/// A request for enhanced retransmission mode with this MPS and an MTU of 672, the answer of the host, and the end of the channel.
private func configured(_ mps: [UInt8], _ answer: [UInt8]) -> Packets {
    func mode(_ mps: [UInt8]) -> [UInt8] { [4, 9, 3, 8, 0x14, 0xD0, 7, 0xE0, 0x2E] + mps }
    let proposal = answer.first == 0 ? [] : mode([0x80, 0])
    return [(0, .paged, back)] + channel(1, [0x11, 0x10], 0x48) + [
        (nil, .frame(1, [4, 5, 19, 0, 0x48, 0, 0, 0, 1, 2, 0xA0, 2] + mode(mps)), back),
        (nil, .frame(1, [5, 5, UInt8(6 + proposal.count), 0, 0x49, 0, 0, 0] + answer + proposal), out),
        (nil, .frame(1, [6, 7, 4, 0, 0x48, 0, 0x49, 0]), back), (nil, .frame(1, [7, 7, 4, 0, 0x48, 0, 0x49, 0]), out),
    ]
}
private func reconfigured(_ result: UInt8) -> Packets {
    connected + [(nil, .frame(5, [0x19, 1, 6, 0, 0, 1, 64, 0, 0x40, 0]), out), (nil, .frame(5, [0x1A, 1, 2, 0, result, 0]), back)] + left
}

private let ofChannels = [
    TestCourse(
        "a stream before the end of the one before", streams + disconnecting + configuration + disconnected + inUse, "stream-still-open",
        "stream-refused"),
    TestCourse(
        "a stream after the end of the one before", streams + disconnecting + disconnected + configuration + inUse, "stream-refused"),
    TestCourse(
        "an end point that is configured twice", streams + configuration + accepted + configuration + inUse, "stream-still-open",
        "stream-refused"),
    TestCourse(
        "an end point that is closed and in use by another device", streams + configuration + accepted + closed + configuration + inUse,
        "stream-refused"),
    TestCourse("an MPS above the MTU", configured([0xF2, 3], [1, 0]), "mps-refused", "configuration-refused"),
    TestCourse("an MPS below the MTU", configured([0xF0, 0], [1, 0]), "configuration-refused"),
    TestCourse("an MPS that is accepted", configured([0xF2, 3], [0, 0])),
    TestCourse("a result that the response does not have", reconfigured(0x0C), "result-reserved"),
    TestCourse("a result that the response has", reconfigured(1), "signalling-refused"),
    TestCourse("a success", reconfigured(0)),
]

@Suite struct ComparisonTests {
    @Test(arguments: ofControllers) func hostsAreComparedWithTheirControllers(_ course: TestCourse) throws {
        let found = try course.findings()
        #expect(found == course.expected)
    }

    @Test(arguments: ofLinks) func endsOfLinksAreCompared(_ course: TestCourse) throws {
        let found = try course.findings()
        #expect(found == course.expected)
    }

    @Test(arguments: ofChannels) func endsOfChannelsAreCompared(_ course: TestCourse) throws {
        let found = try course.findings()
        #expect(found == course.expected)
    }

    /// A symptom has a cause, even if the capture does not show it.
    @Test func aSymptomIsNoHealth() throws {
        let symptom = try TestCourse("a symptom", advertise(1) + address(0x0C)).diagnosis().text
        #expect(symptom.contains("Symptom: ") && symptom.contains("Examined: ") && !symptom.contains("No fault found."))
        let healthy = try TestCourse("nothing", advertise(1) + address(0)).diagnosis().text
        #expect(healthy.contains("No fault found.\nExamined: ") && !healthy.contains("Symptom: "))
    }

    /// A feature that a peer claims is not called unsupported.
    @Test func aClaimIsNotContradicted() throws {
        #expect(try !TestCourse("claimed", update(1)).diagnosis().text.contains("does not support it"))
        #expect(try TestCourse("not claimed", update(0)).diagnosis().text.contains("does not support it"))
    }

    /// A value in each event of 30 ms is limited by the events, and one in every other by its sender.
    @Test(arguments: [(0.03, Limit.eventLength), (0.06, .host)]) func seldomValuesAreNotLimitedByEvents(_ gap: Double, _ limit: Limit)
        throws
    {
        let values = (1...60).map { (Double?(Double($0) * gap), HCIPacket.frame(4, [0x1B, 3, 0] + octets(1, 40)), back) }
        let link = try #require(try TestCourse("values", [(0, .connected, back)] + values).diagnosis().links.first)
        #expect(link.backLimit?.limit == limit)
    }
}

extension TestCourse {
    fileprivate func diagnosis() throws -> Diagnosis {
        var examiner = Examiner(rules: try DiagnosisRule.builtIn())
        for (seconds, packet, isOut) in packets {
            let time = CaptureTime(nanoseconds: CaptureTime.virtualEpoch.nanoseconds + Int64(saturating: seconds * 1e9))
            examiner.examine(CaptureRecord(time: time, content: .hci(packet, isOut ? .hostToController : .controllerToHost)))
        }
        return examiner.finish()
    }
}
