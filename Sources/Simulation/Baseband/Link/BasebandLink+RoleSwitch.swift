import Packets
import Timing

/// A switch of roles under way: from its instant on, until the new piconet works or the old one is taken up again. Core Vol 2, Part B, 8.6.5.
struct RoleSwitch {
    let change: BasebandChange
    /// The link before.
    let before: BasebandLinkState
    /// Whether the FHS packet was answered: then the new piconet's first packet is awaited.
    var isHandedOver = false

    /// The peripheral becomes central: it sends in what were its slots.
    var isNewCentral: Bool { before.role == .peripheral }
}

extension BasebandLink {
    func beginSwitch(_ change: BasebandChange) {
        roleSwitch = RoleSwitch(change: change, before: state)
        connectionTimer.set(at: loop.now + PageTiming.newConnectionTimeout)
        planHandover(from: loop.now)
    }

    /// The slots have changed hands: the next FHS packet is due in what was the peripheral's next slot.
    private func planHandover(from time: Microseconds) {
        guard let roleSwitch else { return }
        phase = .idle
        nextTick = state.centralTick(from: time - NativeClock.slot) + 2
        let start = state.clock.start(of: nextTick)
        radio.reserve(self, at: nil)
        timer.set(at: roleSwitch.isNewCentral ? start : start - PageTiming.uncertainty)
    }

    /// - Returns: whether the turn belongs to a switch of roles.
    func handOver() -> Bool {
        guard let roleSwitch, !roleSwitch.isHandedOver else { return false }
        guard radio.acquire(self) else {
            planHandover(from: loop.now + NativeClock.slot)
            return true
        }
        let start = state.clock.start(of: nextTick)
        if roleSwitch.isNewCentral {
            phase = .sendingHandover(tick: nextTick)
            let ltAddr = freeLTAddr ?? 1
            newLTAddr = ltAddr
            var packet = state.accessCode(in: nextTick)
            packet.type = .fhs
            packet.uap = state.central.uap
            packet.ltAddr = state.ltAddr
            packet.whitening = Whitening(clock: NativeClock.value(of: nextTick))
            packet.isFromCentral = true
            packet.payload =
                FHSPayload(
                    address: state.own, classOfDevice: 0, pageScanRepetition: 1,
                    clock: NativeClock.value(of: state.native.tick(at: start)) >> 2,
                    announcesExtended: false, ltAddr: ltAddr
                ).payload
            radio.transmit(packet, at: start)
        } else {
            phase = .awaitingHandover(tick: nextTick)
            listen(in: nextTick)
        }
        return true
    }

    func listen(in tick: Int) {
        let due = state.clock.start(of: tick)
        radio.listen(state.tuning(state.channel(in: tick)), from: due - PageTiming.uncertainty, until: due + PageTiming.uncertainty)
    }

    func handoverTransmitted() {
        switch phase {
        case .sendingHandover(let tick):
            phase = .awaitingHandoverAnswer(tick: tick)
            listen(in: tick + 2)
        case .sendingHandoverAnswer(let central, let sent):
            join(
                role: .peripheral, central: central.address, clock: NativeClock(showing: Int(central.clock) << 2, at: sent),
                ltAddr: central.ltAddr)
        default: break
        }
    }

    func handoverReceived(_ reception: BREDRReception) {
        switch phase {
        case .awaitingHandoverAnswer where reception.isIntact && reception.packet.type == nil:
            join(role: .central, central: state.own, clock: state.native, ltAddr: newLTAddr)
        case .awaitingHandover(let tick) where reception.isIntact && reception.packet.type == .fhs:
            guard let central = FHSPayload(payload: reception.packet.payload) else { return handoverMissed() }
            phase = .sendingHandoverAnswer(central, sent: reception.start)
            radio.transmit(state.accessCode(in: tick + 2), at: state.clock.start(of: tick + 2))
        default: handoverMissed()
        }
    }

    /// The FHS packet is sent again, with a fresh clock.
    func handoverMissed() {
        radio.release(self)
        planHandover(from: loop.now)
    }

    /// Goes over to the new piconet, where the first packet is yet to come.
    private func join(role: LinkRole, central: BDADDR, clock: NativeClock, ltAddr: UInt8) {
        roleSwitch?.isHandedOver = true
        state.join(role: role, central: central, clock: clock, ltAddr: ltAddr, now: loop.now)
        endTurn()
    }

    /// The first packet of the new piconet has come, or newconnectionTO is over: then the old one is taken up again.
    func endSwitch(isDone: Bool) {
        guard let ended = roleSwitch else { return }
        roleSwitch = nil
        if !isDone {
            state.fallBack(to: ended.before)
            radio.release(self)
            endTurn()
        }
        manager?.transport(self, made: ended.change, isDone: isDone)
    }
}

extension BasebandLinkState {
    /// An ID packet of the piconet.
    func accessCode(in tick: Int) -> BREDRPacket { BREDRPacket(rfChannel: channel(in: tick), lap: central.lap) }
}
