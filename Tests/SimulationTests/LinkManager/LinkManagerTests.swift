import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Messages between two link managers and reports to their hosts. Core Vol 2, Part C, 4.1, 4.3 and 4.4.
@Suite struct LinkManagerTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var pdus: [String]
        var a: [String]
        var b: [String]
        /// Called before the connection is established.
        var setUp: @Sendable (LMPBench) -> Void = { _ in }
        /// True if the connection is already established.
        var isConnected = true
        var act: @Sendable (LMPBench) -> Void
    }

    private static let features = [
        "A0 featuresReq", "B0 featuresRes", "A0 featuresReqExt", "B0 featuresResExt", "A0 featuresReqExt", "B0 featuresResExt",
    ]
    private static let packets = ["A0 maxSlot", "A0 packetTypeTableReq", "B1 maxSlot", "B0 +packetTypeTableReq"]
    private static let table = ["B0 packetTypeTableReq", "A0 +packetTypeTableReq"]
    private static let withoutPages = LMPBench.page0.subtracting(.extendedPages)

    private static let connecting: [Row] = [
        Row(
            testDescription: "connection",
            pdus: PairingTests.all(
                features, ["A0 hostConnectionReq", "B0 +hostConnectionReq", "B1 setupComplete", "A0 setupComplete"], packets),
            a: ["connected 00", "slots 5"], b: ["connection requested", "connected 00", "slots 5"], isConnected: false,
            act: { $0.a.connection.establish() }),
        Row(
            testDescription: "connection of a controller without extended pages",
            pdus: [
                "A0 featuresReq", "B0 featuresRes", "A0 hostConnectionReq", "B0 +hostConnectionReq", "B1 setupComplete", "A0 setupComplete",
            ] + packets,
            a: ["connected 00", "slots 5"], b: ["connection requested", "connected 00", "slots 5"],
            setUp: { $0.b.linkManagerSettings = LMPBench.settings("B", page0: withoutPages) }, isConnected: false,
            act: { $0.a.connection.establish() }),
        Row(
            testDescription: "the host refuses the connection",
            pdus: PairingTests.all(features, ["A0 hostConnectionReq", "B0 -hostConnectionReq 0F", "A0 detach"]),
            a: ["connected 0F", "disconnected 16"], b: ["connection requested", "connected 0F", "disconnected 0F"],
            setUp: { bench in
                bench.b.answers = { $0 == .connectionRequested ? .refusesConnection(.connectionRejectedDueToUnacceptableBDADDR) : nil }
            }, isConnected: false, act: { $0.a.connection.establish() }),
        // The request keeps its transaction ID during the role switch.
        Row(
            testDescription: "the host accepts as central",
            pdus: PairingTests.all(
                features,
                [
                    "A0 hostConnectionReq", "B1 slotOffset", "B1 switchReq", "A1 +switchReq", "B0 +hostConnectionReq", "B0 setupComplete",
                    "A1 setupComplete", "A1 maxSlot", "B0 maxSlot", "B0 packetTypeTableReq", "A0 +packetTypeTableReq",
                ]), a: ["peripheral 00", "connected 00", "slots 5"],
            b: ["connection requested", "central 00", "connected 00", "slots 5"],
            setUp: { bench in bench.b.answers = { $0 == .connectionRequested ? .acceptsConnection(asCentral: true) : nil } },
            isConnected: false, act: { $0.a.connection.establish() }),
        Row(
            testDescription: "the host accepts as central, but the other side stays it",
            pdus: PairingTests.all(
                features,
                [
                    "A0 hostConnectionReq", "B1 slotOffset", "B1 switchReq", "A1 -switchReq 21", "B0 +hostConnectionReq",
                    "B1 setupComplete",
                    "A0 setupComplete",
                ], packets), a: ["connected 00", "slots 5"], b: ["connection requested", "peripheral 21", "connected 00", "slots 5"],
            setUp: { bench in
                bench.a.linkManagerSettings.allowsRoleSwitch = false
                bench.b.answers = { $0 == .connectionRequested ? .acceptsConnection(asCentral: true) : nil }
            }, isConnected: false, act: { $0.a.connection.establish() }),
        Row(
            testDescription: "the packet type table is too early while the link is set up",
            pdus: ["B1 packetTypeTableReq", "A1 -packetTypeTableReq 24"], a: [], b: [], isConnected: false,
            act: { $0.inject(LMP.PacketTypeTableReq(packetTypeTable: 1).bytes(.peripheral), from: $0.b) }),
        Row(
            testDescription: "the other side does not answer",
            pdus: ["A0 featuresReq"], a: ["disconnected 22"], b: [],
            setUp: { $0.onTheWay = { _, _ in nil } }, isConnected: false, act: { $0.a.connection.establish() }),
    ]

    private static let asking: [Row] = [
        Row(
            testDescription: "detach", pdus: ["A0 detach"], a: ["disconnected 16"], b: ["disconnected 13"],
            act: { _ = $0.a.connection.disconnect(.remoteUserTerminatedConnection) }),
        Row(
            testDescription: "detach that nobody acknowledges", pdus: ["B1 detach"], a: [], b: ["disconnected 16"],
            act: {
                $0.onTheWay = { _, _ in nil }
                _ = $0.b.connection.disconnect(.remoteUserTerminatedConnection)
            }),
        Row(
            testDescription: "features and version, which are known then",
            pdus: ["B1 versionReq", "A1 versionRes"],
            a: [
                "features \(String(LMPBench.page0.rawValue, radix: 16)) 00",
                "features 1/2 9 00", "version 13 65535 1 00",
            ],
            b: ["version 13 65535 1 00"],
            act: { bench in
                bench.b.connection.readRemoteVersion()
                bench.loop.schedule(after: 100_000) {
                    bench.a.connection.readRemoteFeatures()
                    bench.a.connection.readRemoteExtendedFeatures(page: 1)
                    bench.a.connection.readRemoteVersion()
                }
            }),
        Row(
            testDescription: "a page of features that is not there",
            pdus: ["A0 featuresReqExt", "B0 featuresResExt"], a: ["features 7/2 0 00"], b: [],
            act: { $0.a.connection.readRemoteExtendedFeatures(page: 7) }),
        Row(
            testDescription: "extended features of a controller without them", pdus: [], a: ["features 1/0 0 1A"], b: [],
            setUp: { $0.b.linkManagerSettings = LMPBench.settings("B", page0: withoutPages) },
            act: { $0.a.connection.readRemoteExtendedFeatures(page: 1) }),
        Row(
            testDescription: "a long name",
            pdus: ["B1 nameReq", "A1 nameRes", "B1 nameReq", "A1 nameRes", "B1 nameReq", "A1 nameRes"], a: [],
            b: ["name A device with a name of 33 octets 00"],
            setUp: { $0.a.linkManagerSettings = LMPBench.settings("A device with a name of 33 octets") },
            act: { $0.b.connection.requestName() }),
        Row(
            testDescription: "no name", pdus: ["A0 nameReq", "B0 nameRes"], a: ["name  00"], b: [],
            setUp: { $0.b.linkManagerSettings = LMPBench.settings("") }, act: { $0.a.connection.requestName() }),
        Row(
            testDescription: "clock offset, which the peripheral knows by itself", pdus: ["A0 clkoffsetReq", "B0 clkoffsetRes"],
            a: ["clock offset 4660 00"], b: ["clock offset 4660 00"],
            act: { for end in [$0.a, $0.b] { end.connection.readClockOffset() } }),
        Row(
            testDescription: "supervision time-out, which only the central tells", pdus: ["A0 supervisionTimeout"], a: [], b: [],
            act: { for end in [$0.a, $0.b] { end.connection.setSupervisionTimeout(0x0C80) } }),
        Row(
            testDescription: "polling", pdus: ["A0 qualityOfService", "B1 qualityOfServiceReq", "A1 +qualityOfServiceReq"],
            a: ["polled every 20 00"], b: ["polled every 30 00"],
            act: {
                $0.a.connection.request(LocalQualityOfService(interval: 20))
                $0.b.connection.request(LocalQualityOfService(interval: 30))
            }),
        Row(
            testDescription: "authentication too soon after one that failed, by this side", pdus: [], a: ["authenticated 17"], b: [],
            setUp: { $0.a.linkManagerSettings.isAuthenticationBarred = true }, act: { _ = $0.a.connection.authenticate() }),
        Row(
            testDescription: "authentication too soon after one that failed, by the other side", pdus: ["A0 auRand", "B0 -auRand 17"],
            a: ["key?", "authenticated 17"], b: [],
            setUp: { bench in
                bench.b.linkManagerSettings.isAuthenticationBarred = true
                bench.a.answers = { $0 == .linkKeyRequested ? .linkKey(PairingTests.key) : nil }
            }, act: { _ = $0.a.connection.authenticate() }),
        Row(
            testDescription: "ping", pdus: ["B1 pingReq", "A1 pingRes"], a: [], b: [], act: { $0.b.connection.request(LocalLMPPing()) }),
        Row(
            testDescription: "the central asks for a switch of roles",
            pdus: PairingTests.all(["A0 switchReq", "B0 slotOffset", "B0 +switchReq"], table),
            a: ["peripheral 00"], b: ["central 00"], act: { _ = $0.a.connection.switchRole(to: .peripheral) }),
        Row(
            testDescription: "both ask for a switch of roles: the central's is made",
            pdus: PairingTests.all(
                ["A0 switchReq", "B1 slotOffset", "B1 switchReq", "B0 slotOffset", "B0 +switchReq", "A1 -switchReq 23"], table),
            a: ["peripheral 00"], b: ["peripheral 23", "central 00"],
            act: {
                _ = $0.a.connection.switchRole(to: .peripheral)
                _ = $0.b.connection.switchRole(to: .central)
            }),
        Row(
            testDescription: "a switch of roles fails on the air", pdus: ["B1 slotOffset", "B1 switchReq", "A1 +switchReq"],
            a: ["central 35"], b: ["peripheral 35"],
            setUp: { for end in [$0.a, $0.b] { end.wire.switchesRoles = false } },
            act: { _ = $0.b.connection.switchRole(to: .central) }),
        Row(
            testDescription: "an instant that has passed", pdus: ["A0 switchReq", "B0 -switchReq 28"], a: [], b: [],
            act: { $0.inject(LMP.SwitchReq(switchInstant: 0).bytes(.central), from: $0.a) }),
    ]

    private static let wish = SniffRequest(intervals: 80...800, attempt: 4, timeout: 1)
    /// A sniff request of A with an interval.
    private static func sniff(_ interval: UInt16, offset: UInt16 = 0, attempt: UInt16 = 4) -> [UInt8] {
        LMP.SniffReq(timingControlFlags: 0, dSniff: offset, tSniff: interval, sniffAttempt: attempt, sniffTimeout: 1).bytes(.central)
    }
    /// B answers each sniff request of A with its own.
    private static func counters(_ interval: UInt16) -> @Sendable (LMPBench) -> Void {
        { bench in
            bench.onTheWay = { pdu, sender in
                guard sender == "B", LMPMessage(pdu)?.accepts(LMP.SniffReq.self) == true else { return pdu }
                return sniff(interval)
            }
        }
    }

    private static let modes: [Row] = [
        Row(
            testDescription: "sniff mode, wanted by the central, and back, wanted by the peripheral",
            pdus: ["A0 sniffReq", "B0 +sniffReq", "B1 unsniffReq", "A1 +unsniffReq"], a: ["sniff 800 00", "sniff - 00"],
            b: ["sniff 800 00", "sniff - 00"],
            act: { bench in
                #expect(bench.a.connection.enterSniff(wish) == .success)
                bench.loop.schedule(after: 1_000_000) {
                    #expect(bench.a.connection.state.sniff == bench.b.connection.state.sniff && bench.a.connection.state.sniff != nil)
                    #expect(bench.a.wire.changes.suffix(1) == bench.b.wire.changes.suffix(1))
                    #expect(bench.b.connection.enterSniff(wish) == .commandDisallowed)
                    #expect(bench.b.connection.exitSniff() == .success)
                }
            }),
        Row(
            testDescription: "sniff mode that the other side does not allow", pdus: ["B1 sniffReq", "A1 -sniffReq 24"], a: [],
            b: ["sniff - 24"], setUp: { $0.a.linkManagerSettings.allowsSniff = false },
            act: { _ = $0.b.connection.enterSniff(wish) }),
        Row(
            testDescription: "a counter-offer within the host's range", pdus: ["A0 sniffReq", "B0 +sniffReq", "A0 +sniffReq"],
            a: ["sniff 100 00"], b: ["sniff 800 00"], setUp: { _ in },
            act: {
                counters(100)($0)
                _ = $0.a.connection.enterSniff(wish)
            }),
        Row(
            testDescription: "a counter-offer beyond the host's range", pdus: ["A0 sniffReq", "B0 +sniffReq", "A0 -sniffReq 20"],
            a: ["sniff - 20"], b: ["sniff 800 00"],
            act: {
                counters(1_000)($0)
                _ = $0.a.connection.enterSniff(wish)
            }),
        Row(
            testDescription: "both want sniff mode: the central's is entered",
            pdus: ["A0 sniffReq", "B1 sniffReq", "B0 +sniffReq", "A1 -sniffReq 23"], a: ["sniff 800 00"],
            b: ["sniff 800 00", "sniff - 23"],
            act: { for end in [$0.a, $0.b] { _ = end.connection.enterSniff(wish) } }),
        Row(
            testDescription: "roles are switched in active mode only",
            pdus: PairingTests.all(
                ["A0 sniffReq", "B0 +sniffReq", "B1 unsniffReq", "A1 +unsniffReq", "B1 slotOffset", "B1 switchReq", "A1 +switchReq"], table),
            a: ["sniff 800 00", "sniff - 00", "peripheral 00"], b: ["sniff 800 00", "sniff - 00", "central 00"],
            act: { bench in
                _ = bench.a.connection.enterSniff(wish)
                bench.loop.schedule(after: 1_000_000) { _ = bench.b.connection.switchRole(to: .central) }
            }),
        Row(
            testDescription: "the central adapts hopping, and ends it", pdus: ["A0 setAFH", "A0 setAFH"], a: [], b: [],
            act: { bench in
                let map = AdaptedChannelMap(0xFF_FFFF)
                for map in [map, map, nil] {
                    for end in [bench.a, bench.b] { end.connection.setChannelMap(map) }
                    #expect(bench.a.wire.changes.contains { if case .channelMap(map, _) = $0 { true } else { false } })
                }
                bench.loop.schedule(after: 1_000_000) {
                    #expect(bench.a.wire.changes.suffix(2) == bench.b.wire.changes.suffix(2))
                }
            }),
    ]

    /// Unexpected PDUs. Core Vol 2, Part C, 2.5.
    private static let refused: [(String, [UInt8], String?)] = [
        ("unknown", [67 << 1], "-unknown 19"), ("unknown, with parameters", [120 << 1, 1, 2, 3], "-unknown 19"),
        ("unknown extended", [127 << 1, 99], "-unknown 19"), ("unknown escape", [124 << 1, 3], "-unknown 19"),
        ("too short", [LMPHeader(.central, opcode: LMP.AuRand.opcode).bytes[0], 1, 2], "-auRand 1E"),
        ("too long", LMP.FeaturesReq(features: 0).bytes(.central) + [0], "-featuresReq 1E"),
        ("an acceptance that is too short", [3 << 1], nil), ("an acceptance of nothing", LMP.Accepted(opcode: 51).bytes(.central), nil),
        ("a refusal of nothing", LMP.NotAccepted(opcode: 51, errorCode: 0x20).bytes(.central), nil),
        ("an answer to nothing", LMP.FeaturesRes(features: 0).bytes(.central), nil),
        ("a feature that nobody has", LMP.HoldReq(holdTime: 100, holdInstant: 100).bytes(.central), "-holdReq 1A"),
        ("a request for a connection that is made", LMP.HostConnectionReq().bytes(.central), "-hostConnectionReq 24"),
        ("no such table", LMP.PacketTypeTableReq(packetTypeTable: 2).bytes(.central), "-packetTypeTableReq 1E"),
        ("packets of four slots", LMP.MaxSlotReq(maxSlots: 4).bytes(.central), "-maxSlotReq 1E"),
        ("polling too often", LMP.QualityOfServiceReq(pollInterval: 4, nBc: 0).bytes(.central), "-qualityOfServiceReq 1E"),
        ("in a transaction of the other side", LMP.VersionReq().bytes(.peripheral), "-versionReq 24"),
        ("sniff mode with an odd interval", sniff(81), "-sniffReq 1E"),
        ("sniff mode without attempts", sniff(80, attempt: 0), "-sniffReq 1E"),
        ("an anchor point beyond the interval", sniff(80, offset: 80), "-sniffReq 1E"),
        ("more attempts than slots", sniff(8, attempt: 5), "-sniffReq 1E"),
        ("sniff mode slower than anybody has to keep", sniff(0x0542), "-sniffReq 20"),
        ("leaving active mode", LMP.UnsniffReq().bytes(.central), "-unsniffReq 24"),
        ("too few channels", LMP.SetAFH(afhInstant: 0, afhMode: 1, afhChannelMap: [UInt8](repeating: 1, count: 10)).bytes(.central), nil),
        ("no opcode at all", [], nil), ("half an opcode", [127 << 1], nil),
    ]

    private static let strange = refused.map { name, pdu, answer in
        Row(testDescription: name, pdus: answer.map { [$0] } ?? [], a: [], b: [], act: { $0.inject(pdu, from: $0.a) })
    }

    @Test(arguments: connecting + asking + modes) func sequence(_ row: Row) throws {
        let bench = LMPBench()
        row.setUp(bench)
        if row.isConnected { try bench.connect() }
        row.act(bench)
        try bench.run(40_000_000)
        #expect(bench.sent == row.pdus)
        #expect(bench.a.log == row.a)
        #expect(bench.b.log == row.b)
    }

    /// The future central sends its slot offset. Core Vol 2, Part C, 4.4.1.
    @Test(arguments: [true, false]) func slotOffset(isAskedByCentral: Bool) throws {
        let bench = LMPBench()
        try bench.connect()
        var told: [LMP.SlotOffset] = []
        bench.onTheWay = { pdu, _ in
            if case .slotOffset(let offset) = LMPMessage(pdu)?.pdu { told.append(offset) }
            return pdu
        }
        let role: LinkRole = isAskedByCentral ? .peripheral : .central
        _ = (isAskedByCentral ? bench.a : bench.b).connection.switchRole(to: role)
        try bench.run()
        #expect(told.map(\.slotOffset) == [777] && told.map(\.bdADDR) == [LMPBench.addresses.b])
        for end in [bench.a, bench.b] {
            #expect(end.wire.changes.contains { if case .roleSwitch(_, let offset) = $0 { offset?.microseconds == 777 } else { false } })
        }
    }

    /// Each failure doubles the waiting interval; eight intervals without a failure halve it. Core Vol 2, Part H, 5.1.
    @Test func waitingIntervals() {
        let device = LMPBench.addresses.b
        var attempts = FailedAttempts()
        var now = Microseconds.zero
        // Milliseconds after the end of the last interval, and the next interval.
        for (pause, wait) in [(0, 500), (0, 1_000), (1, 2_000), (0, 4_000), (32_000, 4_000), (600_000, 500), (0, 1_000)] {
            now = now + .milliseconds(pause)
            attempts.failed(device, at: now)
            let end = now + .milliseconds(wait)
            #expect(attempts.isBarred(device, at: end - 1) && !attempts.isBarred(device, at: end), "\(pause) \(wait)")
            #expect(!attempts.isBarred(LMPBench.addresses.a, at: now))
            now = end
        }
        for _ in 0..<20 { attempts.failed(device, at: now) }
        #expect(attempts.isBarred(device, at: now + .seconds(59)) && !attempts.isBarred(device, at: now + .seconds(60)))
        // The number of remembered devices is limited; the one whose interval ended first is removed.
        for index in 0..<UInt64(FailedAttempts.capacity) { attempts.failed(BDADDR(rawValue: index), at: now + .seconds(61)) }
        attempts.failed(device, at: now + .seconds(61))
        #expect(!attempts.isBarred(BDADDR(rawValue: 0), at: now + .seconds(61)) || !attempts.isBarred(device, at: now + .seconds(62)))
    }

    @Test(arguments: strange) func refusal(_ row: Row) throws {
        let bench = LMPBench()
        try bench.connect()
        row.act(bench)
        try bench.run()
        #expect(bench.sent.dropFirst().map { String($0.dropFirst(3)) } == row.pdus)
        #expect(bench.a.log + bench.b.log == [])
        // Both work afterwards.
        bench.forget()
        bench.a.connection.requestName()
        try bench.run()
        #expect(bench.a.log == ["name B 00"])
    }
}
