import BBPackets
import BBTiming
import BBTransport
import BBVirtualDongle
import Testing

/// One dongle without a controller.
private final class OneDongleBus: USBIPBus {
    let loop = RunLoop()
    var controllerEnd: InProcessTransport?
    var isHeld = false
    let devices = [(busID: "1-1", descriptors: described)]
    private static var described: DongleDescriptors {
        var descriptors = DongleDescriptors(serialNumber: "BB-1")
        descriptors.offersSerialisedMode = true
        return descriptors
    }

    func attach(_ busID: String) -> USBDongle? {
        guard busID == "1-1", !isHeld else { return nil }
        isHeld = true
        let (host, controller) = InProcessTransport.pair(on: loop)
        controllerEnd = controller
        return try? USBDongle(descriptors: devices[0].descriptors, pipe: host, loop: loop)
    }

    func detach(_ busID: String) { isHeld = false }
}

private final class Output {
    var bytes: [UInt8] = []
    func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }
}

@Suite struct USBIPSessionTests {
    private let bus = OneDongleBus()
    private let output = Output()

    private func session() -> USBIPSession {
        let session = USBIPSession(bus: bus)
        session.write = { [output] in output.bytes += $0 }
        return session
    }

    private static let attach: [UInt8] = [1, 0x11, 0x80, 3, 0, 0, 0, 0] + Array("1-1".utf8) + [UInt8](repeating: 0, count: 29)

    private static func be(_ words: [UInt32]) -> [UInt8] {
        words.flatMap { w in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: w >> $0) } }
    }

    private static func submit(
        _ seqnum: UInt32, isIn: Bool, endpoint: UInt32, length: UInt32, setup: [UInt8] = [UInt8](repeating: 0, count: 8)
    ) -> [UInt8] {
        be([1, seqnum, 0x10001, isIn ? 1 : 0, endpoint, 0, length, 0, .max, 0]) + setup
    }

    /// One isochronous packet of 9 octets, due in one millisecond.
    private static func voice(_ seqnum: UInt32) -> [UInt8] {
        be([1, seqnum, 0x10001, 1, 3, 0, 9, 0, 1, 1]) + [UInt8](repeating: 0, count: 8) + be([0, 9, 0, 0])
    }

    @Test func voiceRequestsWithNumbersOfTheirOwnAreTaken() {
        let session = session()
        let setting = Self.submit(1, isIn: false, endpoint: 0, length: 0, setup: [1, 11, 1, 0, 1, 0, 0, 0])
        #expect(session.receive(Self.attach + setting + Self.voice(2) + Self.voice(3)) == nil)
    }

    /// Status and data of each answer, by its number.
    private static func answers(_ octets: [UInt8]) -> [UInt32: (status: Int32, data: [UInt8])] {
        func word(_ at: Int) -> UInt32 { octets[at..<at + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        var (answers, start): ([UInt32: (status: Int32, data: [UInt8])], Int) = ([:], 8 + 312)
        while start + 48 <= octets.count {
            // Only reads have data behind their answer.
            let length = word(start + 4) >= 10 ? Int(word(start + 24)) : 0
            answers[word(start + 4)] = (Int32(bitPattern: word(start + 20)), Array(octets[start + 48..<start + 48 + length]))
            start += 48 + length
        }
        return answers
    }

    /// Setting 1 of the first interface; an event and a command on the bulk endpoints; what must stall. Core Vol 4, Part B, 1.1 and 7.
    @Test func theSerialisedModeIsThereToo() throws {
        let session = session()
        let none: [UInt8] = [3, 12, 0]
        #expect(
            session.receive(Self.attach + Self.submit(1, isIn: false, endpoint: 0, length: 0, setup: [1, 11, 1, 0, 0, 0, 0, 0])) == nil)
        let event = HCIPacket(.event, [0x0E, 4, 1, 3, 12, 0])
        bus.controllerEnd?.send(event)
        try bus.loop.run { [loop = bus.loop] in try await loop.sleep(for: 10) }
        let requests =
            Self.submit(10, isIn: true, endpoint: 2, length: 64) + Self.submit(2, isIn: false, endpoint: 2, length: 4) + [1] + none
            + Self.submit(3, isIn: false, endpoint: 0, length: 3, setup: [0x20, 0, 0, 0, 0, 0, 3, 0]) + none
            + Self.submit(4, isIn: false, endpoint: 0, length: 0, setup: [1, 11, 1, 0, 1, 0, 0, 0])
        #expect(session.receive(requests) == nil)
        let answers = Self.answers(output.take())
        #expect([1, 2, 3, 4, 10].map { answers[$0]?.status } == [0, 0, -32, -32, 0])
        #expect(answers[10]?.data == event.serialised)
    }

    @Test func theListNamesEveryDongle() {
        #expect(session().receive([1, 0x11, 0x80, 5, 0, 0, 0, 0]) == nil)
        let reply = output.take()
        #expect(reply.count == 12 + 312 + 8)
        #expect(Array(reply[0..<12]) == [1, 0x11, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1])
        #expect(Array(reply[12 + 256..<12 + 259]) == Array("1-1".utf8))
    }

    @Test func everySplitOfAConversationGivesTheSameAnswers() {
        let getDevice = Self.submit(7, isIn: true, endpoint: 0, length: 18, setup: [0x80, 6, 0, 1, 0, 0, 18, 0])
        let stream = Self.attach + getDevice
        var whole: [UInt8]?
        for cut in 0...stream.count {
            let session = session()
            #expect(session.receive(Array(stream[..<cut])) == nil)
            #expect(session.receive(Array(stream[cut...])) == nil)
            session.end()
            let answers = output.take()
            #expect(answers == whole ?? answers)
            whole = answers
        }
        // Header and device of OP_REP_IMPORT, header of USBIP_RET_SUBMIT, device descriptor.
        let expected: Int = 8 + 312 + 48 + 18
        #expect(whole?.count == expected)
    }

    @Test func aHeldDongleIsRefusedUntilItIsGivenBack() {
        let first = session()
        let second = session()
        _ = first.receive(Self.attach)
        #expect(output.take().count == 8 + 312)
        _ = second.receive(Self.attach)
        #expect(output.take() == [1, 0x11, 0, 3, 0, 0, 0, 1])
        first.end()
        _ = second.receive(Self.attach)
        #expect(output.take().count == 8 + 312)
    }

    @Test func unlinkEndsAPendingRequestAndOnlyOnce() {
        let session = session()
        _ = session.receive(Self.attach + Self.submit(1, isIn: true, endpoint: 1, length: 16))
        #expect(output.take().count == 8 + 312)
        let unlink = Self.be([2, 2, 0x10001, 0, 0, 1]) + [UInt8](repeating: 0, count: 24)
        _ = session.receive(unlink)
        #expect(output.take() == Self.be([4, 2, 0, 0, 0, UInt32(bitPattern: -104)]) + [UInt8](repeating: 0, count: 24))
        _ = session.receive(unlink)
        #expect(output.take() == Self.be([4, 2, 0, 0, 0, 0]) + [UInt8](repeating: 0, count: 24))
    }

    /// Invalid client messages, which end the session and nothing else.
    @Test(arguments: [
        [1, 0x11, 0x80, 9, 0, 0, 0, 0],
        [0, 1, 0x80, 5, 0, 0, 0, 0],
        attach + be([9, 1, 0, 0, 0]) + [UInt8](repeating: 0, count: 28),
        attach + submit(1, isIn: false, endpoint: 2, length: .max),
        attach + submit(1, isIn: true, endpoint: 99, length: 1),
        attach + be([1, 1, 0, 1, 3, 0, 9, 0, 0x7FFF_FFFF, 0]) + [UInt8](repeating: 0, count: 8),
        // A voice request submitted again while it is pending.
        attach + submit(1, isIn: false, endpoint: 0, length: 0, setup: [1, 11, 1, 0, 1, 0, 0, 0]) + voice(2) + voice(2),
    ])
    func violationsEndTheConversation(bytes: [UInt8]) {
        #expect(session().receive(bytes) != nil)
    }
}
