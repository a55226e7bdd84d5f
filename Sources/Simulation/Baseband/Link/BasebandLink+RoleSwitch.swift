import BBPackets
import BBTiming

/// State of a role switch, from its instant until the new piconet is established or the old one is resumed. Core Vol 2, Part B, 8.6.5.
struct RoleSwitch {
    let change: BasebandChange
    /// Link state before the role switch.
    let before: BasebandLinkState
    /// True once the FHS packet has been acknowledged; the first packet of the new piconet is then awaited.
    var isHandedOver = false

    /// True for the peripheral that becomes central; it sends in its former slots.
    var isNewCentral: Bool { before.role == .peripheral }
}

extension BasebandLink {
    func beginSwitch(_ change: BasebandChange) {
        roleSwitch = RoleSwitch(change: change, before: state)
        connectionTimer.set(at: loop.now + PageTiming.newConnectionTimeout)
        planHandover(from: loop.now)
    }

    /// Schedules the next FHS packet in the new central's next slot.
    private func planHandover(from time: Microseconds) {
        guard let roleSwitch else { return }
        phase = .idle
        nextTick = state.centralTick(from: time - NativeClock.slot) + 2
        let start = state.clock.start(of: nextTick)
        radio.reserve(self, at: nil)
        timer.set(at: roleSwitch.isNewCentral ? start : start - PageTiming.uncertainty)
    }

    /// Performs the current step of a role switch, if there is one.
    ///
    /// - Returns: true if the turn belongs to a role switch.
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

    /// Sends the FHS packet again, with the current clock.
    func handoverMissed() {
        radio.release(self)
        planHandover(from: loop.now)
    }

    /// Joins the new piconet and waits for its first packet.
    private func join(role: LinkRole, central: BDADDR, clock: NativeClock, ltAddr: UInt8) {
        roleSwitch?.isHandedOver = true
        state.join(role: role, central: central, clock: clock, ltAddr: ltAddr, now: loop.now)
        endTurn()
    }

    /// Ends the role switch: the first packet of the new piconet has arrived, or newconnectionTO has expired and the old piconet is
    /// resumed.
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
    /// An ID packet with the channel access code of the piconet.
    func accessCode(in tick: Int) -> BREDRPacket { BREDRPacket(rfChannel: channel(in: tick), lap: central.lap) }
}
