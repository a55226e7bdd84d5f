import BBHost
import BBPackets
import Testing

@testable import CoreBluetooth

/// Phones that behave like known ones.
@Suite struct PersonaTests {
    /// Each built-in phone: its file is right, each value has a source, and a pair with it works from the scan to a protected value.
    @Test(arguments: CBPhonePersona.names) func everyPersonaWorks(name: String) throws {
        let persona = try CBPhonePersona(named: name)
        #expect(persona.name == name && !persona.about.isEmpty && persona.values.count >= 5)
        #expect(persona.values.allSatisfy { $0.source.count > 10 && !$0.seen.isEmpty && ["A", "B", "C"].contains($0.certainty) })
        var traits = CBPhoneTraits()
        traits.persona = persona
        let pair = Pair(phone: traits)
        #expect(pair.connect())
        let (peripheral, link) = (try #require(pair.central.peripheral), try #require(pair.phone.host.connections.first))
        #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) == min(512, persona.mtu(octets: 251) - 3))
        #expect((persona.connection.intervalMin...persona.connection.intervalMax).contains(link.parameters.interval))
        #expect(link.parameters.supervisionTimeout == persona.connection.supervisionTimeout)
        pair.bench.run(for: 2)
        #expect(link.dataLength.txOctets == 251)
        #expect((link.phys.tx == .le2M) == persona.start.contains(.phy))
        peripheral.readValue(for: try #require(pair.central.characteristic("FF01")))
        #expect(pair.run { pair.central.log.last == "value" })
        #expect(pair.phone.launchTime == persona.launchTime)
        #expect(CBPhonePersona.files.keys.contains(name))
    }

    /// Without longer packets at the peer, an iPhone asks for a smaller MTU, and the others for the same.
    @Test(arguments: [("ios-26", 182), ("ios-18", 182), ("android-15-pixel", 512)]) func theMTUDependsOnThePeer(name: String, most: Int)
        throws
    {
        var (traits, short) = (CBPhoneTraits(), CBPhoneTraits())
        traits.persona = try CBPhonePersona(named: name)
        short.packetOctets = 27
        let pair = Pair(accessory: short, phone: traits)
        #expect(pair.connect())
        #expect(pair.central.peripheral?.maximumWriteValueLength(for: .withoutResponse) == most)
        pair.bench.run(for: 2)
        #expect(pair.phone.host.connections.first?.dataLength.txOctets == 27)
    }

    /// Interval, latency and timeout that a peripheral asks for, in units of 1.25 and 10 ms, and what the phone sets.
    @Test(
        arguments: [
            ("ios-26", 12, 12, 0, 600, 12), ("ios-26", 12, 24, 0, 600, 24), ("ios-26", 24, 36, 30, 600, 36), ("ios-26", 6, 6, 0, 600, nil),
            ("ios-26", 12, 18, 0, 600, nil), ("ios-26", 13, 40, 0, 600, nil), ("ios-26", 12, 24, 31, 600, nil),
            ("ios-26", 12, 24, 0, 599, nil),
            ("ios-26", 12, 24, 0, 1_801, nil), ("ios-26", 120, 160, 30, 1_800, nil), ("ios-26", 120, 150, 30, 1_800, 150),
            ("ios-26", 120, 150, 30, 1_743, nil), ("android-15-pixel", 6, 6, 0, 500, 9), ("android-15-pixel", 8, 16, 0, 500, 16),
            ("android-15-pixel", 80, 100, 2, 500, 100), ("android-15-pixel", 80, 100, 40, 500, nil),
        ] as [(String, Int, Int, Int, Int, Int?)])
    func parametersAreGrantedAsThePhoneDoes(name: String, least: Int, most: Int, latency: Int, timeout: Int, granted: Int?) throws {
        let request = ConnectionParameterRequest(
            intervalMin: UInt16(least), intervalMax: UInt16(most), latency: UInt16(latency), supervisionTimeout: UInt16(timeout))
        let result = try CBPhonePersona(named: name).granted(request)
        #expect(result?.intervalMax == granted.map { UInt16($0) })
        #expect(result.map { $0.intervalMin <= $0.intervalMax } ?? true)
    }

    /// The peripheral's request goes over the air, and the phone's answer with it.
    @Test(arguments: [("ios-26", false), ("android-15-pixel", true)]) func aRequestOfAPeripheralIsAnswered(name: String, isGranted: Bool)
        throws
    {
        var traits = CBPhoneTraits()
        traits.persona = try CBPhonePersona(named: name)
        let pair = Pair(phone: traits)
        #expect(pair.connect())
        pair.bench.run(for: 2)
        let (link, phone) = (try #require(pair.accessoryPhone.host.connections.first), try #require(pair.phone.host.connections.first))
        pair.bench.start { _ = try? await link.requestParameters(ConnectionParameterRequest(interval: 6, supervisionTimeout: 500)) }
        pair.bench.run(for: 3)
        #expect((phone.parameters.interval == 9) == isGranted)
        if !isGranted { #expect(phone.parameters.interval == 24) }
    }

    /// iOS 26 changes the interval of an accessory with the HID service for ever, once it has granted its parameters; earlier ones do not.
    @Test(arguments: [("ios-26", 0x1812, true), ("ios-26", 0x180F, false), ("ios-18", 0x1812, false)] as [(String, UInt16, Bool)])
    func theIntervalOfAKeyboardIsChanged(name: String, service: UInt16, isChanged: Bool) throws {
        let bench = CBBench()
        let database = GATTDatabase()
        database.add(ServiceDefinition(BluetoothUUID(service), characteristics: []))
        let keyboard = bench.host("keyboard", database: database)
        bench.start {
            try await keyboard.start()
            _ = try await keyboard.advertise(AdvertisingSettings(data: AdvertisingData([.flags(.generalDiscoverable)])))
        }
        let central = CentralProgram(on: try bench.phone("phone", persona: name))
        #expect(bench.run { central.manager.state == .poweredOn })
        central.manager.scanForPeripherals(withServices: nil)
        #expect(bench.run { central.log.contains("connected") })
        bench.run(for: 3)
        let link = try #require(keyboard.connections.first)
        var intervals: [UInt16] = []
        link.events.add { event in if case .parametersUpdated(let parameters) = event { intervals.append(parameters.interval) } }
        bench.start { _ = try? await link.requestParameters(ConnectionParameterRequest(interval: 12, supervisionTimeout: 600)) }
        bench.run(for: 5)
        #expect(intervals.first == 12 && (intervals.count > 10) == isChanged, "\(intervals)")
        #expect(Set(intervals) == (isChanged ? [6, 12] : [12]) && link.isConnected)
    }

    private static let head = "persona: mine\nabout: my phone\nvalues:\n"
    private static let proof = "seen: here, certainty: B, source: a capture"

    /// A wrong file is refused with line, column and what it could mean.
    @Test(arguments: [
        ("", "1:1: the file is empty"), ("- 1", "1:1: a persona is a set of `name: value` lines"), ("persona: [", "2:1: not YAML"),
        ("persona: mine\nvalues: {}", "1:1: `about:` is missing"), ("persona: mine\nabout: x\n", "1:1: `values:` is missing"),
        (head + "  intervall: {value: 24, \(proof)}", "4:3: `values:` has no 'intervall'; did you mean interval?"),
        (head + "  interval: {valu: 24, \(proof)}", "4:14: a value has no 'valu'; did you mean value?"),
        (head + "  interval: 24", "4:13: interval is a set of `name: value` lines"),
        (head + "  interval: {value: 24, seen: here, certainty: B}", "4:13: `source:` is missing"),
        (head + "  interval: {value: 24, seen: here, certainty: D, source: memory}", "4:13: certainty is A (in code"),
        (head + "  interval: {value: 5, \(proof)}", "4:21: interval is a number from 6 to 3200, or a range such as 8..16, not '5'"),
        (head + "  interval: {value: 16..8, \(proof)}", "4:21: interval is a number"),
        (head + "  latency: {value: many, \(proof)}", "4:20: latency is a number from 0 to 499, not 'many'"),
        (head + "  keys: {value: \"10\", \(proof)}", "4:17: keys is a number in hexadecimal from 0 to F, not '10'"),
        (head + "  start: {value: [lenght, mtu], \(proof)}", "4:19: start has no 'lenght'; did you mean length?"),
        (head + "  hid_intervals: {value: [6, 5], \(proof)}", "4:30: hid_intervals are numbers from 6 to 3200, not '5'"),
        (head + "  parameters: {value: adg-r17, \(proof)}", "4:23: parameters has no 'adg-r17'; did you mean adg-r31?"),
        (head + "  overflow_area: {value: perhaps, \(proof)}", "4:26: overflow_area is true or false, not 'perhaps'"),
        (
            head + "  timeout: {value: 10, \(proof)}\n  latency: {value: 499, \(proof)}",
            "1:1: interval, latency and timeout do not fit together"
        ),
    ])
    func aWrongFileIsRefused(text: String, expected: String) throws {
        let error = #expect(throws: (any Error).self) { try CBPhonePersona(text: text, file: "mine.yaml") }
        let lines = error.map { "\($0)".split(separator: "\n") } ?? []
        #expect(lines.contains { $0.hasPrefix("mine.yaml:" + expected) }, "\(lines)")
    }

    /// A file of one's own; what it leaves out is the module's own value.
    @Test func aFileOfOnesOwnIsRead() throws {
        let persona = try CBPhonePersona(text: Self.head + "  mtu: {value: 100, \(Self.proof)}", file: "mine.yaml")
        #expect(persona.mtu == 100 && persona.connection == CBPhonePersona().connection && !persona.hasOverflowArea)
        #expect(persona.values == [CBPhonePersona.Value(key: "mtu", text: "100", seen: "here", certainty: "B", source: "a capture")])
        #expect(throws: CBPhonePersonaError.self) { try CBBench().phone("phone", persona: "ios-27") }
    }
}
