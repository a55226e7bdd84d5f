import BBL2CAP
import BBPackets
import BBTiming

@testable import BBHost

extension FuzzTarget {
    private static let classicLayer: LayerOfAction = { [0, 3].contains($0.kind) ? .l2capSignaling : nil }

    /// Two BR/EDR signalling channels that connect, configure and disconnect, with commands inserted, changed and lost: no end sends
    /// endlessly, each channel ends once, and nothing remains of a closed link.
    static let classicChannels = FuzzTarget(
        name: "classic", layer: classicLayer,
        seeds: {
            let pass = Frames.Frame(action: .init(end: 0, kind: 1, extra: 3), packet: [])
            return Seeds.declared(classicLayer)
                + (UInt8(0)..<32).map { setting in
                    let begin = Frames.Frame(action: .init(end: 0, kind: 2), packet: [0])
                    let again = Frames.Frame(action: .init(end: 1, kind: 2), packet: [2, 0])
                    let leave = Frames.Frame(action: .init(end: 0, kind: 2), packet: [1, 0])
                    return Frames(settings: setting * 8, [begin, pass, pass, again, pass, leave, pass]).octets()
                }
                + (UInt8(4)..<8).map { what in
                    let change = Frames.Frame(action: .init(end: 1, kind: 2), packet: [what, 100])
                    let enhance = Frames.Frame(action: .init(end: 0, kind: 2), packet: [5, 0])
                    return Frames([enhance, pass, change, pass, enhance, pass]).octets()
                }
        },
        run: { input in
            let frames = Frames(input)
            var table = ClassicTable(frames.settings)
            for frame in frames.list { try table.take(frame) }
            try table.check()
        })
}

private struct ClassicTable {
    private var ends: [ClassicSignaling]
    private let wanted: [ClassicChannelSettings]
    private var mail: [(to: Int, pdu: [UInt8])] = []
    private var alive: [Set<UInt16>] = [[], []]
    /// Open channels in enhanced credit-based mode.
    private var open: [Set<UInt16>] = [[], []]
    private var now = Microseconds.zero
    private static let enhanced = CreditBasedChannelSettings(mtu: 100, mps: 64, initialCredits: 4)

    /// - Parameter choice: for each end the mode, whether it insists on it, and its capabilities.
    init(_ choice: UInt8) {
        wanted = (0..<2).map { end in
            var settings = ClassicChannelSettings()
            settings.mode = [.basic, .enhancedRetransmission, .streaming, .enhancedRetransmission][Int(choice >> UInt8(2 * end) & 3)]
            settings.isModeMandatory = choice & 0x10 != 0
            settings.usesFrameCheckSequence = choice & 0x20 == 0
            settings.receiveWindow = choice & 0x40 == 0 ? 63 : 500
            settings.qualityOfService = choice & 0x80 == 0 ? nil : QualityOfService()
            return settings
        }
        var able = ClassicSignaling.Settings()
        able.features.insert(.extendedFlowSpecification)
        ends = [ClassicSignaling(able), ClassicSignaling()]
    }

    mutating func take(_ frame: Frames.Frame) throws {
        let end = frame.action.end
        now = now + frame.action.pause
        switch frame.action.kind {
        case 0: try perform(ends[end].received(frame.packet, at: now), end)
        case 1: for _ in 0...8 * frame.action.extra { try deliver { $0 } }
        case 2: try happens(frame.packet, at: end)
        default: try deliver { frame.packet.isEmpty ? $0 : frame.packet }
        }
    }

    private mutating func deliver(_ change: ([UInt8]) -> [UInt8]) throws {
        guard !mail.isEmpty else { return }
        let (end, pdu) = mail.removeFirst()
        try perform(ends[end].received(change(pdu), at: now), end)
    }

    private mutating func happens(_ what: [UInt8], at end: Int) throws {
        let cid = 0x40 + UInt16((what.last ?? 0) & 7)
        switch what.first ?? 0 {
        case 0:
            let (cid, actions) = ends[end].connect(psm: 0x1001, wanted[end], at: now)
            if let cid { alive[end].insert(cid) }
            try perform(actions, end)
        case 1: try perform(ends[end].disconnect(cid, at: now), end)
        case 2: try perform(ends[end].reconfigure(cid, at: now), end)
        case 3: mail.removeAll()
        case 4, 5:
            let count = (what.first ?? 0) == 4 ? 1 : 3
            try perform(
                ends[end].withCreditBased { [now] in $0.connect(spsm: 0x80, Self.enhanced, kind: .enhanced, count: count, at: now).actions
                }, end)
        case 6: try perform(ends[end].withCreditBased { [now] in $0.disconnect(cid, at: now) }, end)
        case 7: try perform(ends[end].withCreditBased { [now] in $0.reconfigure([cid], mtu: 100 + cid, mps: cid, at: now) }, end)
        default:
            now = max(now, ends[end].deadline ?? now)
            try perform(ends[end].expire(at: now), end)
            try promise(ends[end].deadline.map { $0 > now } ?? true, "a deadline that has passed")
        }
    }

    private mutating func perform(_ actions: [ClassicSignaling.Action], _ end: Int) throws {
        try promise(actions.count <= 400, "\(actions.count) actions at once")
        for action in actions {
            switch action {
            case .send(let pdu): mail.append((1 - end, pdu))
            case .requested(let cid, _):
                alive[end].insert(cid)
                try perform(ends[end].decide(cid, .accept(wanted[end]), at: now), end)
            case .opened(let terms):
                try promise(alive[end].contains(terms.localCID), "a channel opens that is not there")
                try promise(terms.sendMTU >= 48 && terms.remoteCID >= 0x40, "terms that no channel has: \(terms)")
            case .features, .echoed: try promise(false, "an answer to a question that was not asked")
            case .fixedChannels: try promise(ends[end].fixedChannelsRequest == nil, "fixed channels are told while they are asked for")
            case .creditBased(.requested(let identifier, _, _)):
                try perform(ends[end].withCreditBased { $0.decide(identifier, .accept(Self.enhanced)) }, end)
            case .creditBased(.opened(let terms)):
                try promise(terms.sendMTU >= 64 && terms.sendMPS >= 64 && terms.remoteCID >= 0x40, "terms that no channel has: \(terms)")
                try promise(open[end].insert(terms.localCID).inserted && !alive[end].contains(terms.localCID), "a CID of two channels")
            case .creditBased(.closed(let cid, _)): open[end].remove(cid)
            case .creditBased: break
            case .closed(let cid, _): try promise(alive[end].remove(cid) != nil, "channel \(cid) ends twice")
            }
        }
        try promise(ends[end].channels.count <= 64, "\(ends[end].channels.count) channels")
        if mail.count > 64 { mail.removeFirst(mail.count - 64) }
    }

    mutating func check() throws {
        for end in 0..<2 {
            try perform(ends[end].linkEnded(), end)
            try promise(alive[end].isEmpty && ends[end].deadline == nil, "something is left of the link")
        }
    }
}
