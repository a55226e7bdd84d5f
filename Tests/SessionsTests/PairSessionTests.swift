import BBBenchTesting
import BBHCI
import BBHost
import BBPackets
import BBTiming
import Testing

@testable import BBSessions

/// Pairing sessions on both ends of a simulated air.
struct PairSessionTests {
    /// One end of a pairing.
    struct End: Sendable {
        var io = IOCapability.noInputNoOutput
        var answers: [String?] = ["yes", "yes"]
        var passkey: UInt32?
        var requests = false
        var pairsAgain = false
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var transport = SessionTransport.le
        var initiator = End()
        var acceptor = End()
        /// Both ends pair before, and keep the bond.
        var isBonded = false
        /// The last lines of the initiator and of the acceptor; of one that fails, the message.
        var ends: (String, String)
    }

    static let rows: [Row] = [
        Row(testDescription: "just works", ends: ("encrypted, Just Works, LE Secure Connections, key of 16 octets, bonded", "bonded")),
        Row(
            testDescription: "a Security Request", acceptor: End(requests: true), ends: ("bonded", "encrypted, Just Works, LE Secure")),
        Row(
            testDescription: "numeric comparison", initiator: End(io: .displayYesNo, answers: ["Yes"]),
            acceptor: End(io: .displayYesNo, answers: ["y", "yes"]), ends: ("Numeric Comparison", "Numeric Comparison")),
        Row(
            testDescription: "a comparison that is denied", initiator: End(io: .displayYesNo, answers: ["no"]),
            acceptor: End(io: .displayYesNo), ends: ("the question was not answered, or answered with no", "")),
        Row(
            testDescription: "a passkey that is known", initiator: End(io: .keyboardOnly, passkey: 123_456),
            acceptor: End(io: .displayOnly, passkey: 123_456), ends: ("Passkey Entry", "Passkey Entry")),
        Row(testDescription: "a bond", isBonded: true, ends: ("encrypted with the key of the bond", "encrypted with the key of the bond")),
        Row(
            testDescription: "a bond, paired again", initiator: End(pairsAgain: true), acceptor: End(pairsAgain: true), isBonded: true,
            ends: ("paired with", "paired with")),
        Row(testDescription: "BR/EDR", transport: .bredr, ends: ("encrypted, Just Works, Secure Connections, key of 16", "bonded")),
        Row(
            testDescription: "BR/EDR, a bond", transport: .bredr, isBonded: true,
            ends: ("encrypted with the key of the bond", "encrypted with the key of the bond")),
    ]

    private static func plan(_ end: End, _ row: Row, waits: Bool) -> PairPlan {
        var plan = PairPlan()
        (plan.transport, plan.advertised, plan.seconds) = (row.transport, waits ? "peer" : nil, 20)
        (plan.requests, plan.pairsAgain, plan.passkey) = (end.requests, end.pairsAgain, end.passkey)
        return plan
    }

    /// Runs a session and returns the last line, or the message of its failure.
    private static func run(_ host: Host, _ end: End, _ row: Row, to peer: DeviceAddress?, on screen: RecordedScreen) async -> String {
        var settings = PairingSettings()
        (settings.ioCapability, settings.passkey) = (end.io, end.passkey)
        settings.asksForMITM = end.io != .noInputNoOutput
        host.pairingSettings = settings
        let plan = plan(end, row, waits: peer == nil)
        let user = PairUser(plan, on: screen)
        host.pairingDialogue = user.dialogue()
        do {
            try await user.report { try await PairSession(host, settings: settings, plan: plan, peer: peer, user: user).run() }
            return screen.lines.last ?? ""
        } catch { return (error as? CommandFailure)?.message ?? "\(error)" }
    }

    @Test(arguments: rows) func bothEndsTellTheSame(_ row: Row) throws {
        try World.run { world in
            let (phone, watch) = (try await world.addHost(1), try await world.addHost(2))
            func pair(_ row: Row) async throws -> (String, String, [RecordedScreen]) {
                let screens = [row.initiator.answers, row.acceptor.answers].map { RecordedScreen(answers: $0) }
                let waiting = world.loop.start { await Self.run(watch, row.acceptor, row, to: nil, on: screens[1]) }
                // A peer over BR/EDR is paged when it can be found.
                try await world.loop.sleep(for: .milliseconds(200))
                let first = await Self.run(phone, row.initiator, row, to: watch.address, on: screens[0])
                return (first, try await waiting.value(), screens)
            }
            if row.isBonded {
                var before = row
                (before.initiator, before.acceptor) = (End(), End())
                _ = try await pair(before)
            }
            let (first, second, screens) = try await pair(row)
            #expect(first.contains(row.ends.0), "\(first) \(screens[0].lines)")
            #expect(row.ends.1.isEmpty || second.contains(row.ends.1), "\(second) \(screens[1].lines)")
            #expect(screens[0].lines.first?.hasPrefix("connected to 02:BB:00:00:00:02") == true)
            #expect(screens[1].lines.first?.contains("'peer'") == true)
            #expect(screens.allSatisfy { !$0.waits.isEmpty })
        }
    }

    /// Nobody comes, or the peer is not there: the message says what to do.
    @Test(
        arguments: [
            (.le, false, "no device connected in time; --seconds"), (.bredr, false, "no device connected in time; --seconds"),
            (.le, true, "the peer did not answer: is it there"), (.bredr, true, "is it there, and does it let others connect?"),
        ] as [(SessionTransport, Bool, String)])
    func aMissingPeerIsExplained(_ transport: SessionTransport, _ hasPeer: Bool, _ text: String) throws {
        try World.run { world in
            let host = try await world.addHost(1)
            let row = Row(testDescription: "", transport: transport, ends: ("", ""))
            let peer = hasPeer ? DeviceAddress(value: 0x02BB_0000_0009, kind: .public) : nil
            let message = await Self.run(host, End(), row, to: peer, on: RecordedScreen())
            #expect(message.contains(text), "\(message)")
        }
    }

    // MARK: Decisions

    @Test(
        arguments: [
            (nil, ["y"], false, true), (nil, [" YES "], false, true), (nil, ["no"], false, false), (nil, [nil], false, false),
            (nil, [], true, true), ("peer", [], false, true),
        ] as [(String?, [String?], Bool, Bool)])
    func aUserConsents(_ peer: String?, _ answers: [String?], _ accepts: Bool, _ consent: Bool) throws {
        try World.run { world in
            let (phone, watch) = (try await world.addHost(1), try await world.addHost(2))
            let set = try await watch.advertise(AdvertisingSettings(data: AdvertisingData([.completeLocalName("p")])))
            let link = try await phone.connect(to: watch.address)
            _ = try await set.connected(within: .seconds(1))
            var plan = PairPlan()
            (plan.advertised, plan.accepts) = (peer == nil ? "me" : nil, accepts)
            let screen = RecordedScreen(answers: answers)
            let user = PairUser(plan, on: screen)
            var given: Bool?
            user.dialogue().consent(link) { given = $0 }
            #expect(given == consent)
            #expect(screen.lines.count == (peer == nil ? 1 : 0))
            try await link.disconnect()
        }
    }

    struct LastLine: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var line: String
        var event: @Sendable (inout PairEvent) -> Void
    }

    static let lastLines = [
        LastLine(testDescription: "nothing known", line: "paired with the peer: , LE legacy pairing, not bonded") { $0.event = "paired" },
        LastLine(
            testDescription: "authenticated",
            line: "paired with C0:00:00:00:00:01/random: authenticated, Passkey Entry, LE Secure Connections, key of 16 octets, bonded"
        ) {
            ($0.event, $0.peer, $0.level, $0.model) = ("paired", "C0:00:00:00:00:01/random", "authenticated", "Passkey Entry")
            ($0.secureConnections, $0.keySize, $0.bonded) = (true, 16, true)
        },
        LastLine(
            testDescription: "E0 with a key of Secure Connections",
            line: "encrypted with the key of the bond with p: encrypted, Secure Connections, warning: \(BridgeEvent.downgrade), bonded"
        ) {
            ($0.peer, $0.level, $0.transport, $0.cipher) = ("p", "encrypted", "bredr", "e0")
            ($0.secureConnections, $0.isDowngraded, $0.bonded) = (true, true, true)
        },
    ]

    @Test(arguments: lastLines) func theLastLineSaysHowItIsProtected(_ row: LastLine) {
        var event = PairEvent("encrypted")
        row.event(&event)
        #expect(event.line == row.line)
        #expect(event.json.hasSuffix("}\n") && !event.json.contains("is_downgraded"))
    }

    @Test(arguments: [(0, "000000"), (7, "000007"), (123_456, "123456")] as [(UInt32, String)])
    func aPasskeyHasSixDigits(_ number: UInt32, _ text: String) { #expect(PairEvent.digits(number) == text) }

    @Test(
        arguments: [
            (CancellationError(), .bench, "interrupted"), (TimeOut(), .bench, "--seconds"),
            (HostError.peer(.pairingFailed(.pairingNotSupported)), .fail, "put into a pairing mode"),
            (HostError.peer(.pairingRefused(.confirmValueFailed)), .fail, "the passkeys, or the data out of band, differ"),
            (HostError.peer(.disconnected(.connectionTerminatedDueToMICFailure)), .fail, "pair --again"),
            (HostError.peer(.timedOut(.connection)), .bench, "is it there"),
        ] as [(any Error, CommandFailure.Code, String)])
    func aFailureHasAdvice(_ error: any Error, _ code: CommandFailure.Code, _ advice: String) {
        let failure = PairAdvice.failure(error)
        #expect(failure.code == code && failure.message.contains(advice), "\(failure)")
    }

    @Test(
        arguments: [
            ("{}", .le, "needs: tk"), (#"{"confirm": "00"}"#, .le, "needs: tk, or confirm and random"),
            (#"{"tk": "zz"}"#, .le, "16 octets in hexadecimal"), (#"{"tk": "000102030405060708090A0B0C0D0E0F"}"#, .le, nil),
            (#"{"tk": "000102030405060708090A0B0C0D0E0F"}"#, .bredr, "BR/EDR needs: c192, r192, c256 and r256"),
            ("text", .le, "no out-of-band data"),
        ] as [(String, SessionTransport, String?)])
    func dataOutOfBandIsChecked(_ text: String, _ transport: SessionTransport, _ mistake: String?) throws {
        try withFolder(["oob.json": text]) { folder in
            do {
                let data = try PairingData(file: "\(folder)/oob.json", for: transport)
                #expect(mistake == nil && data.data.temporaryKey?.first == 0x0F)
            } catch let failure as CommandFailure { #expect(mistake.map { failure.message.contains($0) } == true, "\(failure)") }
        }
    }
}
