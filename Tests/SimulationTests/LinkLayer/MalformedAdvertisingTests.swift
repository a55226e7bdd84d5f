import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Malformed advertising packets and their handling.
@Suite struct MalformedAdvertisingTests {
    /// Answers the first received ADV_IND with a given PDU, or sends noise.
    final class Attacker: RadioActivity {
        let radio: Radio
        let answer: (DeviceAddress) -> AirPDU
        var isDone = false
        var priority: Int { 1 }

        init(_ air: Air, _ answer: @escaping (DeviceAddress) -> AirPDU) {
            radio = air.makeRadio()
            self.answer = answer
            _ = radio.acquire(self)
            listen()
        }

        private func listen() { radio.listen(Tuning(channel: 37, phy: .le1M), from: radio.air.loop.now, until: .never) }

        func received(_ reception: Reception) {
            guard let pdu = AdvertisingPDU(reception.pdu), pdu.type == .advInd, let advertiser = pdu.sender, !isDone else {
                return listen()
            }
            isDone = true
            radio.transmit(LEPacket(answer(advertiser), Tuning(channel: 37, phy: .le1M), phy: .le1M), at: reception.end + 150)
        }

        func transmitted(at end: Microseconds) {}
        func windowClosed() {}
        func preempted() {}
    }

    /// Retains objects for the duration of a test.
    final class Keeper {
        var things: [AnyObject] = []

        /// Creates an object on the air of a world.
        func add(_ world: World, _ make: (Air) -> AnyObject) {
            things.append(make(world.simulation.air))
        }
    }

    struct Request: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var isAccepted = false
        var change: @Sendable (inout ConnectRequest) -> Void = { _ in }
        var cut: @Sendable ([UInt8]) -> [UInt8] = { $0 }
    }

    static let requests: [Request] = [
        Request(testDescription: "legal", isAccepted: true),
        Request(testDescription: "no channel") { $0.channelMap = 0 },
        Request(testDescription: "one channel") { $0.channelMap = 1 },
        Request(testDescription: "reserved channels") { $0.channelMap = 0xFF_FFFF_FFFF },
        Request(testDescription: "hop 0") { $0.hop = 0 },
        Request(testDescription: "hop 4") { $0.hop = 4 },
        Request(testDescription: "hop 17") { $0.hop = 17 },
        Request(testDescription: "interval 0") { $0.interval = 0 },
        Request(testDescription: "interval 5") { $0.interval = 5 },
        Request(testDescription: "interval above 4 s") { $0.interval = 3_201 },
        Request(testDescription: "time-out 0") { $0.timeout = 0 },
        Request(testDescription: "time-out shorter than the latency allows") { $0.latency = 30 },
        Request(testDescription: "latency above 499") {
            $0.latency = 500
            $0.interval = 6
            $0.timeout = 3_200
        },
        Request(testDescription: "no transmit window") { $0.windowSize = 0 },
        Request(testDescription: "transmit window above 10 ms") { $0.windowSize = 9 },
        Request(testDescription: "transmit window as long as the interval") {
            $0.interval = 6
            $0.windowSize = 6
        },
        Request(testDescription: "transmit window offset above the interval") { $0.windowOffset = 25 },
        Request(testDescription: "another advertiser's") { $0.advertiser.value ^= 1 },
        Request(testDescription: "the advertiser's address of the other type") { $0.advertiser.kind = .random },
        Request(testDescription: "an octet too short", cut: { Array($0.dropLast()) }),
        Request(testDescription: "an octet too long", cut: { $0 + [0] }),
        Request(testDescription: "empty", cut: { _ in [] }),
    ]

    @Test(arguments: requests) func aConnectRequestThatIsNotLegalIsIgnored(_ request: Request) throws {
        try World.run(hosts: 1) { world in
            let keeper = Keeper()
            keeper.add(world) { air in
                Attacker(air) { advertiser in
                    var connect = ConnectRequest(
                        initiator: DeviceAddress(value: 0x1234), advertiser: advertiser, accessAddress: 0x71A2_3B4D, crcInit: 0x12_3456,
                        windowSize: 1, windowOffset: 0, interval: 24, latency: 0, timeout: 100, channelMap: ChannelMap.all.bits, hop: 7,
                        clockAccuracy: 0, chSel: true)
                    request.change(&connect)
                    var pdu = connect.pdu
                    pdu.payload = request.cut(pdu.payload)
                    return pdu.air
                }
            }
            try await world.hosts[0].advertiseLegacy()
            try await world.loop.sleep(for: .seconds(1))
            #expect(world.hosts[0].all(HCIEvents.LEEnhancedConnectionComplete.self).isEmpty != request.isAccepted)
            keeper.things.removeAll()
        }
    }

    /// Sends random PDUs continuously, hopping over the primary channels.
    final class Noise: RadioActivity {
        let radio: Radio
        var random: RandomSource
        var left: Int
        var priority: Int { 1 }

        init(_ air: Air, _ seed: UInt64, count: Int) {
            radio = air.makeRadio()
            random = RandomSource(seed: seed)
            left = count
            _ = radio.acquire(self)
            next()
        }

        private func next() {
            guard left > 0 else { return }
            left -= 1
            let kinds: [UInt8] = [0, 1, 2, 4, 6, 7, 7, 7]
            let header = kinds[Int(random.next() % 8)] | UInt8(truncatingIfNeeded: random.next()) & 0xF0
            var payload = random.octets(Int(random.next() % 60))
            // A plausible extended header, occasionally with an AuxPtr.
            if header & 0x0F == 7, payload.count > 20 { (payload[0], payload[1]) = (UInt8(random.next() % 3) << 6 | 12, 0x19) }
            let channel = ChannelIndex(UInt8(37 + random.next() % 3))
            radio.transmit(
                LEPacket(AirPDU(header: header, payload), Tuning(channel: channel, phy: .le1M), phy: .le1M), at: radio.air.loop.now + 100)
        }

        func transmitted(at end: Microseconds) { next() }
        func received(_ reception: Reception) {}
        func windowClosed() {}
        func preempted() {}
    }

    @Test(arguments: [UInt64(1), 2, 3]) func noiseNeitherEndsAScannerNorAnInitiator(_ seed: UInt64) throws {
        try World.run(hosts: 3, seed: seed) { world in
            let (scanner, central, peripheral) = (world.hosts[0], world.hosts[1], world.hosts[2])
            try await scanner.succeed(
                ExtendedTests.scan([.le1M], type: .active), HCICommands.LESetExtendedScanEnable(enable: 1, filterDuplicates: 1))
            try await central.succeed(ExtendedTests.create(World.address(2)))
            let keeper = Keeper()
            keeper.add(world) { Noise($0, seed, count: 6_000) }
            try await world.loop.sleep(for: .seconds(5))
            #expect(scanner.all(HCIEvents.LEExtendedAdvertisingReport.self).count > 100)
            try await peripheral.advertiseLegacy()
            let event: HCIEvents.LEEnhancedConnectionComplete = try await central.next()
            #expect(event.status == .success)
            keeper.things.removeAll()
        }
    }

    // MARK: Parts

    @Test func accessAddressesKeepTheRules() {
        var random = RandomSource(seed: 5)
        for _ in 0..<2_000 {
            let address = AccessAddress.random(&random)
            let bits = (0..<32).map { address >> UInt32($0) & 1 }
            let changes = zip(bits, bits.dropFirst()).filter { $0 != $1 }.count
            var run = 1
            var longest = 1
            for (a, b) in zip(bits, bits.dropFirst()) {
                run = a == b ? run + 1 : 1
                longest = max(longest, run)
            }
            #expect(longest <= 6 && changes <= 24 && address != 0x8E89_BED6)
            #expect(zip(bits[26...], bits[27...]).filter { $0 != $1 }.count >= 2)
        }
    }

    @Test(arguments: [0, 1, 239, 244, 245, 246, 251, 500, 1_650]) func aChainCarriesTheDataInOrder(_ count: Int) {
        let data = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        var first = ExtendedHeader()
        first.advertiser = DeviceAddress(value: 1)
        first.dataInfo = AdvertisingDataInfo(did: 1, sid: 1)
        var following = ExtendedHeader()
        following.dataInfo = first.dataInfo
        let parts = AuxiliaryChain.split(data, first: first, following: following)
        #expect(parts.flatMap { $0 } == data && !parts.isEmpty)
        for (index, part) in parts.enumerated() {
            var header = index == 0 ? first : following
            if index + 1 < parts.count { header.auxiliaryPointer = AuxiliaryPointer(channel: 3, offset: 300, phy: .le2M) }
            header.data = part
            let payload = header.pdu().payload
            #expect(payload.count <= 255)
            #expect(ExtendedHeader(header.pdu())?.data == part)
        }
    }

    @Test func aFullDuplicateFilterForgetsTheOldest() {
        func key(_ number: UInt64) -> DuplicateFilter.Key {
            .init(advertiser: DeviceAddress(value: number), dataInfo: nil, isScanResponse: false, isDirected: false)
        }
        var filter = DuplicateFilter(capacity: 4)
        let isNew = [0, 1, 2, 3, 0, 4, 0, 3].map { filter.insert(key($0)) }
        #expect(isNew == [true, true, true, true, false, true, true, false])
        filter.remove(key(3))
        let isNewAgain = filter.insert(key(3))
        #expect(isNewAgain)
    }
}
