import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// The agreement of two link managers on SCO and eSCO. Core Vol 2, Part C, 4.6.
@Suite struct SynchronousSetupTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var pdus: [String]
        var a: [String]
        var b: [String]
        /// Settings accepted by the other host; nil to reject with 0x0D.
        var accepts: SynchronousRequest? = anything
        /// Called before the request.
        var setUp: @Sendable (LMPBench) -> Void = { _ in }
        var act: @Sendable (LMPBench) -> Void
    }

    private static let all = Set(SynchronousOffer.basicTypes + SynchronousOffer.extendedTypes.map(\.type))

    private static func wish(
        _ types: Set<BREDRPacketType> = all, latency: UInt16 = SynchronousRequest.anyLatency, _ effort: SynchronousRequest.Effort = .any,
        airMode: UInt8 = 3, bandwidth: UInt32 = 8_000
    ) -> SynchronousRequest {
        SynchronousRequest(
            transmitBandwidth: bandwidth, receiveBandwidth: bandwidth, maxLatency: latency, airMode: airMode, effort: effort, types: types)
    }

    private static let anything = wish(bandwidth: SynchronousRequest.anyBandwidth)
    /// Parameter sets of the Hands-Free Profile: T2, S1, D1.
    private static let t2 = wish([.twoEV3], latency: 13, .some)
    private static let s1 = wish([.ev3], latency: 7, .some)
    private static let d1 = wish([.hv3])
    private static let wideband = "eSCO 1 2-EV3 12+4 60/60"

    private static func byA(_ wish: SynchronousRequest) -> @Sendable (LMPBench) -> Void {
        { $0.a.connection.request(SynchronousSetup(wish)) }
    }
    private static func byB(_ wish: SynchronousRequest) -> @Sendable (LMPBench) -> Void {
        { $0.b.connection.request(SynchronousSetup(wish)) }
    }
    private static func without(_ features: LMPFeatures) -> @Sendable (LMPBench) -> Void {
        { $0.b.linkManagerSettings.pages[0] &= ~features.rawValue }
    }
    private static func inject(_ pdu: some LMPPDU) -> @Sendable (LMPBench) -> Void { { $0.inject(pdu.bytes(.central), from: $0.a) } }

    private static let rows: [Row] = [
        Row(
            testDescription: "eSCO, wanted by the central", pdus: ["A0 escoLinkReq", "B0 +escoLinkReq"], a: [wideband],
            b: ["eSCO?", wideband], act: byA(t2)),
        Row(
            testDescription: "eSCO, wanted by the peripheral: the central gives the slots",
            pdus: ["B1 escoLinkReq", "A1 escoLinkReq", "B1 +escoLinkReq"], a: ["eSCO?", wideband], b: [wideband], act: byB(t2)),
        Row(
            testDescription: "eSCO within 7 ms", pdus: ["A0 escoLinkReq", "B0 +escoLinkReq"], a: ["eSCO 1 EV3 6+2 30/30"],
            b: ["eSCO?", "eSCO 1 EV3 6+2 30/30"], act: byA(s1)),
        Row(
            testDescription: "SCO, wanted by the central", pdus: ["A0 scoLinkReq", "B0 +scoLinkReq"], a: ["SCO 1 HV3 6+0 30/30"],
            b: ["SCO?", "SCO 1 HV3 6+0 30/30"], act: byA(d1)),
        Row(
            testDescription: "SCO, wanted by the peripheral", pdus: ["B1 scoLinkReq", "A1 scoLinkReq", "B1 +scoLinkReq"],
            a: ["SCO?", "SCO 1 HV3 6+0 30/30"], b: ["SCO 1 HV3 6+0 30/30"], act: byB(d1)),
        Row(
            testDescription: "the other host refuses", pdus: ["A0 escoLinkReq", "B0 -escoLinkReq 0D"], a: ["no voice 0D"],
            b: ["eSCO?", "no voice 0D"], accepts: nil, act: byA(wish())),
        Row(
            testDescription: "the other host takes SCO only",
            pdus: ["A0 escoLinkReq", "B0 -escoLinkReq 20", "A0 scoLinkReq", "B0 +scoLinkReq"], a: ["SCO 1 HV3 6+0 30/30"],
            b: ["eSCO?", "no voice 20", "SCO?", "SCO 1 HV3 6+0 30/30"], accepts: d1, act: byA(wish())),
        Row(
            testDescription: "the other controller has SCO only", pdus: ["A0 scoLinkReq", "B0 +scoLinkReq"],
            a: ["SCO 1 HV3 6+0 30/30"], b: ["SCO?", "SCO 1 HV3 6+0 30/30"], setUp: without(.extendedSCO), act: byA(wish())),
        Row(
            testDescription: "the other controller has nothing of it", pdus: [], a: ["no voice 1A"], b: [], setUp: without(.extendedSCO),
            act: byA(t2)),
        Row(
            testDescription: "the other host wants it faster",
            pdus: ["A0 escoLinkReq", "B0 escoLinkReq", "A0 escoLinkReq", "B0 +escoLinkReq"], a: ["eSCO 1 2-EV3 12+2 60/60"],
            b: ["eSCO?", "eSCO 1 2-EV3 12+2 60/60"], accepts: wish(latency: 10, .some), act: byA(t2)),
        Row(
            testDescription: "the other host wants it faster than this one has it", pdus: ["A0 escoLinkReq", "B0 -escoLinkReq 1C"],
            a: ["no voice 1C"], b: ["eSCO?", "no voice 1C"], accepts: wish([.ev4], latency: 4, .some), act: byA(wish([.ev4]))),
        Row(
            testDescription: "they never agree on retransmission",
            pdus: [
                "A0 escoLinkReq", "B0 escoLinkReq", "A0 escoLinkReq", "B0 escoLinkReq", "A0 escoLinkReq", "B0 escoLinkReq",
                "A0 escoLinkReq", "B0 escoLinkReq", "A0 -escoLinkReq 20",
            ], a: ["no voice 20"], b: ["eSCO?", "no voice 20"], accepts: wish(all, SynchronousRequest.Effort.none), act: byA(t2)),
        Row(
            testDescription: "another air mode", pdus: ["A0 escoLinkReq", "B0 -escoLinkReq 1D"], a: ["no voice 1D"],
            b: ["eSCO?", "no voice 1D"], accepts: wish(airMode: 2), act: byA(t2)),
        Row(
            testDescription: "no room", pdus: [], a: ["no voice 0D"], b: [], setUp: { $0.a.wire.hasRoom = false }, act: byA(t2)),
        Row(
            testDescription: "both want it: the central's is made",
            pdus: ["A0 escoLinkReq", "B1 escoLinkReq", "B0 +escoLinkReq", "A1 -escoLinkReq 23"], a: [wideband],
            b: ["eSCO?", wideband, "no voice 23"],
            act: { bench in for end in [bench.a, bench.b] { end.connection.request(SynchronousSetup(t2)) } }),
        Row(
            testDescription: "two of them, and the end of one",
            pdus: [
                "A0 escoLinkReq", "B0 +escoLinkReq", "A0 scoLinkReq", "B0 +scoLinkReq", "B1 removeEscoLinkReq", "A1 +removeEscoLinkReq",
                "A0 removeScoLinkReq", "B0 +removeScoLinkReq",
            ],
            a: [wideband, "SCO 2 HV3 6+0 30/30", "voice 1 ended 13", "voice 2 ended 16"],
            b: ["eSCO?", wideband, "SCO?", "SCO 2 HV3 6+0 30/30", "voice 1 ended 16", "voice 2 ended 13"],
            act: { bench in
                byA(t2)(bench)
                byA(d1)(bench)
                bench.loop.schedule(after: 500_000) {
                    bench.b.connection.request(LocalSynchronousEnd(1, .remoteUserTerminatedConnection))
                }
                bench.loop.schedule(after: 600_000) {
                    bench.a.connection.request(LocalSynchronousEnd(2, .remoteUserTerminatedConnection))
                }
            }),
        Row(
            testDescription: "roles stay while there is voice", pdus: ["A0 escoLinkReq", "B0 +escoLinkReq"],
            a: [wideband, "central 21"], b: ["eSCO?", wideband],
            act: { bench in
                byA(t2)(bench)
                bench.loop.schedule(after: 500_000) { _ = bench.a.connection.switchRole(to: .peripheral) }
            }),
        Row(
            testDescription: "an interval that is odd", pdus: ["A0 escoLinkReq", "B0 -escoLinkReq 1E"], a: [], b: [],
            act: inject(LMP.EscoLinkReq(escoHandle: 1, escoLTADDR: 2, tEsco: 7, escoPacketTypeCToP: 7, packetLengthCToP: 30))),
        Row(
            testDescription: "packets longer than their type", pdus: ["A0 escoLinkReq", "B0 -escoLinkReq 1E"], a: [], b: [],
            act: inject(LMP.EscoLinkReq(escoHandle: 1, escoLTADDR: 2, tEsco: 6, escoPacketTypeCToP: 7, packetLengthCToP: 31))),
        Row(
            testDescription: "a type that there is not", pdus: ["A0 escoLinkReq", "B0 -escoLinkReq 1E"], a: [], b: [],
            act: inject(LMP.EscoLinkReq(escoHandle: 1, escoLTADDR: 2, tEsco: 6, escoPacketTypeCToP: 9, packetLengthCToP: 30))),
        Row(
            testDescription: "a central without an LT_ADDR", pdus: ["A0 escoLinkReq", "B0 -escoLinkReq 1E"], a: [], b: [],
            act: inject(LMP.EscoLinkReq(escoHandle: 1, tEsco: 6, escoPacketTypeCToP: 7, packetLengthCToP: 30))),
        Row(
            testDescription: "HV3 in all slots", pdus: ["A0 scoLinkReq", "B0 -scoLinkReq 1E"], a: [], b: [],
            act: inject(LMP.ScoLinkReq(scoHandle: 1, tSco: 2, scoPacket: 2))),
        Row(
            testDescription: "the end of nothing", pdus: ["A0 removeEscoLinkReq", "B0 -removeEscoLinkReq 1E"], a: [], b: [],
            act: inject(LMP.RemoveEscoLinkReq(escoHandle: 1, errorCode: 0x13))),
    ]

    @Test(arguments: rows) func agreement(_ row: Row) throws {
        let bench = LMPBench()
        row.setUp(bench)
        try bench.connect()
        for end in [bench.a, bench.b] {
            end.answers = { report in
                guard case .synchronousRequested = report else { return nil }
                return row.accepts.map { .acceptsSynchronous($0) } ?? .refusesSynchronous(.connectionRejectedDueToLimitedResources)
            }
        }
        row.act(bench)
        try bench.run()
        #expect(bench.sent == row.pdus)
        #expect(bench.a.log == row.a)
        #expect(bench.b.log == row.b)
        let ends = [bench.a, bench.b].map { $0.connection.state.synchronous }
        #expect(ends[0].keys == ends[1].keys)
        for (id, one) in ends[0] {
            let other = ends[1][id]
            #expect(one.transmitType == other?.receiveType && one.receiveLength == other?.transmitLength && one.offset == other?.offset)
            #expect(one.ltAddr == other?.ltAddr && one.flags == other?.flags)
        }
    }
}
