import BBDongles
import BBHCI
import BBHost
import BBPackets
import BBSimulation
import BBTiming
import BBTransport
import BBVirtualDongle
import Testing

/// Workarounds from the table of known dongles: a host avoids the faults of such a dongle.
@Suite struct KnownWorkaroundTests {
    /// A host on a dongle with switches, and a second one on a plain dongle.
    struct Stage {
        let host: Host
        let peer: Host
        let loop: BBTiming.RunLoop
        let sent: SentCommands
    }

    struct Row: Sendable, CustomTestStringConvertible {
        /// The workarounds of the table row.
        var words: String
        var quirks: [String]
        /// The quirk that the host reports.
        var lesson: ObservedQuirk.Kind?
        /// Commands that are sent only without the row.
        var avoided: [UInt16] = []
        /// True if the action also succeeds without the row.
        var goesWellWithout = false
        /// Returns true if the action succeeds.
        var act: @Sendable (Stage) async throws -> Bool
        var testDescription: String { words }
    }

    static let rows: [Row] = [
        Row(
            words: "do: [avoids-extended-scan]", quirks: ["no-ext-scan=disallowed"], lesson: .legacyCommandsOnly,
            avoided: [HCICommands.LESetExtendedScanParameters.opcode], goesWellWithout: true, act: hearsPeer),
        Row(
            words: "do: [avoids-extended-connect]", quirks: ["no-ext-create"], lesson: .legacyCommandsOnly,
            avoided: [HCICommands.LEExtendedCreateConnection.opcode], goesWellWithout: true, act: connects),
        Row(
            words: "do: [avoids-extended-advertising]", quirks: ["refuses=LE_Set_Extended_Advertising_Parameters"],
            lesson: .legacyCommandsOnly, avoided: [HCICommands.LESetExtendedAdvertisingParameters.opcode], goesWellWithout: true
        ) { stage in
            let set = try await stage.host.advertise(AdvertisingSettings())
            try await set.stop()
            return true
        },
        Row(words: "do: [avoids-coded-phy]", quirks: ["coded-deaf"], lesson: .codedPHYLeftOut) { stage in
            var settings = ScanSettings()
            settings.phys = [.le1M, .leCoded]
            return try await hears(stage, settings).count > 0
        },
        Row(words: "do: [filters-duplicates-by-address]", quirks: ["strict-duplicates"]) { stage in
            var settings = ScanSettings()
            settings.filtersDuplicates = true
            let heard = try await hears(stage, settings) { set in try await set.setData([2, 1, 4]) }
            return heard.map(\.octets) == [[2, 1, 6], [2, 1, 4]]
        },
        Row(words: "do: [avoids-inquiry-while-scanning]", quirks: ["no-simultaneous-discovery"], lesson: .scanRested) { stage in
            let heard = try await hears(stage, ScanSettings()) { _ in
                var settings = InquirySettings()
                settings.length = 1
                _ = try await stage.host.inquire(settings).ended()
            }
            return heard.count > 2
        },
        Row(words: "do: [answers-vendor-commands-by-event]", quirks: ["vendor-event-only"], lesson: .vendorEventAsAnswer) { stage in
            try await stage.host.sendRaw(opcode: 0xFC00, parameters: [0xC2]).status == .success
        },
        Row(words: "do: [takes-commands-ahead]", quirks: ["command-credits=4", "answer-slow=50"]) { stage in
            let asked = (0..<4).map { _ in stage.loop.start { _ = try? await stage.host.send(HCICommands.LERand()) } }
            for activity in asked { try await activity.value() }
            return (stage.sent.randomNumbers.last ?? .zero) - (stage.sent.randomNumbers.first ?? .zero) < .milliseconds(50)
        },
        Row(words: "do: [voice-buffers=60x7]", quirks: ["absurd-sco-buffers=0x3"]) { stage in
            stage.host.controller.voiceDataLength == 60 && stage.host.controller.voiceDataPackets == 7
        },
        Row(words: "do: [has-shared-address]", quirks: [], lesson: .addressIsShared) { stage in OwnAddress.isStatic(stage.host.address) },
        Row(words: "do: [is-rom-only]", quirks: ["deaf-rom"], lesson: .firmwareMissing, goesWellWithout: true) { _ in true },
        Row(
            words: "do: [is-rom-only-without-address]", quirks: ["zero-address", "deaf-rom"], lesson: .firmwareMissing,
            goesWellWithout: true
        ) { _ in true },
        Row(
            words: "avoid: [Read_Local_Supported_Commands]", quirks: ["silent=Read_Local_Supported_Commands"],
            avoided: [HCICommands.ReadLocalSupportedCommands.opcode]
        ) { stage in stage.host.learned[.unansweredCommand] == nil },
    ]

    @Test(arguments: rows) func theHostAvoidsIt(_ row: Row) throws {
        let (isWell, sent, learned) = try Self.play(row, isKnown: true)
        #expect(isWell && row.avoided.allSatisfy { !sent.contains($0) }, "\(learned.all)")
        if let lesson = row.lesson { #expect(learned[lesson] != nil, "\(learned.all)") }
    }

    @Test(arguments: rows) func withoutTheRowItDoesNot(_ row: Row) throws {
        let (isWell, sent, learned) = try Self.play(row, isKnown: false)
        #expect(isWell == row.goesWellWithout && row.avoided.allSatisfy { sent.contains($0) }, "\(learned.all)")
    }

    /// Every workaround of the table has a row here.
    @Test func everyWorkaroundIsTried() {
        for name in ControllerWorkarounds.names.keys { #expect(Self.rows.contains { $0.words.contains(name) }, "\(name)") }
    }

    // MARK: Actions

    private static let connects: @Sendable (Stage) async throws -> Bool = { stage in
        let set = try await stage.peer.advertise(AdvertisingSettings())
        let link = try await stage.host.connect(to: stage.peer.address)
        _ = set
        return link.isConnected
    }

    private static let hearsPeer: @Sendable (Stage) async throws -> Bool = { try await hears($0, ScanSettings()).count > 0 }

    /// The peer's reports within half a second, and within another half second after an action.
    private static func hears(
        _ stage: Stage, _ settings: ScanSettings, meanwhile: ((AdvertisingSet) async throws -> Void)? = nil
    ) async throws -> [AdvertisingReport] {
        var reports: [AdvertisingReport] = []
        var advertising = AdvertisingSettings()
        advertising.properties = [.legacy]
        advertising.data = [2, 1, 6]
        let set = try await stage.peer.advertise(advertising)
        let scan = try await stage.host.scan(settings) { if !$0.isScanResponse { reports.append($0) } }
        try await stage.loop.sleep(for: .milliseconds(500))
        if let meanwhile {
            try await meanwhile(set)
            try await stage.loop.sleep(for: .milliseconds(500))
        }
        try await scan.stop()
        try await set.stop()
        return reports
    }

    // MARK: Stage

    private static func play(_ row: Row, isKnown: Bool) throws -> (isWell: Bool, sent: Set<UInt16>, LearnedConductList) {
        let loop = BBTiming.RunLoop()
        let simulation = Simulation(loop: loop, seed: 1)
        var table = KnownDongles.builtIn
        try table.add(
            "dongles:\n  - {id: x, name: n, match: {company: 65535}, conduct: c, source: s, advice: a, \(row.words)}", file: "rows")
        let sent = SentCommands()
        let host = try host(2, try DongleConduct(row.quirks), simulation, sent, loop)
        host.limits = host.limits.scaled(by: 0.5)
        if isKnown { host.knowledge = table.knowledge(of: nil) }
        let peer = try self.host(1, DongleConduct(), simulation, SentCommands(), loop)
        let isWell = try loop.run {
            try await host.start()
            try await peer.start()
            let isWell = (try? await row.act(Stage(host: host, peer: peer, loop: loop, sent: sent))) ?? false
            host.close()
            peer.close()
            return isWell
        }
        return (isWell, sent.opcodes, host.learned)
    }

    private static func host(
        _ number: UInt64, _ conduct: DongleConduct, _ simulation: Simulation, _ sent: SentCommands, _ loop: BBTiming.RunLoop
    ) throws -> Host {
        var configuration = ControllerConfiguration(address: DeviceAddress(value: 0x00B1_BE00_0000 + number))
        configuration.profile = .dual
        conduct.apply(to: &configuration)
        let pipe = InProcessTransport.pair(on: loop)
        try simulation.addController(configuration, on: ConductTransport(pipe.controller, conduct: conduct, on: loop))
        return Host(loop: loop, transport: ListeningTransport(pipe.host, sent, loop), seed: number)
    }

    /// The opcodes sent by a host.
    final class SentCommands {
        var opcodes: Set<UInt16> = []
        /// Times of LE_Rand.
        var randomNumbers: [Microseconds] = []
    }

    private final class ListeningTransport: HCITransport {
        var name: String { inner.name }
        private let inner: any HCITransport
        private let sent: SentCommands
        private let loop: BBTiming.RunLoop

        init(_ inner: any HCITransport, _ sent: SentCommands, _ loop: BBTiming.RunLoop) {
            (self.inner, self.sent, self.loop) = (inner, sent, loop)
        }

        func open(_ sink: any HCITransportSink) throws(TransportError) { try inner.open(sink) }
        func send(_ packet: HCIPacket) {
            if let opcode = packet.commandOpcode { sent.opcodes.insert(opcode) }
            if packet.commandOpcode == HCICommands.LERand.opcode { sent.randomNumbers.append(loop.now) }
            inner.send(packet)
        }
        func close() { inner.close() }
    }
}
