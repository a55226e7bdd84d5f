import BBPackets

/// LMP_supervision_timeout, sent by the central. Core Vol 2, Part C, 4.1.6.
struct LocalSupervisionTimeout: LMPProcedure {
    /// In slots.
    let timeout: UInt16
    let kind = LinkManagement.Kind.supervision

    init(_ timeout: UInt16) { self.timeout = timeout }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .start = event else { return nil }
        guard link.role == .central else { return [.finish] }
        return [
            .send(LMP.SupervisionTimeout(supervisionTimeout: timeout), link.ownTransaction), .baseband(.supervisionTimeout(timeout)),
            .finish,
        ]
    }
}

struct RemoteSupervisionTimeout: LMPProcedure {
    let kind = LinkManagement.Kind.supervision

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event, case .supervisionTimeout(let pdu) = message.pdu else { return nil }
        return [.baseband(.supervisionTimeout(pdu.supervisionTimeout)), .finish]
    }
}

/// Poll interval: set by the central, requested by the peripheral. Core Vol 2, Part C, 4.1.8.
struct LocalQualityOfService: LMPProcedure {
    /// Valid T_poll in slots; must be even. Core Vol 2, Part C, 5.2.
    static let intervals = 6...4096

    /// T_poll in slots.
    let interval: UInt16
    let kind = LinkManagement.Kind.qualityOfService
    let isAwaitingPeer = true

    init(interval: UInt16) { self.interval = interval }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        let change: [LMPAction] = [
            .baseband(.polling(interval: interval, broadcasts: 1)), .report(.qualityOfService(interval, .success)), .finish,
        ]
        switch event {
        case .start:
            guard link.role == .peripheral else {
                return [.send(LMP.QualityOfService(pollInterval: interval, nBc: 1), link.ownTransaction)] + change
            }
            return [.send(LMP.QualityOfServiceReq(pollInterval: interval, nBc: 0), link.ownTransaction)]
        case .message(let message) where message.accepts(LMP.QualityOfServiceReq.self): return change
        case .refused(let refusal) where refusal.concerns(LMP.QualityOfServiceReq.self):
            return [.report(.qualityOfService(link.pollInterval, refusal.reason)), .finish]
        default: return nil
        }
    }
}

struct RemoteQualityOfService: LMPProcedure {
    let kind = LinkManagement.Kind.qualityOfService

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event else { return nil }
        switch message.pdu {
        case .qualityOfService(let pdu):
            guard link.role == .peripheral, Self.isLegal(pdu.pollInterval) else { return [.finish] }
            return [.baseband(.polling(interval: pdu.pollInterval, broadcasts: pdu.nBc)), .finish]
        case .qualityOfServiceReq(let pdu):
            guard Self.isLegal(pdu.pollInterval) else {
                return [.reject(LMP.QualityOfServiceReq.self, .invalidLMPParameters, message.transaction), .finish]
            }
            return [
                .baseband(.polling(interval: pdu.pollInterval, broadcasts: 1)), .accept(LMP.QualityOfServiceReq.self, message.transaction),
                .finish,
            ]
        default: return nil
        }
    }

    private static func isLegal(_ interval: UInt16) -> Bool { LocalQualityOfService.intervals.contains(Int(interval)) && interval % 2 == 0 }
}

/// Response to a timing accuracy request. Core Vol 2, Part C, 4.3.1.
struct RemoteTimingAccuracy: LMPProcedure {
    let kind = LinkManagement.Kind.timingAccuracy

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event else { return nil }
        return [.send(LMP.TimingAccuracyRes(drift: 250, jitter: 10), message.transaction), .finish]
    }
}
