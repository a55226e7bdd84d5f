import BBPackets
import BBTiming

@testable import BBHost

extension FuzzTarget {
    private static let creditLayer: LayerOfAction = { [0, 1].contains($0.kind) ? .l2capSignaling : nil }

    /// Commands and K-frames of credit-based channels at one end: channels and credits stay within their limits, and a violation ends a
    /// channel once.
    static let credits = FuzzTarget(
        name: "credits", layer: creditLayer,
        seeds: {
            Seeds.declared(creditLayer)
                + Seeds.written(
                    [
                        "14010a0080004000640017000300|160204004000ffff|060304004000 4000",
                        "17010c00800064004000030040004100|19020600000240004000",
                    ],
                    Frames.Action(end: 0))
                + Seeds.written(["15010a0040006400170003000000", "18010a0064004000030000004000", "0101020000 00"], Frames.Action(end: 1))
                + Seeds.written(["0500 4142|434445", "0300 414243|0100 41"], Frames.Action(end: 0, kind: 2))
        },
        run: { input in
            let frames = Frames(input)
            var table = CreditTable()
            for frame in frames.list { try table.take(frame) }
        })
}

private struct CreditTable {
    private var signaling = LESignaling()
    private var flows: [UInt16: CreditBasedFlow] = [:]
    private var asked: Set<UInt16> = []
    private var now = Microseconds.zero
    private let settings = CreditBasedChannelSettings(mtu: 100, mps: 64, initialCredits: 4)

    mutating func take(_ frame: Frames.Frame) throws {
        now = now + frame.action.pause
        switch frame.action.kind {
        case 0, 1:
            if frame.action.end == 1 { try connect(enhanced: frame.action.extra & 1 == 1) }
            try perform(signaling.received(frame.packet, asCentral: true, at: now))
        case 2:
            let cid = 0x40 + UInt16(frame.action.extra)
            try received(frame.packet, cid)
        default:
            let cid = 0x40 + UInt16(frame.action.extra)
            flows[cid]?.send(frame.packet)
            while let frame = flows[cid]?.nextFrame() {
                let octets = frame.range.count + (frame.length == nil ? 0 : 2)
                try promise(octets <= 65_533 && frame.range.upperBound <= frame.sdu.count, "a frame of \(octets) octets")
            }
            guard frame.action.end == 1 else { return }
            now = max(now, signaling.channels.deadline ?? now)
            try perform(signaling.withChannels { [now] in $0.expire(at: now) })
        }
    }

    private mutating func connect(enhanced: Bool) throws {
        var cids: [UInt16] = []
        let actions = signaling.withChannels { [settings, now] in
            let result = $0.connect(spsm: 0x80, settings, kind: enhanced ? .enhanced : .lowEnergy, count: enhanced ? 3 : 1, at: now)
            cids = result.cids
            return result.actions
        }
        asked.formUnion(cids)
        try perform(actions)
    }

    private mutating func perform(_ actions: [LESignaling.Action]) throws {
        try promise(actions.count <= 70, "\(actions.count) actions at once")
        for action in actions {
            switch action {
            case .send(let pdu): try promise(pdu.count <= LESignaling.mtu, "a signalling PDU of \(pdu.count) octets")
            case .decideParameters, .parametersAnswered: break
            case .channel(let event): try happened(event)
            }
        }
        try promise(signaling.channels.endpoints.count <= 64, "\(signaling.channels.endpoints.count) channels")
    }

    private mutating func happened(_ event: CreditBasedSignaling.Action) throws {
        switch event {
        case .requested(let identifier, let spsm, _):
            let decision = spsm & 1 == 0 ? CreditBasedSignaling.Decision.accept(settings) : .refuse(.refusedNoResources)
            try perform(signaling.withChannels { $0.decide(identifier, decision) })
        case .opened(let terms):
            try promise(flows[terms.localCID] == nil && terms.sendMPS >= 23 && terms.sendMTU >= 23, "terms that no channel has: \(terms)")
            asked.remove(terms.localCID)
            flows[terms.localCID] = CreditBasedFlow(terms)
        case .closed(let cid, _):
            let wasThere = flows.removeValue(forKey: cid) != nil
            try promise(wasThere || asked.remove(cid) != nil, "channel \(cid) ends twice")
        case .credited(let cid, let count):
            if let fault = flows[cid]?.credited(count) { try close(cid, fault) }
            try promise(flows[cid]?.credits ?? 0 <= 65_535, "too many credits")
        case .send, .reconfigured, .reconfigurationAnswered: break
        }
    }

    private mutating func received(_ frame: [UInt8], _ cid: UInt16) throws {
        guard var flow = flows.removeValue(forKey: cid) else { return }
        let outcome = flow.received(frame.span.bytes)
        switch outcome {
        case .part, .fault: break
        case .whole: flow.read(flow.completedFrames)
        case .completed:
            let sdu = flow.takeSDU()
            try promise(sdu.count <= 100, "an SDU of \(sdu.count) octets")
            flow.read(flow.completedFrames)
            flow.reuse(sdu)
        }
        _ = flow.replenish()
        try promise(flow.granted + flow.unread <= 65_535, "\(flow.granted) credits")
        flows[cid] = flow
        if case .fault(let fault) = outcome { try close(cid, fault) }
    }

    private mutating func close(_ cid: UInt16, _ fault: ChannelFault) throws {
        try perform(signaling.withChannels { [now] in $0.disconnect(cid, .creditBasedViolated(fault), at: now) })
    }
}
