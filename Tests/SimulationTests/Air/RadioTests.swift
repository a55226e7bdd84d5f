import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

@Suite struct RadioTests {
    /// Records the callbacks of a radio.
    private final class Ear: RadioActivity {
        var priority = 10
        let radio: Radio
        var log: [String] = []

        init(_ air: Air, priority: Int = 10) {
            radio = air.makeRadio()
            self.priority = priority
            _ = radio.acquire(self)
        }

        init(on radio: Radio, priority: Int) {
            self.radio = radio
            self.priority = priority
        }

        func transmitted(at end: Microseconds) { log.append("sent \(end.rawValue)") }
        func received(_ reception: Reception) {
            log.append("\(reception.isIntact ? "heard" : "corrupt") \(reception.start.rawValue)-\(reception.end.rawValue)")
        }
        func windowClosed() { log.append("closed \(radio.air.loop.now.rawValue)") }
        func preempted() { log.append("preempted") }
        func radioIsFree() { log.append("free \(radio.acquire(self))") }
    }

    private let pdu = AirPDU(header: 0, [1, 2, 3])
    // (1 + 4 + 2 + 3 + 3) x 8 us.
    private let length = 104

    @Test func aWindowIsClosedAtItsEndsAndExtendsWhileReceiving() throws {
        for (start, expected) in [
            (999, "closed 1101"), (1_000, "heard 1000-1104"), (1_050, "heard 1050-1154"), (1_100, "heard 1100-1204"),
            (1_101, "closed 1101"),
        ] {
            let bench = AirBench()
            let (speaker, ear) = (Ear(bench.air), Ear(bench.air))
            ear.radio.listen(Tuning(channel: 5, phy: .le1M), from: 1_000, until: 1_100)
            speaker.radio.transmit(LEPacket(pdu, Tuning(channel: 5, phy: .le1M), phy: .le1M), at: Microseconds(start))
            try bench.run()
            #expect(ear.log == [expected])
            #expect(speaker.log == ["sent \(start + length)"])
        }
    }

    @Test(arguments: [
        (Tuning(channel: 6, phy: .le1M), AirPHY.le1M), (Tuning(channel: 5, phy: .le2M), .le2M),
        (Tuning(channel: 5, phy: .leCoded), .codedS2),
        (Tuning(channel: 5, phy: .le1M, accessAddress: 0x1234_5678), .le1M),
    ])
    func aReceiverHearsWhatItIsTunedTo(other: Tuning, phy: AirPHY) throws {
        let bench = AirBench()
        let (speaker, deaf, ear) = (Ear(bench.air), Ear(bench.air), Ear(bench.air))
        deaf.radio.listen(Tuning(channel: 5, phy: .le1M), from: 0, until: 50_000)
        ear.radio.listen(other, from: 0, until: 50_000)
        speaker.radio.transmit(LEPacket(pdu, other, phy: phy), at: 100)
        try bench.run()
        #expect(deaf.log == ["closed 50001"])
        #expect(ear.log == ["heard 100-\((Microseconds(100) + phy.airTime(payload: 3)).rawValue)"])
    }

    @Test func aWrongInitialValueIsACRCError() throws {
        let bench = AirBench()
        let (speaker, ear) = (Ear(bench.air), Ear(bench.air))
        ear.radio.listen(Tuning(channel: 5, phy: .le1M, crcInit: 1), from: 0, until: 50_000)
        speaker.radio.transmit(LEPacket(pdu, Tuning(channel: 5, phy: .le1M, crcInit: 2), phy: .le1M), at: 0)
        try bench.run()
        #expect(ear.log == ["corrupt 0-104"])
    }

    /// Two packets on one channel: reception by power and by the start of the second.
    @Test(arguments: [
        (0, 50, "corrupt 100-204"), (-9, 50, "corrupt 100-204"), (-10, 50, "heard 100-204"), (20, 50, "corrupt 100-204"),
        (0, 103, "corrupt 100-204"), (0, 104, "heard 100-204"), (0, 0, "corrupt 100-204"), (-20, 0, "heard 100-204"),
    ])
    func collisions(power: Int, later: Int, expected: String) throws {
        let bench = AirBench()
        let (first, second, ear) = (Ear(bench.air), Ear(bench.air), Ear(bench.air))
        ear.radio.listen(Tuning(channel: 5, phy: .le1M), from: 0, until: 50_000)
        first.radio.transmit(LEPacket(pdu, Tuning(channel: 5, phy: .le1M), phy: .le1M), at: 100)
        second.radio.transmit(LEPacket(pdu, Tuning(channel: 5, phy: .le1M), phy: .le1M, power: Int8(power)), at: Microseconds(100 + later))
        try bench.run()
        #expect(ear.log == [expected])
    }

    @Test func otherChannelsDoNotCollide() throws {
        let bench = AirBench()
        let (first, second, ear) = (Ear(bench.air), Ear(bench.air), Ear(bench.air))
        ear.radio.listen(Tuning(channel: 5, phy: .le1M), from: 0, until: 50_000)
        first.radio.transmit(LEPacket(pdu, Tuning(channel: 5, phy: .le1M), phy: .le1M), at: 100)
        second.radio.transmit(LEPacket(pdu, Tuning(channel: 6, phy: .le1M), phy: .le1M), at: 120)
        try bench.run()
        #expect(ear.log == ["heard 100-204"])
    }

    @Test func theMoreImportantActivityTakesTheRadio() throws {
        let bench = AirBench()
        let radio = bench.air.makeRadio()
        let (low, high) = (Ear(on: radio, priority: 10), Ear(on: radio, priority: 20))
        #expect(radio.acquire(low))
        radio.listen(Tuning(channel: 5, phy: .le1M), from: 0, until: 50_000)
        #expect(radio.acquire(high))
        #expect(low.log == ["preempted"])
        #expect(!radio.acquire(low))
        radio.wait(low)
        radio.wait(low)
        radio.release(low)
        #expect(radio.owner === high)
        radio.release(high)
        #expect(low.log == ["preempted", "free true"])
        try bench.run()
        #expect(low.log.count == 2 && high.log.isEmpty)
    }

    @Test func aTransmissionCutOffIsACorruptPacket() throws {
        let bench = AirBench()
        let (speaker, ear) = (Ear(bench.air), Ear(bench.air))
        ear.radio.listen(Tuning(channel: 5, phy: .le1M), from: 0, until: 50_000)
        speaker.radio.transmit(LEPacket(pdu, Tuning(channel: 5, phy: .le1M), phy: .le1M), at: 0)
        try bench.run(50)
        speaker.radio.idle()
        #expect(ear.log == ["corrupt 0-50"])
        try bench.run()
        #expect(speaker.log.isEmpty)
    }

    @Test func reservationsOfOthers() throws {
        let bench = AirBench()
        let radio = bench.air.makeRadio()
        let (a, b, c) = (Ear(on: radio, priority: 1), Ear(on: radio, priority: 1), Ear(on: radio, priority: 1))
        #expect(radio.nextReservation(besides: a) == .never)
        radio.reserve(a, at: 100)
        radio.reserve(b, at: 300)
        radio.reserve(c, at: 200)
        #expect(radio.nextReservation(besides: a) == 200)
        #expect(radio.nextReservation(besides: c) == 100)
        try bench.run(150)
        #expect(radio.nextReservation(besides: c) == 300)
        radio.forget(b)
        #expect(radio.nextReservation(besides: c) == .never)
        withExtendedLifetime((a, bench)) {}
    }
}
