import BBHost
import BBPackets
import BBTiming
import Testing

@testable import BBCases
@testable import BBConformance
@testable import BBProducts

/// Devices found over the air, described, and judged by their description.
struct SurveyTests {
    static func survey(_ kind: AccessoryKind, fault: Fault = Fault()) throws -> DeviceDescription {
        try runner(kind, filters: ["accessory-values/formats"], fault: fault).describeDevice()
    }

    private static func runner(
        _ kind: AccessoryKind, filters: [String], device: DeviceDescription? = nil, fault: Fault = Fault(), peer: PeerSelector? = nil
    ) throws -> Runner {
        var setup = BenchSetup(tester: .virtual, subject: .virtual, seed: 1)
        setup.accessory = kind
        setup.peer = peer
        var plan = try RunPlan(catalogue: try SuiteTests.catalogue(), setup: setup, filters: filters)
        plan.device = device
        return Runner(plan, recorder: try Recorder(path: nil), fault: fault)
    }

    @Test(arguments: AccessoryKind.allCases) func aSurveyFindsWhatAnAccessoryServes(_ kind: AccessoryKind) throws {
        let found = try Self.survey(kind)
        #expect(found.device.name == kind.name)
        #expect(found.remarks.isEmpty && found.reordering.isEmpty)
        #expect(found.advertising.isConnectable && found.advertising.response != nil)
        #expect(found.link.mtu > 23 && found.link.phys.contains("2M") && found.link.readvertises != nil)
        #expect(found.services.contains { $0.uuid == .genericAccess } && found.services.count >= 4)
        #expect(found.isReference == (kind == .reference))
        let isProtected = found.services.flatMap(\.characteristics).contains { $0.error == 0x05 }
        #expect(isProtected == [.reference, .keyboard].contains(kind))
    }

    /// A device that takes connections on another PHY, and one that takes them from devices of its list only.
    @Test(
        arguments: [(PHY.le2M, AdvertisingFilterPolicy.all, nil), (.le1M, .connectFromList, "no connection to 'Aloof'")]
            as [(
                PHY, AdvertisingFilterPolicy, String?
            )])
    func aSurveySaysIfNothingCouldBeConnected(_ secondary: PHY, _ policy: AdvertisingFilterPolicy, _ failure: String?) throws {
        let loop = RunLoop(mode: .virtual)
        defer { loop.end() }
        let world = SimulatedWorld(loop: loop, seed: 1)
        try loop.run {
            let tester = Host(loop: loop, transport: try world.addController(.tester, settings: []), database: GATTDatabase(), seed: 1)
            let device = Host(
                loop: loop, transport: try world.addController(.subject, settings: []), database: GATTDatabase(deviceName: "Aloof"), seed: 2
            )
            for host in [tester, device] { _ = try await host.start() }
            var settings = AdvertisingSettings(data: AdvertisingData([.flags(.generalDiscoverable), .completeLocalName("Aloof")]))
            settings.properties = .connectable
            settings.secondaryPHY = secondary
            settings.filterPolicy = policy
            _ = try await device.advertise(settings)
            let surveyor = Surveyor(tester)
            let found = try await surveyor.survey(.name("Aloof"))
            #expect(found.services.isEmpty == (failure != nil))
            #expect(
                failure.map { surveyor.failureToConnect?.contains($0) == true } ?? (surveyor.failureToConnect == nil),
                "\(surveyor.failureToConnect ?? "no failure")")
        }
    }

    /// After pairing, protected values are read, and remain marked as protected.
    @Test func aSurveyThatPairsReadsWhatIsProtected() throws {
        var setup = BenchSetup(tester: .virtual, subject: .virtual, seed: 1)
        setup.accessory = .keyboard
        setup.pairing = PairingChoice()
        let plan = try RunPlan(catalogue: try SuiteTests.catalogue(), setup: setup, filters: ["accessory-values", "accessory-pairing"])
        let runner = Runner(plan, recorder: try Recorder(path: nil))
        let found = try runner.describeDevice()
        let values = found.services.flatMap(\.characteristics).filter { $0.protection == 0x05 }
        #expect(!values.isEmpty && values.allSatisfy { $0.value != nil && $0.error == nil })
        #expect(found.pairing?.isDeclined == false && found.pairing?.keySize == 16)
        // A keyboard lacks the control points and the display that some cases are about.
        let bad = try runner.run().cases.filter { $0.verdict != .pass && $0.verdict != .notApplicable }
        #expect(bad.isEmpty, "\(bad.map { "\($0.id): \($0.message)" })")
    }

    /// A written description can be read and is identical.
    @Test(arguments: AccessoryKind.allCases) func aDescriptionIsReadAsItWasWritten(_ kind: AccessoryKind) throws {
        var found = try Self.survey(kind)
        found.device.name = "a \"b\" \\ \u{7}c: #d"
        found.declares = .init(servicesChange: true, bonds: false, readvertisesWithin: .seconds(3))
        found.declares.protects = [
            .init(characteristic: 0x2A52, needs: .longKey, value: [1, 1], access: [.write]), .init(characteristic: 0x2A37),
        ]
        found.declares.sends = [
            .init(characteristic: 0x2A37, within: .seconds(2)),
            .init(characteristic: 0x2A52, within: .milliseconds(300), stimulus: .init(characteristic: 0x2A52, value: [4, 1])),
        ]
        found.declares.changes = .init(characteristic: 0x2A55, value: [6, 1], undo: [6, 0])
        found.declares.channels = [.init(psm: 0x85, echoes: true), .init(psm: 0x86, needs: .longKey)]
        found.leaveOut = [
            .init(what: .cases("accessory-*"), because: "because"), .init(what: .characteristic(0x2A37), because: "it moves"),
        ]
        found.remarks = ["first", "second: third"]
        found.pairing = .init(isDeclined: true, io: "DisplayOnly", requirements: ["Bonding", "SC"], keySize: 16)
        found.services[0].characteristics[0].protection = 0x05
        #expect(try DeviceDescription.read(found.yaml, file: "device.yaml") == found)
    }

    /// A missing device is reported once, with the devices found instead.
    @Test func aDeviceThatIsNotThereIsToldWithWhoIs() throws {
        let runner = try Self.runner(.thermometer, filters: ["accessory-att"], peer: .name("Nobody"))
        do {
            _ = try runner.describeDevice()
            #expect(Bool(false))
        } catch let failure as SurveyFailure {
            #expect(failure.description.contains("'Nobody' was not found within 10 s; seen instead: "))
            #expect(failure.description.contains("'Bluebench Thermometer'"))
        }
        let result = try runner.run()
        #expect(result.cases.allSatisfy { $0.verdict == .inconclusive && $0.message.contains("was not found") })
    }

    @Test func whatIsLeftOutIsNotJudged() throws {
        var found = try Self.survey(.heartRate)
        found.leaveOut = [.init(what: .cases("accessory-att/mtu"), because: "the maker says so")]
        let result = try Self.runner(.heartRate, filters: ["accessory-att/mtu", "gatt/read"], device: found).run()
        let messages = Dictionary(uniqueKeysWithValues: result.cases.map { ($0.id, $0.message) })
        #expect(result.cases.allSatisfy { $0.verdict == .notApplicable })
        #expect(messages["accessory-att/mtu"] == "left out: the maker says so")
        #expect(messages["gatt/read"]?.contains("docs/guide/accessory.md") == true)
    }

    /// No case fails an accessory of ours, and each accessory has cases that apply.
    @Test(arguments: AccessoryKind.allCases) func ourAccessoriesPass(_ kind: AccessoryKind) throws {
        let result = try Self.runner(kind, filters: ["accessory-*"]).run()
        let bad = result.cases.filter { $0.verdict != .pass && $0.verdict != .notApplicable }
        #expect(bad.isEmpty, "\(bad.map { "\($0.id): \($0.message)" })")
        #expect(result.count(.pass) >= 80)
    }
}
