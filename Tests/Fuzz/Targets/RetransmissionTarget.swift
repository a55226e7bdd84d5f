import BBL2CAP
import BBPackets
import BBTiming

@testable import BBHost

extension FuzzTarget {
    private static let retransmissionLayer: LayerOfAction = { _ in nil }

    /// Two ends in Enhanced Retransmission mode with any frames between them: nothing is sent endlessly, nothing beyond the MTU is
    /// delivered, and a closed channel sends nothing. If frames are only lost, all data arrives.
    static let retransmission = FuzzTarget(
        name: "retransmission", layer: retransmissionLayer,
        seeds: {
            let send = [UInt8(0), 1].map { Frames.Frame(action: .init(end: Int($0), kind: 2), packet: [0, 60, 9]) }
            let pass = Frames.Frame(action: .init(end: 0, kind: 1, extra: 3), packet: [])
            let lose = Frames.Frame(action: .init(end: 0, kind: 3), packet: [])
            return (UInt8(0)..<16).map { Frames(settings: $0 * 16, send + [lose] + send + [pass] + send + [pass, pass]).octets() }
                + Seeds.written(["0000|0201|0402", "0100|1100|8100|9100", "0500|0d00", "0040 0a00 0102|0280 03"], Frames.Action(end: 0))
        },
        run: { input in
            let frames = Frames(input)
            var table = RetransmissionTable(frames.settings)
            for frame in frames.list { try table.take(frame) }
            try table.check()
        })
}

private struct RetransmissionTable {
    private var ends: [EnhancedRetransmission]
    private var mail: [(to: Int, pdu: [UInt8])] = []
    private var sent: [[[UInt8]]] = [[], []]
    private var received: [[[UInt8]]] = [[], []]
    private var isClosed = [false, false]
    private var isForeign = false
    private var now = Microseconds.zero

    /// - Parameter choice: kind of retransmission request, window, control field and MaxTransmit.
    init(_ choice: UInt8) {
        ends = (0..<2).map { end in
            var terms = ChannelTerms(localCID: 0x40 + UInt16(end), remoteCID: 0x41 - UInt16(end), psm: 1, mode: .enhancedRetransmission)
            (terms.receiveMTU, terms.sendMTU, terms.receiveMPS, terms.sendMPS) = (100, 100, 20, 20)
            let window: UInt16 = [1, 5, 32, 63][Int(choice >> 4 & 3)]
            (terms.receiveWindow, terms.sendWindow) = (window, window)
            (terms.usesFrameCheckSequence, terms.usesExtendedControl) = (false, choice & 0x40 != 0)
            return EnhancedRetransmission(terms, recovery: choice & 0x80 == 0 ? .reject : .selectiveReject)
        }
    }

    mutating func take(_ frame: Frames.Frame) throws {
        let end = frame.action.end
        now = now + frame.action.pause
        switch frame.action.kind {
        case 0:
            isForeign = true
            try perform(ends[end].received(frame.packet, at: now), end)
        case 1: for _ in 0...8 * frame.action.extra { try deliver() }
        case 2: try happens(frame.packet, at: end)
        default: if !mail.isEmpty { mail.removeFirst() }
        }
    }

    private mutating func deliver() throws {
        guard !mail.isEmpty else { return }
        let (end, pdu) = mail.removeFirst()
        try perform(ends[end].received(pdu, at: now), end)
    }

    private mutating func happens(_ what: [UInt8], at end: Int) throws {
        switch what.first ?? 0 {
        case 0 where ends[end].queuedFrames < 100:
            let sdu = [UInt8](repeating: what.last ?? 0, count: min(100, what.count > 1 ? Int(what[1]) : 1))
            if !isClosed[end] { sent[end].append(sdu) }
            try perform(ends[end].send(sdu, at: now), end)
        case 1: try perform(ends[end].setBusy(what.last == 1, at: now), end)
        default:
            now = max(now, ends[end].deadline ?? now)
            try perform(ends[end].expire(at: now), end)
        }
    }

    private mutating func perform(_ actions: [EnhancedRetransmission.Action], _ end: Int) throws {
        try promise(actions.isEmpty || !isClosed[end], "something happens after the end")
        try promise(actions.count <= 400, "\(actions.count) actions at once")
        for action in actions {
            switch action {
            case .send(let pdu):
                try promise(pdu.count <= 4 + 2 + 20, "a frame of \(pdu.count) octets")
                mail.append((1 - end, pdu))
            case .deliver(let sdu):
                try promise(sdu.count <= 100, "an SDU of \(sdu.count) octets")
                received[end].append(sdu)
            case .close: isClosed[end] = true
            }
        }
        try promise(ends[end].held.count <= 63 && ends[end].missing.count <= 63, "more is held than the window has")
        if mail.count > 500 { mail.removeFirst(mail.count - 500) }
    }

    mutating func check() throws {
        guard !isForeign else { return }
        for end in 0..<2 { try perform(ends[end].setBusy(false, at: now), end) }
        var left = 20_000
        while left > 0 {
            left -= 1
            if !mail.isEmpty {
                try deliver()
            } else if let next = ends.compactMap(\.deadline).min() {
                now = max(now, next)
                for end in 0..<2 { try perform(ends[end].expire(at: now), end) }
            } else {
                break
            }
        }
        try promise(received[0] == sent[1] && received[1] == sent[0] && isClosed == [false, false], "SDUs are lost, or come to no end")
    }
}
