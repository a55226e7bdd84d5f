import BBBenchTesting
import BBHCI
import BBHost
import BBPackets
import BBProducts
import BBTiming
import Synchronization
import Testing

@testable import BBSessions

/// Sessions over attributes, channels and profiles with a peer on a simulated air.
struct SessionsOnAirTests {
    /// Lines that a session shows.
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    /// Runs a GATT session with the heart rate accessory.
    private static func gatt(isBrief: Bool = false, _ body: @escaping (inout GATTSession) async throws -> Void) throws -> (
        GATTReport, [String]
    ) {
        let lines = Lines()
        let report = try World.run { world in
            let (phone, watch) = (try await world.addHost(1), try await world.addHost(2, database: AccessoryKind.heartRate.database))
            let accessory = ServedAccessory(.heartRate, on: watch)
            await accessory.start()
            world.atEnd { await accessory.stop() }
            let link = try await phone.connectAnswered(to: watch.address)
            var session = GATTSession(.le(link), loop: world.loop, isBrief: isBrief) { lines.add($0) }
            try await session.discover()
            try await body(&session)
            try await session.disconnect()
            return session.report
        }
        return (report, lines.all)
    }

    @Test func aSessionReadsWritesAndSubscribes() throws {
        let (report, lines) = try Self.gatt { session in
            try await session.exchange([.init(uuid: 0x2A37, count: 2)], writes: [(0x2A39, [1]), (0x2A39, [2])], within: 10)
            try await session.read(0x2A38)
        }
        #expect(report.writes.map { $0.error == nil } == [true, false])
        #expect(report.values.count == 2 && report.reads.map(\.value) == ["01"])
        #expect(report.services.contains { $0.characteristics.contains { $0.properties == ["notify"] } })
        #expect(lines.first?.hasPrefix("connected to ") == true && lines.last?.hasPrefix("disconnected: ") == true)
        #expect(try report.json().contains("\"end_handle\""))
    }

    /// A brief session shows only the wanted values.
    @Test func aBriefSessionShowsTheValuesAlone() throws {
        let (_, lines) = try Self.gatt(isBrief: true) { try await $0.read(0x2A38) }
        #expect(lines.count == 1 && lines[0].hasPrefix("01"))
    }

    @Test(
        arguments: [
            (0x2A00, "neither notify nor indicate"), (0x2AFF, "the peer has no characteristic"), (0x2A19, "more values of"),
        ] as [(BluetoothUUID, String)])
    func aSubscriptionThatBringsNothingFails(_ uuid: BluetoothUUID, _ text: String) throws {
        do {
            _ = try Self.gatt { try await $0.exchange([.init(uuid: uuid, count: 1)], writes: [], within: 1) }
            Issue.record("\(uuid) was subscribed to")
        } catch let failure as CommandFailure { #expect(failure.code == .fail && failure.message.contains(text), "\(failure)") }
    }

    // MARK: Channels

    @Test(arguments: [1, 3]) func sdusComeBack(_ channels: Int) throws {
        try World.run { world in
            let (phone, watch) = (try await world.addHost(1), try await world.addHost(2))
            let screens = (RecordedScreen(), RecordedScreen())
            var plan = L2CAPPlan()
            (plan.settings, plan.seconds, plan.channels) = (CreditBasedChannelSettings(mtu: 512, mps: 247, initialCredits: 10), 5, channels)
            let echo = L2CAPSession(plan, on: screens.1)
            let served = world.loop.start { try await echo.echo(watch) }
            try await world.loop.sleep(for: .milliseconds(50))
            try await L2CAPSession(plan, on: screens.0).exchange([[1, 2, 3], [4]], with: watch.address, phone)
            try await served.value()
            #expect(screens.0.lines.count == 3 * channels && screens.0.lines.contains { $0.hasSuffix(": 010203") })
            #expect(screens.1.lines.first?.hasPrefix("advertising as ") == true)
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var advice: String
        var protect: @Sendable (inout ChannelProtection) -> Void
    }

    static let refusals = [
        Refusal(testDescription: "a level", advice: "the channel needs") { $0.level = .encrypted },
        Refusal(testDescription: "nobody is allowed", advice: "--allow") { $0.allowed = [] },
        Refusal(testDescription: "a key size", advice: "the channel needs") { $0.minKeySize = 16 },
    ]

    /// A channel that is refused names the option that helps.
    @Test(arguments: refusals) func aRefusalHasAdvice(_ row: Refusal) throws {
        var (plan, mine) = (L2CAPPlan(), L2CAPPlan())
        row.protect(&plan.protection)
        (plan.seconds, mine.seconds) = (3, 1)
        let plans = (plan, mine)
        try World.run { world in
            let (phone, watch) = (try await world.addHost(1), try await world.addHost(2))
            let listens = world.loop.start { try? await L2CAPSession(plans.0, on: RecordedScreen()).accept(watch) }
            try await world.loop.sleep(for: .milliseconds(50))
            do {
                try await L2CAPSession(plans.1, on: RecordedScreen()).exchange([[1]], with: watch.address, phone)
                Issue.record("the channel was opened")
            } catch let failure as CommandFailure { #expect(failure.code == .fail && failure.message.contains(row.advice), "\(failure)") }
            await listens.ended()
        }
    }

    // MARK: Profiles

    @Test(arguments: [[ClassicProfile.a2dp], [.hfp, .avrcp], [.a2dp, .hfp, .avrcp]]) func aBridgeTellsItsSteps(_ profiles: [ClassicProfile])
        throws
    {
        try World.run { world in
            let (phone, watch) = (try await world.addHost(1), try await world.addHost(2))
            let screens = (RecordedScreen(), RecordedScreen())
            var plan = BridgePlan()
            (plan.seconds, plan.isJSON) = (1, true)
            let ends = (BridgeSession(phone, plan, on: screens.0, side: "phone"), BridgeSession(watch, plan, on: screens.1))
            try await ends.1.offer(Set(profiles), named: "accessory")
            try await ends.0.conclude { try await ends.0.asPhone(watch.address, profiles) }
            #expect(screens.0.lines.first?.contains(#""event":"connected""#) == true && screens.0.lines.last?.contains(#""ended""#) == true)
            for profile in profiles {
                #expect(screens.0.lines.contains { $0.contains(#""event":"found""#) && $0.contains("\"\(profile.title.lowercased())\"") })
            }
            #expect(screens.0.lines.allSatisfy { $0.contains(#""side":"phone""#) } && !screens.1.lines.isEmpty)
        }
    }

    @Test func aPhoneThatNeverComesEndsTheWait() throws {
        try World.run { world in
            let watch = try await world.addHost(1)
            var plan = BridgePlan()
            (plan.advertised, plan.timeout) = ("headset", 3)
            let screen = RecordedScreen()
            let session = BridgeSession(watch, plan, on: screen)
            do { try await session.conclude { try await session.asAccessory([.a2dp]) } } catch let failure as CommandFailure {
                #expect(failure.code == .fail && failure.message.contains("--wait"), "\(failure)")
            }
            #expect(screen.lines.first?.contains("advertising as 'headset'") == true)
        }
    }
}
