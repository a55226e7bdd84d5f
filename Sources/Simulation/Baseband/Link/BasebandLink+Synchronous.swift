import BBPackets
import BBTiming

/// SCO and eSCO transports of a link. Core Vol 2, Part B, 4.3, 4.4 and 8.6.
extension BasebandLink {
    /// Creates a transport, replaces the one with the same number, or removes it.
    func change(_ id: UInt8, _ parameters: SynchronousParameters?) {
        if let index = synchronous.firstIndex(where: { $0.id == id }) { synchronous.remove(at: index).close() }
        if let parameters { synchronous.append(SynchronousLink(id, parameters, on: self)) }
    }

    /// Queues voice data from the host.
    func send(voice: ArraySlice<UInt8>, on id: UInt8) { synchronous.first { $0.id == id }?.send(voice) }

    // MARK: Queries of the link manager

    var freeLTAddr: UInt8? { delegate?.freeLTAddr(for: self) }

    func freeOffset(every interval: UInt8, slots: Int) -> UInt8? {
        let others = delegate?.synchronousLinks(beside: self) ?? []
        let tick = state.centralTick(from: loop.now)
        let flags: UInt8 = NativeClock.value(of: tick) >> 27 == 1 ? 2 : 0
        guard slots <= Int(interval) else { return nil }
        return stride(from: 0, to: interval, by: 2).first { offset in
            let grid = SlotGrid(flags: flags, offset: Int(offset), interval: Int(interval), from: tick)
            return !others.contains { $0.collides(with: grid.first, every: grid.interval, slots: slots) }
        }
    }

    // MARK: Called by the transports

    /// True if a central has an LMP message to send or a poll is due. When voice occupies all slots, such a turn takes some of them.
    func needsTurn(in tick: Int) -> Bool {
        role == .central
            && (state.exchange.hasControl || state.clock.start(of: tick) >= state.lastExchange + state.pollInterval)
    }

    func noteHeard(at start: Microseconds) { state.heard(at: start) }

    /// The voice data in a packet; nil if it is corrupted.
    func voice(of reception: BREDRReception) -> ArraySlice<UInt8>? { state.voice(of: reception) }

    func deliver(voice: ArraySlice<UInt8>, isCorrect: Bool, of id: UInt8) {
        delegate?.link(self, voice: voice, isCorrect: isCorrect, of: id)
    }

    /// Handles an ACL packet received while a peripheral's transport was listening.
    func adopt(_ reception: BREDRReception, in tick: Int) {
        guard case .idle = phase, role == .peripheral, radio.acquire(self) else { return }
        timer.cancel()
        phase = .listening(tick: tick)
        received(reception)
    }
}

extension BasebandLinkDelegate {
    func link(_ link: BasebandLink, voice: ArraySlice<UInt8>, isCorrect: Bool, of id: UInt8) {}
    func synchronousLinks(beside link: BasebandLink) -> [SynchronousLink] { link.synchronous }
}

extension BasebandLinkState {
    /// Builds a packet of a synchronous transport.
    func packet(
        _ type: BREDRPacketType, _ payload: [UInt8], ltAddr: UInt8, arqn: Bool, seqn: Bool, in tick: Int, answering answered: Int?
    ) -> BREDRPacket {
        var packet = packet(in: tick, answering: answered)
        (packet.type, packet.ltAddr, packet.flow, packet.arqn, packet.seqn) = (type, ltAddr, true, arqn, seqn)
        packet.payload = payload
        protection.encrypt(&packet, clock: NativeClock.value(of: tick))
        return packet
    }

    func voice(of reception: BREDRReception) -> ArraySlice<UInt8>? {
        guard reception.isIntact else { return nil }
        return protection.decrypt(reception.packet, clock: NativeClock.value(of: clock.tick(at: reception.start))).map { $0[...] }
    }
}
