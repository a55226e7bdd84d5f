import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Several links on one radio.
@Suite struct ManyLinksTests {
    private final class Hub {
        private let base: AirBench
        let radio: Radio
        var near: [LinkEnd] = []
        var far: [LinkEnd] = []

        init(_ location: SourceLocation = #_sourceLocation) {
            base = AirBench(location)
            radio = base.air.makeRadio()
        }

        deinit { base.close(near + far) }

        func connect(role: ConnectionParameters.Role, interval: Microseconds, offset: Microseconds) {
            let number = near.count
            let (own, other) = (LinkEnd(), LinkEnd())
            near.append(own)
            far.append(other)
            let roles: [(LinkEnd, ConnectionParameters.Role, Radio)] = [
                (own, role, radio), (other, role == .central ? .peripheral : .central, base.air.makeRadio()),
            ]
            for (end, role, radio) in roles {
                let configuration = ControllerConfiguration(address: DeviceAddress(value: UInt64(number)))
                end.link = Connection(
                    ConnectionParameters(
                        role: role, handle: ConnectionHandle(UInt16(number)), accessAddress: 0x5A3C_96E1 &+ UInt32(number) * 0x0101_0101,
                        crcInit: 0x123456, interval: interval, peripheralLatency: 0, supervisionTimeout: 2_000_000, channelMap: .all,
                        hopIncrement: 7, usesAlgorithm2: true, phy: .le1M, ownAddress: configuration.address,
                        peerAddress: configuration.address, transmitWindowStart: base.loop.now + 1_250 + offset, transmitWindowSize: 1_250,
                        peerClockAccuracy: 50), configuration: configuration, defaults: LinkDefaults(), radio: radio, delegate: end)
            }
        }

        func run(_ time: Microseconds) throws { try base.run(time) }
    }

    @Test(arguments: [1, 2, 3, 4, 8], [ConnectionParameters.Role.central, .peripheral])
    func saturatedLinksShareTheRadio(count: Int, role: ConnectionParameters.Role) throws {
        let hub = Hub()
        for number in 0..<count { hub.connect(role: role, interval: 30_000, offset: Microseconds(number * 30_000 / count / 1_250 * 1_250)) }
        for end in hub.near + hub.far { end.saturate(4, length: 100) }
        try hub.run(10_000_000)
        var octets: [Int] = []
        for (own, other) in zip(hub.near, hub.far) {
            #expect(own.log == ["established"] && other.log == ["established"])
            #expect(other.received == Array(own.sentOctets.prefix(other.received.count)))
            #expect(own.received == Array(other.sentOctets.prefix(own.received.count)))
            octets.append(own.received.count)
        }
        let total = octets.reduce(0, +)
        // 27 octets per 892 us in both directions, less the unused time at the ends.
        #expect(total > 200_000 && total < 303_000)
        #expect(try #require(octets.min()) * 2 > total / count)
    }

    @Test(arguments: [ConnectionParameters.Role.central, .peripheral])
    func anchorsAtTheSameTimeTakeTurns(role: ConnectionParameters.Role) throws {
        let hub = Hub()
        for _ in 0..<3 { hub.connect(role: role, interval: 30_000, offset: 0) }
        for end in hub.near + hub.far { end.saturate(2, length: 27) }
        try hub.run(10_000_000)
        for (own, other) in zip(hub.near, hub.far) {
            #expect(own.log == ["established"] && other.log == ["established"])
            #expect(other.received == Array(own.sentOctets.prefix(other.received.count)))
            #expect(own.received.count > 20_000)
        }
    }

    @Test func intervalsThatDriftThroughEachOther() throws {
        let hub = Hub()
        hub.connect(role: .central, interval: 30_000, offset: 0)
        hub.connect(role: .peripheral, interval: 31_250, offset: 10_000)
        hub.connect(role: .central, interval: 11_250, offset: 5_000)
        for end in hub.near + hub.far { end.saturate(2, length: 100) }
        try hub.run(20_000_000)
        for (own, other) in zip(hub.near, hub.far) {
            #expect(own.log == ["established"] && other.log == ["established"])
            #expect(other.received == Array(own.sentOctets.prefix(other.received.count)))
            #expect(own.received.count > 50_000)
        }
    }
}
