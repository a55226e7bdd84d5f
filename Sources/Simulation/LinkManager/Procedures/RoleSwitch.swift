import BBPackets

/// Role switch requested by the local device. Core Vol 2, Part C, 4.4.2.
struct LocalRoleSwitch: LMPProcedure {
    private enum State {
        case awaitingAnswer
        case awaitingInstant
    }

    private var state = State.awaitingAnswer
    private var instant: UInt32 = 0
    let kind = LinkManagement.Kind.roleSwitch
    let holdsData = true

    var isAwaitingPeer: Bool { state == .awaitingAnswer }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch (event, state) {
        case (.start, .awaitingAnswer):
            guard link.bothSupport(.roleSwitch) else { return end(link.role, .unsupportedRemoteFeature) }
            guard link.maySwitchRoles else { return end(link.role, .roleChangeNotAllowed) }
            instant = link.switchInstant
            let request = LMPAction.send(LMP.SwitchReq(switchInstant: instant), link.ownTransaction)
            guard link.role == .peripheral, link.bothSupport(.slotOffset) else { return [request] }
            return [.send(LMP.SlotOffset(slotOffset: link.slotOffset, bdADDR: link.own), link.ownTransaction), request]
        case (.message(let message), .awaitingAnswer):
            if case .slotOffset(let pdu) = message.pdu {
                return [.change(.peerSlotOffset(SlotOffset(microseconds: pdu.slotOffset, address: pdu.bdADDR)))]
            }
            guard message.accepts(LMP.SwitchReq.self) else { return nil }
            state = .awaitingInstant
            let own = link.role == .peripheral ? SlotOffset(microseconds: link.slotOffset, address: link.own) : link.peerSlotOffset
            return [.baseband(.roleSwitch(instant: instant, slotOffset: own))]
        case (.refused(let refusal), .awaitingAnswer) where refusal.concerns(LMP.SwitchReq.self): return end(link.role, refusal.reason)
        case (.hostReplied(.switched(let isDone)), .awaitingInstant): return link.switched(isDone)
        default: return nil
        }
    }

    private func end(_ role: LinkRole, _ status: ErrorCode) -> [LMPAction] { [.report(.roleChanged(role, status)), .finish] }
}

/// Role switch requested by the peer.
struct RemoteRoleSwitch: LMPProcedure {
    private var isAccepted = false
    let kind = LinkManagement.Kind.roleSwitch
    let holdsData = true

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .message(let message) where !isAccepted:
            guard case .switchReq(let pdu) = message.pdu else { return nil }
            return answer(pdu.switchInstant, message.transaction, link)
        case .hostReplied(.switched(let isDone)) where isAccepted: return link.switched(isDone)
        default: return nil
        }
    }

    private mutating func answer(_ instant: UInt32, _ transaction: LMPTransaction, _ link: ACLLinkState) -> [LMPAction] {
        guard link.maySwitchRoles, link.settings.allowsRoleSwitch else {
            return [.reject(LMP.SwitchReq.self, .roleChangeNotAllowed, transaction), .finish]
        }
        guard link.isAhead(instant) else { return [.reject(LMP.SwitchReq.self, .instantPassed, transaction), .finish] }
        isAccepted = true
        guard link.role == .peripheral else {
            return [.accept(LMP.SwitchReq.self, transaction), .baseband(.roleSwitch(instant: instant, slotOffset: link.peerSlotOffset))]
        }
        let own = SlotOffset(microseconds: link.slotOffset, address: link.own)
        let offset: [LMPAction] =
            link.bothSupport(.slotOffset) ? [.send(LMP.SlotOffset(slotOffset: own.microseconds, bdADDR: own.address), transaction)] : []
        return offset + [.accept(LMP.SwitchReq.self, transaction), .baseband(.roleSwitch(instant: instant, slotOffset: own))]
    }
}

/// Receives LMP_slot_offset: the timing of the peer's future piconet. Core Vol 2, Part C, 4.4.1.
struct RemoteSlotOffset: LMPProcedure {
    let kind = LinkManagement.Kind.slotOffset

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event, case .slotOffset(let pdu) = message.pdu else { return nil }
        return [.change(.peerSlotOffset(SlotOffset(microseconds: pdu.slotOffset, address: pdu.bdADDR))), .finish]
    }
}

extension ACLLinkState {
    /// Number of values of an instant: 27 bits, in slots.
    static let slots: UInt32 = 0x800_0000

    /// Instant at least 32 slots and two polls ahead. Core Vol 2, Part C, 4.4.2.
    fileprivate var switchInstant: UInt32 { ((slot + max(32, 2 * UInt32(pollInterval)) + 2) & ~1) % Self.slots }

    /// True if an instant lies ahead, by at most half the clock's range. Core Vol 2, Part C, 2.6.
    func isAhead(_ instant: UInt32) -> Bool { (instant &- slot) % Self.slots < Self.slots / 2 }

    /// True if the roles can be switched: not in sniff mode, with synchronous transports or with encryption, whose key stream depends on the
    /// central's address and clock. Core Vol 2, Part C, 4.4.2.
    fileprivate var maySwitchRoles: Bool { (security.mode == .off || security.isPaused) && sniff == nil && synchronous.isEmpty }

    fileprivate func switched(_ isDone: Bool) -> [LMPAction] {
        let new: LinkRole = isDone ? (role == .central ? .peripheral : .central) : role
        return [.change(.role(new)), .report(.roleChanged(new, isDone ? .success : .roleSwitchFailed)), .finish]
    }
}
