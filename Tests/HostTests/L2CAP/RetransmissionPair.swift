import BBL2CAP
import BBPackets
import BBTiming

@testable import BBHost

/// Both ends of a channel in Enhanced Retransmission mode, with a link that loses, corrupts, repeats and swaps frames, in virtual time.
struct RetransmissionPair {
    struct Link {
        var loss = 0.0
        var damage = 0.0
        var repetition = 0.0
        var swapping = 0.0
        /// One-way delay.
        var delay = Microseconds.milliseconds(5)
    }

    var ends: [EnhancedRetransmission]
    var link: Link
    private(set) var now = Microseconds.zero
    private(set) var received: [[[UInt8]]] = [[], []]
    private(set) var ending: [ChannelEnd?] = [nil, nil]
    private(set) var frames: [FrameControl] = []
    private var mail: [(at: Microseconds, to: Int, pdu: [UInt8])] = []
    private var random: RandomSource

    init(_ terms: ChannelTerms, recovery: EnhancedRetransmission.Recovery, link: Link = Link(), seed: UInt64 = 1) {
        var other = terms
        (other.localCID, other.remoteCID) = (terms.remoteCID, terms.localCID)
        ends = [EnhancedRetransmission(terms, recovery: recovery), EnhancedRetransmission(other, recovery: recovery)]
        self.link = link
        random = RandomSource(seed: seed)
    }

    static func terms(window: UInt16, mps: UInt16 = 20, maxTransmit: UInt8 = 0, _ change: (inout ChannelTerms) -> Void = { _ in })
        -> ChannelTerms
    {
        var terms = ChannelTerms(localCID: 0x40, remoteCID: 0x41, psm: 0x1001, mode: .enhancedRetransmission)
        (terms.receiveMTU, terms.sendMTU, terms.receiveMPS, terms.sendMPS) = (500, 500, mps, mps)
        (terms.receiveWindow, terms.sendWindow, terms.maxTransmit) = (window, window, maxTransmit)
        change(&terms)
        return terms
    }

    mutating func send(_ sdu: [UInt8], from end: Int) { perform(ends[end].send(sdu, at: now), end) }

    mutating func setBusy(_ isBusy: Bool, _ end: Int) { perform(ends[end].setBusy(isBusy, at: now), end) }

    mutating func perform(_ actions: [EnhancedRetransmission.Action], _ end: Int) {
        for action in actions {
            switch action {
            case .send(let pdu): post(pdu, from: end)
            case .deliver(let sdu): received[end].append(sdu)
            case .close(let reason): ending[end] = reason
            }
        }
    }

    private mutating func post(_ pdu: [UInt8], from end: Int) {
        if let frame = ends[1 - end].framing.decode(pdu) { frames.append(frame.control) }
        guard !random.chance(link.loss) else { return }
        var pdu = pdu
        if random.chance(link.damage) { pdu[Int(random.next() % UInt64(pdu.count))] ^= 1 << UInt8(random.next() % 8) }
        let copies = random.chance(link.repetition) ? 2 : 1
        for _ in 0..<copies { mail.append((now + link.delay, 1 - end, pdu)) }
        if mail.count > 1, random.chance(link.swapping) { mail.swapAt(mail.count - 1, mail.count - 2) }
    }

    /// Advances time to the next event; false if there is none.
    mutating func proceed() -> Bool {
        let next = ([mail.first?.at] + ends.map(\.deadline)).compactMap(\.self).min()
        guard let next else { return false }
        now = max(now, next)
        if let first = mail.first, first.at <= now {
            mail.removeFirst()
            perform(ends[first.to].received(first.pdu, at: now), first.to)
        } else {
            for end in 0..<2 { perform(ends[end].expire(at: now), end) }
        }
        return true
    }

    mutating func settle(steps: Int = 200_000) {
        var left = steps
        while left > 0, proceed() { left -= 1 }
    }
}
