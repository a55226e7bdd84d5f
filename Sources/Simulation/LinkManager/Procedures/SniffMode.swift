import BBPackets

/// Sniff mode parameters requested by the local host.
struct SniffRequest: Equatable {
    /// T_sniff in slots; both bounds are even.
    var intervals: ClosedRange<UInt16>
    var attempt: UInt16
    var timeout: UInt16

    /// Range that every controller must support. Core Vol 2, Part C, 5.2.
    static let mandatory: ClosedRange<UInt16> = 0x0006...0x0540

    /// The longest requested interval that the peer must support.
    var interval: UInt16 { max(intervals.lowerBound, min(intervals.upperBound, Self.mandatory.upperBound)) }
}

extension SniffParameters {
    /// True if the peer may request these parameters. Core Vol 2, Part C, 4.5.3.1.
    var isLegal: Bool {
        interval >= 2 && interval % 2 == 0 && offset % 2 == 0 && offset < interval && attempt > 0 && attempt <= interval / 2
    }

    init(_ pdu: LMP.SniffReq) {
        self.init(
            flags: pdu.timingControlFlags.rawValue, offset: pdu.dSniff, interval: pdu.tSniff, attempt: pdu.sniffAttempt,
            timeout: pdu.sniffTimeout)
    }

    var request: LMP.SniffReq {
        LMP.SniffReq(
            timingControlFlags: LMPTimingControlFlags(rawValue: flags), dSniff: offset, tSniff: interval, sniffAttempt: attempt,
            sniffTimeout: timeout)
    }
}

/// Sniff mode requested by the local device: LMP_sniff_req, to which the peer may respond with other parameters. Core Vol 2, Part C,
/// 4.5.3.1.
struct LocalSniff: LMPProcedure {
    private let wanted: SniffRequest
    private var proposal: SniffParameters?
    let kind = LinkManagement.Kind.sniff
    let isAwaitingPeer = true

    init(_ wanted: SniffRequest) { self.wanted = wanted }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start:
            guard link.bothSupport(.sniff) else { return end(.unsupportedRemoteFeature) }
            guard link.sniff == nil else { return end(.lmpPDUNotAllowed) }
            let proposal = link.sniff(every: wanted)
            self.proposal = proposal
            return [.send(proposal.request, link.ownTransaction)]
        case .message(let message):
            if message.accepts(LMP.SniffReq.self), let proposal { return proposal.entered }
            guard case .sniffReq(let pdu) = message.pdu else { return nil }
            let other = SniffParameters(pdu)
            guard other.isLegal, wanted.intervals.contains(other.interval) else {
                return [.reject(LMP.SniffReq.self, .unsupportedLMPParameterValue, message.transaction)] + end(.unsupportedLMPParameterValue)
            }
            return [.accept(LMP.SniffReq.self, message.transaction)] + other.entered
        case .refused(let refusal) where refusal.concerns(LMP.SniffReq.self): return end(refusal.reason)
        default: return nil
        }
    }

    private func end(_ status: ErrorCode) -> [LMPAction] { [.report(.modeChanged(interval: nil, status)), .finish] }
}

/// Sniff mode requested by the peer. It starts once the peer has received LMP_accepted.
struct RemoteSniff: LMPProcedure {
    private var agreed: SniffParameters?
    let kind = LinkManagement.Kind.sniff
    let isAwaitingPeer = true

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .message(let message) where agreed == nil:
            guard case .sniffReq(let pdu) = message.pdu else { return nil }
            let wanted = SniffParameters(pdu)
            guard let refusal = refusal(of: wanted, link) else {
                agreed = wanted
                return [.accept(LMP.SniffReq.self, message.transaction)]
            }
            return [.reject(LMP.SniffReq.self, refusal, message.transaction), .finish]
        case .acknowledged(let header) where header.opcode == LMP.Accepted.opcode: return agreed?.entered
        default: return nil
        }
    }

    private func refusal(of wanted: SniffParameters, _ link: ACLLinkState) -> ErrorCode? {
        guard link.settings.allowsSniff, link.sniff == nil else { return .lmpPDUNotAllowed }
        guard wanted.isLegal else { return .invalidLMPParameters }
        return SniffRequest.mandatory.contains(wanted.interval) ? nil : .unsupportedLMPParameterValue
    }
}

/// Return to active mode requested by the local device. Core Vol 2, Part C, 4.5.3.2.
struct LocalUnsniff: LMPProcedure {
    let kind = LinkManagement.Kind.sniff
    let isAwaitingPeer = true

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start: link.sniff == nil ? SniffParameters.left : [.send(LMP.UnsniffReq(), link.ownTransaction)]
        case .message(let message) where message.accepts(LMP.UnsniffReq.self): [.baseband(.sniff(nil))] + SniffParameters.left
        case .refused(let refusal) where refusal.concerns(LMP.UnsniffReq.self):
            [.report(.modeChanged(interval: link.sniff?.interval, refusal.reason)), .finish]
        default: nil
        }
    }
}

/// Return to active mode requested by the peer, which must be accepted.
struct RemoteUnsniff: LMPProcedure {
    let kind = LinkManagement.Kind.sniff

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event else { return nil }
        guard link.sniff != nil else { return [.reject(LMP.UnsniffReq.self, .lmpPDUNotAllowed, message.transaction), .finish] }
        return [.accept(LMP.UnsniffReq.self, message.transaction), .baseband(.sniff(nil))] + SniffParameters.left
    }
}

extension SniffParameters {
    fileprivate var entered: [LMPAction] { [.baseband(.sniff(self)), .report(.modeChanged(interval: interval, .success)), .finish] }
    fileprivate static var left: [LMPAction] { [.report(.modeChanged(interval: nil, .success)), .finish] }
}

extension ACLLinkState {
    /// Parameters with the first anchor point some slots ahead. The most significant clock bit selects the formula. Core Vol 2, Part B,
    /// 8.7.
    fileprivate func sniff(every wanted: SniffRequest) -> SniffParameters {
        let isUpperHalf = slot & Self.slots >> 1 != 0
        let count = (isUpperHalf ? slot ^ Self.slots >> 1 : slot) + 64
        let interval = wanted.interval
        return SniffParameters(
            flags: isUpperHalf ? 2 : 0, offset: UInt16(count % UInt32(interval)) & ~1, interval: interval,
            attempt: max(1, min(wanted.attempt, interval / 2)), timeout: wanted.timeout)
    }
}
