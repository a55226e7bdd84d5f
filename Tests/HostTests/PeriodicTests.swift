import BBPackets
import BBSimulation
import BBTiming
import Testing

@testable import BBHost

/// Trains and syncs of two hosts on one air. Core Vol 4, Part E, 7.8.61 to 7.8.69.
@Suite struct PeriodicTests {
    private static func train(_ host: Host, _ octets: [UInt8], interval: UInt16 = 40) async throws -> AdvertisingSet {
        var settings = AdvertisingSettings()
        (settings.properties, settings.sid) = ([], 9)
        let set = try await host.advertise(settings)
        var periodic = PeriodicSettings()
        periodic.data = octets
        (periodic.intervalMin, periodic.intervalMax) = (interval, interval)
        try await set.startPeriodic(periodic)
        return set
    }

    private static let sought = SyncSettings(advertiser: SimulatedHosts.peripheralAddress, sid: 9)

    /// Data of one and of several commands and reports, replaced while the train is on.
    @Test(arguments: [(3, 5), (251, 3), (600, 200), (0, 251)]) func dataArrivesWhole(_ first: Int, _ second: Int) throws {
        try SimulatedHosts.run { world in
            let data = [first, second].map { count in (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) } }
            let set = try await Self.train(world.peripheral, data[0])
            let scan = try await world.central.scan()
            let sync = try await world.central.synchronise(Self.sought)
            #expect(sync.interval == .milliseconds(50) && sync.phy == .le1M && sync.sid == 9)
            #expect(sync.advertiser == SimulatedHosts.peripheralAddress)
            for try await report in scan.reports where report.periodicInterval == .milliseconds(50) { break }
            try await scan.stop()
            var reports = sync.reports.makeAsyncIterator()
            for _ in 0..<4 { #expect(try await reports.next()?.octets == data[0]) }
            try await set.setPeriodicData(data[1])
            var now: [UInt8] = data[0]
            for _ in 0..<12 where now != data[1] { now = try await reports.next()?.octets ?? [] }
            #expect(now == data[1])
            try await sync.end()
            #expect(!sync.isRunning)
            try await set.stopPeriodic()
        }
    }

    @Test func theEndOfATrainIsAnError() throws {
        try SimulatedHosts.run { world in
            let set = try await Self.train(world.peripheral, [1])
            _ = try await world.central.scan()
            var settings = Self.sought
            settings.timeout = 50
            let sync = try await world.central.synchronise(settings)
            try await set.stopPeriodic()
            await #expect(throws: HostError.peer(.timedOut(.periodicSync))) { for try await _ in sync.reports {} }
            #expect(!sync.isRunning)
            try await sync.end()
        }
    }

    /// A search that finds nothing is cancelled in the controller, and another one begins.
    @Test(arguments: [false, true]) func aSearchEnds(isCancelled: Bool) throws {
        try SimulatedHosts.run { world in
            _ = try await world.central.scan()
            let search = world.loop.start { try await world.central.synchronise(Self.sought, within: .seconds(3)) }
            try await world.loop.sleep(for: .seconds(1))
            await #expect(throws: HostError.misuse(.busy(.synchronising))) { _ = try await world.central.synchronise(Self.sought) }
            if isCancelled {
                search.cancel()
                await #expect(throws: CancellationError.self) { _ = try await search.value() }
            } else {
                await #expect(throws: HostError.peer(.timedOut(.periodicSync))) { _ = try await search.value() }
            }
            try await world.loop.sleep(for: .milliseconds(10))
            _ = try await Self.train(world.peripheral, [2])
            var reports = try await world.central.synchronise(Self.sought).reports.makeAsyncIterator()
            #expect(try await reports.next()?.octets == [2])
        }
    }

    @Test func aResetEndsEverything() throws {
        try SimulatedHosts.run { world in
            _ = try await Self.train(world.peripheral, [1])
            _ = try await world.central.scan()
            let sync = try await world.central.synchronise(Self.sought)
            let search = world.loop.start { try await world.central.synchronise(SyncSettings(advertiser: Self.sought.advertiser, sid: 1)) }
            try await world.loop.sleep(for: .milliseconds(100))
            _ = try await world.central.send(HCICommands.Reset())
            #expect(!sync.isRunning)
            await #expect(throws: HostError.self) { _ = try await search.value() }
        }
    }

    @Test func aControllerWithoutTrainsIsToldApart() throws {
        let withoutTrains = { (configuration: inout ControllerConfiguration) in _ = configuration.features.remove(.lePeriodicAdvertising) }
        try SimulatedHosts.run(configure: withoutTrains) { world in
            await #expect(throws: HostError.misuse(.unsupported(.periodicAdvertising))) {
                _ = try await world.central.synchronise(Self.sought)
            }
            await #expect(throws: HostError.misuse(.unsupported(.periodicAdvertising))) { _ = try await Self.train(world.peripheral, [1]) }
        }
    }
}
