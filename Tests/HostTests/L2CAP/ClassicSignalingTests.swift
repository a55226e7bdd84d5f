import BBBenchTesting
import BBL2CAP
import BBPackets
import BBTiming
import Testing

@testable import BBHost

@Suite struct ClassicSignalingTests {
    // MARK: Single PDUs

    /// A PDU to an idle signalling channel with MTUsig 48, and the responses.
    static let rows: [(name: String, pdu: String, answers: [String])] = [
        ("connection request of one octet", "02 01 0100 00", ["01 01 0200 0000"]),
        ("disconnection of an unknown channel", "06 02 0400 12345678", ["01 02 0600 0200 12345678"]),
        ("configuration of an unknown channel", "04 03 0400 12340000", ["01 03 0600 0200 12340000"]),
        ("a PSM that is even", "02 04 0400 0200 4000", ["03 04 0800 0000 4000 0200 0000"]),
        ("a PSM with bit 8", "02 04 0400 0101 4000", ["03 04 0800 0000 4000 0200 0000"]),
        ("a source CID below 0x0040", "02 05 0400 0100 3f00", ["03 05 0800 0000 3f00 0600 0000"]),
        ("extended features", "0a 05 0200 0200", ["0b 05 0800 0200 0000 b8050000"]),
        ("fixed channels", "0a 05 0200 0300", ["0b 05 0c00 0300 0000 8200000000000000"]),
        ("connectionless MTU", "0a 06 0200 0100", ["0b 06 0400 0100 0100"]),
        ("an unknown information type", "0a 06 0200 7700", ["0b 06 0400 7700 0100"]),
        ("echo", "08 07 0300 414243", ["09 07 0300 414243"]),
        ("three commands", "08 07 0000 f3 08 0000 08 09 0100 41", ["09 07 0000", "01 08 0200 0000", "09 09 0100 41"]),
        ("a command and half a one", "08 07 0000 08 09 0400 41", ["09 07 0000", "01 09 0200 0000"]),
        ("a command and half a header", "08 07 0000 08 09", ["09 07 0000", "01 09 0200 0000"]),
        ("identifier 0", "08 00 0000", []),
        ("49 octets", "08 07 2d00" + String(repeating: "00", count: 45), ["01 07 0400 0100 3000"]),
        ("49 octets that begin with a response", "09 01 0000 08 07 2900" + String(repeating: "00", count: 41), ["01 07 0400 0100 3000"]),
        ("an LE command", "14 09 0a00 8000 4000 1700 1700 0100", ["01 09 0200 0000"]),
        ("create channel request", "0c 09 0500 0100 4000 01", ["01 09 0200 0000"]),
        (
            "responses nobody waits for",
            "03 01 0800 4000 4000 0000 0000 05 02 0600 4000 0000 0000 07 03 0400 4000 4000 0b 04 0400 0200 0000", []
        ),
        ("a rejection nobody waits for", "01 03 0200 0000", []),
        ("nothing", "", []),
    ]

    @Test(arguments: rows) func pdu(name: String, pdu: String, answers: [String]) {
        var settings = ClassicSignaling.Settings()
        settings.signalingMTU = 48
        var signaling = ClassicSignaling(settings)
        #expect(signaling.received(octets(pdu), at: .zero) == answers.map { .send(octets($0)) })
    }

    // MARK: Two ends

    static let enhanced = settings(.enhancedRetransmission)
    static let basicOnly: ExtendedFeatures = []
    static let all: ExtendedFeatures = [.enhancedRetransmission, .streaming, .fcsOption, .fixedChannels, .extendedWindowSize]

    static func settings(
        _ mode: ChannelMode = .basic, mandatory: Bool = false, _ change: (inout ClassicChannelSettings) -> Void = { _ in }
    ) -> ClassicChannelSettings {
        var settings = ClassicChannelSettings()
        settings.mode = mode
        settings.isModeMandatory = mandatory
        change(&settings)
        return settings
    }

    struct Negotiation: CustomTestStringConvertible, Sendable {
        var name: String
        var wanted: [ClassicChannelSettings]
        var features: [ExtendedFeatures] = [all, all]
        /// The mode at both ends; nil if there is no channel.
        var mode: ChannelMode?
        var checks: @Sendable ([ChannelTerms]) -> Bool = { _ in true }
        var testDescription: String { name }
    }

    static let negotiations: [Negotiation] = [
        Negotiation(name: "basic mode", wanted: [settings(), settings()], mode: .basic) { $0.allSatisfy { $0.sendMTU == 672 } },
        Negotiation(name: "MTUs of their own", wanted: [settings { $0.mtu = 48 }, settings { $0.mtu = 65535 }], mode: .basic) {
            $0[0].receiveMTU == 48 && $0[0].sendMTU == 65535 && $0[1].receiveMTU == 65535 && $0[1].sendMTU == 48
        },
        Negotiation(
            name: "an MTU that is too small", wanted: [settings { $0.mtu = 20 }, settings()], mode: .basic
        ) { $0[0].receiveMTU == 48 && $0[1].sendMTU == 48 },
        Negotiation(name: "a flush time-out of 0", wanted: [settings { $0.flushTimeout = 0 }, settings()], mode: .basic),
        Negotiation(
            name: "a guaranteed flow", wanted: [settings { $0.qualityOfService = QualityOfService(serviceType: 2) }, settings()],
            mode: .basic),
        Negotiation(name: "both enhanced", wanted: [enhanced, enhanced], mode: .enhancedRetransmission) {
            $0.allSatisfy { $0.usesFrameCheckSequence && $0.sendWindow == 63 && $0.sendMPS == 1010 && $0.monitorTimeOut == .seconds(12) }
        },
        Negotiation(
            name: "windows and payloads of their own",
            wanted: [
                settings(.enhancedRetransmission) { ($0.receiveWindow, $0.mps, $0.maxTransmit) = (5, 100, 2) },
                settings(.enhancedRetransmission) { ($0.receiveWindow, $0.mps, $0.maxTransmit) = (9, 700, 3) },
            ], mode: .enhancedRetransmission
        ) {
            $0[0].receiveWindow == 5 && $0[1].sendWindow == 5 && $0[0].sendWindow == 9 && $0[1].sendMPS == 100 && $0[0].sendMPS == 100
                && $0[0].maxTransmit == 3 && $0[1].maxTransmit == 2
        },
        Negotiation(
            name: "both without a check sequence",
            wanted: [
                settings(.enhancedRetransmission) { $0.usesFrameCheckSequence = false },
                settings(.streaming) { $0.usesFrameCheckSequence = false },
            ],
            mode: .enhancedRetransmission
        ) { $0.allSatisfy { !$0.usesFrameCheckSequence } },
        Negotiation(name: "the acceptor prefers streaming", wanted: [enhanced, settings(.streaming)], mode: .enhancedRetransmission),
        Negotiation(name: "the initiator prefers streaming", wanted: [settings(.streaming), enhanced], mode: .enhancedRetransmission),
        Negotiation(
            name: "one insists on streaming, one prefers the enhanced mode", wanted: [enhanced, settings(.streaming, mandatory: true)],
            mode: nil),
        Negotiation(
            name: "one without a check sequence",
            wanted: [settings(.enhancedRetransmission) { $0.usesFrameCheckSequence = false }, enhanced], mode: .enhancedRetransmission
        ) { $0.allSatisfy(\.usesFrameCheckSequence) },
        Negotiation(
            name: "an extended window", wanted: [settings(.enhancedRetransmission) { $0.receiveWindow = 1_000 }, enhanced],
            mode: .enhancedRetransmission
        ) { $0.allSatisfy(\.usesExtendedControl) && $0[0].receiveWindow == 1_000 && $0[1].sendWindow == 1_000 && $0[0].sendWindow == 63 },
        Negotiation(
            name: "an extended window that the peer does not know",
            wanted: [settings(.enhancedRetransmission) { $0.receiveWindow = 1_000 }, enhanced],
            features: [all, all.subtracting(.extendedWindowSize)], mode: .enhancedRetransmission
        ) { $0.allSatisfy { !$0.usesExtendedControl && $0.receiveWindow == 63 } },
        Negotiation(name: "a peer of the basic mode", wanted: [enhanced, settings()], features: [all, basicOnly], mode: .basic),
        Negotiation(name: "a peer that prefers the basic mode", wanted: [enhanced, settings()], mode: .basic),
        Negotiation(name: "the initiator prefers the basic mode", wanted: [settings(), enhanced], mode: .basic),
        Negotiation(name: "the peer insists on the basic mode", wanted: [enhanced, settings(mandatory: true)], mode: .basic),
        Negotiation(name: "the initiator insists", wanted: [settings(.enhancedRetransmission, mandatory: true), settings()], mode: nil),
        Negotiation(name: "the acceptor insists", wanted: [settings(), settings(.enhancedRetransmission, mandatory: true)], mode: nil),
        Negotiation(
            name: "one insists on what the other cannot", wanted: [settings(.streaming, mandatory: true), settings()],
            features: [all, basicOnly], mode: nil),
        Negotiation(
            name: "both insist on the same", wanted: [settings(.streaming, mandatory: true), settings(.streaming, mandatory: true)],
            mode: .streaming),
        Negotiation(
            name: "all options at once: several commands each way",
            wanted: [
                settings(.enhancedRetransmission) {
                    ($0.flushTimeout, $0.qualityOfService, $0.receiveWindow) = (1_000, QualityOfService(), 200)
                    ($0.usesFrameCheckSequence, $0.extendedFlowSpecification) = (false, ExtendedFlowSpecification())
                }, enhanced,
            ], features: [all.union(.extendedFlowSpecification), all.union(.extendedFlowSpecification)], mode: .enhancedRetransmission
        ) { $0[0].receiveWindow == 200 },
    ]

    @Test(arguments: negotiations) func negotiation(_ row: Negotiation) throws {
        let sides = row.features.map { features in
            var settings = ClassicSignaling.Settings()
            settings.features = features
            settings.signalingMTU = 48
            return settings
        }
        var pair = SignalingPair(sides, decisions: [.refuse(4), .accept(row.wanted[1])])
        let asked = pair.connect(row.wanted[0])
        let cid = try #require(asked)
        pair.settle()
        guard let mode = row.mode else {
            #expect(pair.terms(0) == nil && pair.terms(1) == nil)
            #expect(pair.ending(0) != nil && pair.ending(1) != nil)
            #expect(pair.ends.allSatisfy { $0.channels.isEmpty && $0.deadline == nil })
            return
        }
        let terms = [try #require(pair.terms(0)), try #require(pair.terms(1))]
        #expect(terms.allSatisfy { $0.mode == mode })
        #expect(row.checks(terms), "\(terms)")
        #expect(terms[0].receiveMTU == terms[1].sendMTU && terms[1].receiveMTU == terms[0].sendMTU)
        #expect(terms[0].usesFrameCheckSequence == terms[1].usesFrameCheckSequence)
        #expect(terms[0].usesExtendedControl == terms[1].usesExtendedControl)
        #expect(terms[0].localCID == cid && terms[1].remoteCID == cid && pair.ends.allSatisfy { $0.deadline == nil })

        pair.perform(pair.ends[1].reconfigure(terms[1].localCID, at: pair.now), 1)
        pair.settle()
        #expect([pair.terms(0), pair.terms(1)] == terms && pair.ends.allSatisfy { $0.channels.first?.state == .open })

        pair.perform(pair.ends[0].disconnect(cid, at: pair.now), 0)
        pair.settle()
        #expect(pair.ending(0) == .byThisSide && pair.ending(1) == .byPeer)
        #expect(pair.ends.allSatisfy { $0.channels.isEmpty && $0.deadline == nil })
    }

    @Test func bothEndsDisconnectAtTheSameTime() throws {
        var pair = SignalingPair(decisions: [.refuse(4), .accept(.init())])
        let asked = pair.connect()
        let cid = try #require(asked)
        pair.settle()
        pair.perform(pair.ends[0].disconnect(cid, at: pair.now), 0)
        pair.perform(pair.ends[1].disconnect(cid, at: pair.now), 1)
        pair.settle()
        #expect(pair.ending(0) == .byThisSide && pair.ending(1) == .byThisSide)
        #expect(pair.ends.allSatisfy { $0.channels.isEmpty && $0.deadline == nil })
    }

    // MARK: Silence

    /// The peer's responses before it stops responding, and the time at which the channel is given up.
    static let silences: [(name: String, answers: [String], second: Int, end: ChannelEnd, sent: [String])] = [
        ("connection request", [], 20, .timedOut, []),
        ("pending", ["03 01 0800 4100 4000 0100 0200"], 120, .timedOut, []),
        ("configuration request", ["03 01 0800 4100 4000 0000 0000"], 20, .timedOut, ["06 03 0400 4100 4000"]),
        (
            "pending configuration", ["03 01 0800 4100 4000 0000 0000", "05 02 0600 4000 0000 0400"], 120, .timedOut,
            ["06 03 0400 4100 4000"]
        ),
        (
            "pending configuration with many options",
            ["03 01 0800 4100 4000 0000 0000", "05 02 5600 4000 0000 0400" + String(repeating: "0102 3000", count: 20)], 120,
            .timedOut, ["06 03 0400 4100 4000"]
        ),
        (
            "the peer's own configuration", ["03 01 0800 4100 4000 0000 0000", "05 02 0600 4000 0000 0000"], 120, .timedOut,
            ["06 03 0400 4100 4000"]
        ),
        ("refusal", ["03 01 0800 0000 4000 0300 0000"], 0, .refused(.refusedSecurityBlock), []),
        ("rejection", ["01 01 0200 0000"], 0, .rejected(.commandNotUnderstood), []),
        ("a channel of the signalling channel's", ["03 01 0800 0100 4000 0000 0000"], 0, .violated, []),
        (
            "configuration of a channel that is gone",
            ["03 01 0800 4100 4000 0000 0000", "01 02 0600 0200 4100 4000"], 0, .rejected(.invalidCIDInRequest), []
        ),
        (
            "configuration rejected", ["03 01 0800 4100 4000 0000 0000", "05 02 0600 4000 0000 0200"], 0, .notConfigured(.rejected),
            ["06 03 0400 4100 4000"]
        ),
        (
            "an MTU beyond this side's", ["03 01 0800 4100 4000 0000 0000", "05 02 0a00 4000 0000 0100 0102 a103"], 0,
            .notConfigured(.unacceptableParameters), ["06 03 0400 4100 4000"]
        ),
    ]

    @Test(arguments: silences) func silence(name: String, answers: [String], second: Int, end: ChannelEnd, sent: [String]) throws {
        var signaling = ClassicSignaling()
        let (cid, first) = signaling.connect(psm: 1, .init(), at: .zero)
        #expect(cid == 0x40 && first == [.send(octets("02 01 0400 0100 4000"))])
        var actions: [ClassicSignaling.Action] = []
        for answer in answers { actions = signaling.received(octets(answer), at: .zero) }
        if second > 0 {
            #expect(signaling.expire(at: .milliseconds(second * 1_000 - 1)) == [])
            #expect(signaling.deadline == .seconds(second))
            actions = signaling.expire(at: .seconds(second))
        }
        #expect(actions == sent.map { .send(octets($0)) } + [.closed(cid: 0x40, end)])
        // A peer that does not respond to the disconnection either is dropped.
        if let last = signaling.deadline { #expect(signaling.expire(at: last) == []) }
        #expect(signaling.deadline == nil && signaling.channels.isEmpty)
    }

    // MARK: The peer's proposals

    /// Responses to options in basic mode and in Enhanced Retransmission mode.
    static let proposals: [(name: String, mode: ChannelMode, requests: [(UInt16, String)], answers: [(UInt16, UInt16, String)])] = [
        ("nothing", .basic, [(0, "")], [(0, 0, "")]),
        ("MTU", .basic, [(0, "01023000")], [(0, 0, "01023000")]),
        ("the MTU twice", .basic, [(0, "01023000 01024000")], [(0, 0, "01024000")]),
        ("MTU of 47", .basic, [(0, "01022f00")], [(0, 1, "01023000")]),
        ("an MTU cut", .basic, [(0, "010230")], [(0, 2, "")]),
        ("an MTU of three octets", .basic, [(0, "0103300000")], [(0, 2, "")]),
        ("an empty MTU", .basic, [(0, "0100")], [(0, 2, "")]),
        ("a type alone", .basic, [(0, "01")], [(0, 2, "")]),
        ("an unknown option", .basic, [(0, "01023000 5003010203")], [(0, 3, "50")]),
        ("two unknown options", .basic, [(0, "5000 5101ff 5000")], [(0, 3, "5051")]),
        ("an unknown hint", .basic, [(0, "01023000 d003010203")], [(0, 0, "01023000")]),
        ("the MTU as a hint", .basic, [(0, "81023000")], [(0, 0, "01023000")]),
        ("in two parts", .basic, [(1, "01023000"), (0, "0202ffff")], [(1, 0, ""), (0, 0, "01023000 0202ffff")]),
        ("an option in two parts", .basic, [(1, "010230"), (0, "00")], [(1, 0, ""), (0, 0, "01023000")]),
        ("flush time-out 0", .basic, [(0, "02020000")], [(0, 1, "0202ffff")]),
        ("enhanced to basic", .basic, [(0, "0409033f14 00000000 f203")], [(0, 1, "0409000000 00000000 0000")]),
        ("retransmission mode of old", .basic, [(0, "0409011f14 d007e02e f203")], [(0, 1, "0409000000 00000000 0000")]),
        ("enhanced", .enhancedRetransmission, [(0, "0409033f14 00000000 e803")], [(0, 0, "0409033f14 d007e02e e803")]),
        (
            "larger payloads than this side's", .enhancedRetransmission, [(0, "0409033f14 00000000 ffff")],
            [(0, 0, "0409033f14 d007e02e f203")]
        ),
        ("a window of 64", .enhancedRetransmission, [(0, "0409034014 00000000 e803")], [(0, 1, "0409033f14 00000000 e803")]),
        ("a window of 0", .enhancedRetransmission, [(0, "0409030014 00000000 e803")], [(0, 1, "0409033f14 00000000 e803")]),
        (
            "no check sequence", .enhancedRetransmission, [(0, "0409033f14 00000000 e803 050100")],
            [(0, 0, "0409033f14 d007e02e e803 050100")]
        ),
        ("check sequence 2", .enhancedRetransmission, [(0, "0409033f14 00000000 e803 050102")], [(0, 1, "050101")]),
        (
            "basic to one that insists", .enhancedRetransmission, [(0, "")],
            [(0, 1, "0409033f14 00000000 f203")]
        ),
        ("an extended flow specification", .basic, [(0, "0610" + String(repeating: "01", count: 16))], [(0, 3, "06")]),
    ]

    /// A side that needs a mode gives up at the first request for another one, others at the second. Core Vol 3, Part A, 5.4.
    @Test(arguments: [
        (ChannelMode.enhancedRetransmission, true, [true]), (.streaming, true, [true]), (.basic, false, [false, true]),
        (.basic, true, [false, true]),
    ])
    func anotherModeEndsTheConfiguration(mode: ChannelMode, mandatory: Bool, ends: [Bool]) {
        var configuration = ChannelConfiguration(Self.settings(mode, mandatory: mandatory), features: Self.all)
        let options = octets(mode == .basic ? "0409033f14 00000000 f203" : "")
        for isLast in ends {
            let answer = configuration.requested(
                L2CAPSignaling.ConfigurationReq(destinationCID: 0x40, flags: 0, configurationOptions: options), isRunning: false)
            #expect(answer.result == .unacceptableParameters && answer.isLast == isLast)
        }
    }

    @Test(arguments: proposals) func proposal(
        name: String, mode: ChannelMode, requests: [(UInt16, String)], answers: [(UInt16, UInt16, String)]
    ) {
        var configuration = ChannelConfiguration(Self.settings(mode, mandatory: true), features: Self.all)
        for (request, answer) in zip(requests, answers) {
            let command = L2CAPSignaling.ConfigurationReq(destinationCID: 0x40, flags: request.0, configurationOptions: octets(request.1))
            let got = configuration.requested(command, isRunning: false)
            #expect((got.flags, got.result, got.options) == (answer.0, ConfigurationResult(answer.1), octets(answer.2)))
        }
    }

    /// Core Vol 3, Part A, 4.13: a peer without the feature responds with Not Supported; a peer that does not respond has none.
    @Test(arguments: [(true, true, 0x82), (false, true, 0), (true, false, 0)] as [(Bool, Bool, UInt64)])
    func theFixedChannelsOfAPeer(hasFeature: Bool, answers: Bool, mask: UInt64) {
        var peer = ClassicSignaling.Settings()
        if !hasFeature { peer.features.remove(.fixedChannels) }
        var pair = SignalingPair([.init(), peer], decisions: [.accept(Self.enhanced), .accept(Self.enhanced)])
        let actions = pair.ends[0].askFixedChannels(at: 0)
        #expect(actions.count == 1 && pair.ends[0].askFixedChannels(at: 0).isEmpty)
        pair.perform(actions, 0)
        if answers { pair.settle() } else { _ = pair.proceed() }
        #expect(pair.told[0] == [.fixedChannels(mask)] && pair.ends[0].deadline == nil)
    }

    /// The features are asked for once, and a peer that does not report them is told from one that has none. Core Vol 3, Part A, 4.11.
    @Test(
        arguments: [
            ("0b 01 0800 0200 0000 38000000", ExtendedFeatures(rawValue: 0x38)), ("0b 01 0800 0200 0000 00000000", []),
            ("0b 01 0400 0200 0100", nil), ("01 01 0200 0000", nil), (nil, nil),
        ] as [(String?, ExtendedFeatures?)])
    func theFeaturesOfAPeer(answer: String?, features: ExtendedFeatures?) {
        var signaling = ClassicSignaling()
        #expect(signaling.reportFeatures(at: .zero) == [.send(octets("0a 01 0200 0200"))])
        #expect(signaling.reportFeatures(at: .zero).isEmpty)
        let actions = answer.map { signaling.received(octets($0), at: .zero) } ?? signaling.expire(at: .seconds(20))
        #expect(actions == [.features(features)] && signaling.deadline == nil)
    }

    @Test(arguments: [("09 01 0100 41", true), ("09 01 0000", true), ("01 01 0200 0000", false), (nil, false)] as [(String?, Bool)])
    func anEchoOfAPeer(answer: String?, isAnswered: Bool) {
        var signaling = ClassicSignaling()
        #expect(signaling.askEcho([0x41], at: .zero) == [.send(octets("08 01 0100 41"))])
        #expect(signaling.askEcho([0x41], at: .zero).isEmpty)
        #expect(signaling.received(octets("09 02 0000"), at: .zero).isEmpty)
        let actions = answer.map { signaling.received(octets($0), at: .zero) } ?? signaling.expire(at: .seconds(20))
        #expect(actions == [.echoed(isAnswered)] && signaling.deadline == nil)
    }

    /// Core Vol 3, Part A, 5.5: the option is left out, names the default, or proposes to omit the check.
    @Test(arguments: [(true, false, ""), (true, true, "050101"), (false, false, "050100")])
    func theCheckSequenceThatIsProposed(isUsed: Bool, isNamed: Bool, option: String) {
        let wanted = Self.settings(.enhancedRetransmission) { ($0.usesFrameCheckSequence, $0.namesFrameCheckSequence) = (isUsed, isNamed) }
        var configuration = ChannelConfiguration(wanted, features: Self.all)
        configuration.peerFeatures = Self.all
        let expected = octets("0102a002 0409033f14 00000000 f203" + option)
        #expect(configuration.propose() == .request(flags: 0, options: expected))
    }

    @Test func noCommandTraps() {
        var random = RandomSource(seed: 3)
        var pair = SignalingPair(decisions: [.accept(Self.enhanced), .accept(Self.enhanced)])
        for _ in 0..<20_000 {
            if random.chance(0.1) { _ = pair.connect(Self.enhanced, from: Int(random.next() % 2)) }
            let damage = random.octets(4)
            pair.deliver { pdu in
                var pdu = pdu
                if damage[0] < 64, !pdu.isEmpty { pdu[Int(damage[1]) % pdu.count] = damage[2] }
                return damage[3] < 16 ? nil : pdu
            }
            if random.chance(0.02) { _ = pair.proceed() }
        }
        #expect(pair.ends.allSatisfy { $0.channels.count <= 64 })
    }
}
