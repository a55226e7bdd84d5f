import Packets

/// Connection events as both roles have them. Core Vol 6, Part B, 4.5.1 and 4.5.6.
extension Connection {
    func schedule(event number: Int) {
        nextEvent = number
        let start = max(eventStart(number), air.loop.now)
        radio.reserve(self, at: start)
        eventTimer.set(at: start)
    }

    /// When the link needs the radio for an event.
    private func eventStart(_ number: Int) -> Microseconds {
        switch role {
        case .central: clock.anchor(of: number)
        case .peripheral: clock.anchor(of: number) - widening(of: number)
        }
    }

    /// When it is too late for an event: the event before, or a busier link, took too long.
    private func latestStart(_ number: Int) -> Microseconds {
        switch role {
        case .central: clock.anchor(of: number)
        case .peripheral: clock.anchor(of: number) + transmitWindow + widening(of: number)
        }
    }

    func beginEvent() {
        guard !isClosed else { return }
        guard phase == .idle else { return }
        if nextEvent != eventCounter {
            eventCounter = nextEvent
            control.eventBegins(eventCounter)
            guard !isClosed else { return }
        }
        guard eventStart(eventCounter) <= air.loop.now else { return schedule(event: eventCounter) }
        statistics.events += 1
        event = Event()
        guard latestStart(eventCounter) >= air.loop.now, radio.acquire(self) else { return miss() }
        event.channel = channel(of: eventCounter)
        event.nextAnchor = clock.anchor(of: eventCounter + 1)
        switch role {
        case .central: beginCentralEvent()
        case .peripheral: beginPeripheralEvent()
        }
    }

    /// When the event may not go on any more: this link, or another use of the radio, needs it.
    var eventLimit: Microseconds { min(event.nextAnchor, radio.nextReservation(besides: self)) }

    private func miss() {
        missedEvents += 1
        statistics.missedEvents += 1
        schedule(event: eventCounter + 1)
    }

    private func channel(of number: Int) -> ChannelIndex {
        let channel = hop.channel(event: number, map: channelMap)
        let offset = configuration.quirks.hopOffset
        return offset == 0 ? channel : ChannelIndex((channel.rawValue &+ offset) % 37)
    }

    /// - Parameter reason: what to count it under; a peripheral counts only events that ended in silence, the central knows the rest.
    func closeEvent(_ reason: WritableKeyPath<LinkStatistics, Int>? = nil) {
        guard !isClosed else { return }
        if let reason { statistics[keyPath: reason] += 1 }
        phase = .idle
        if event.heardIntact { missedEvents = 0 } else { missedEvents += 1 }
        statistics.mostExchanges = max(statistics.mostExchanges, event.exchanges)
        radio.release(self)
        guard nextEvent <= eventCounter else { return }
        schedule(event: role == .central ? eventCounter + 1 : nextPeripheralEvent())
    }

    func preempted() {
        guard !isClosed else { return }
        phase = .idle
        statistics.missedEvents += 1
        missedEvents += 1
        if nextEvent <= eventCounter { schedule(event: eventCounter + 1) }
    }

    func transmitted(at end: Microseconds) {
        // What has left acknowledges LL_TERMINATE_IND.
        if let reason = control.closingReason { return close(reason) }
        switch role {
        case .central: awaitReply(from: end)
        case .peripheral: awaitMore(from: end)
        }
    }

    func windowClosed() { closeEvent(\.endedSilent) }

    func received(_ reception: Reception) {
        guard phase == .listening else { return }
        rssi = reception.rssi
        event.heardSomething = true
        if role == .peripheral, event.exchanges == 0 { synchronise(to: reception.start) }
        if reception.isIntact {
            event.consecutiveErrors = 0
            event.heardIntact = true
            accept(reception)
        } else {
            statistics.corruptPackets += 1
            event.consecutiveErrors += 1
            event.peerMoreData = true
        }
        guard !isClosed else { return }
        guard event.consecutiveErrors < 2 else { return closeEvent(\.endedSilent) }
        let start = reception.end + configuration.quirks.interFrameSpace
        switch role {
        case .central: continueEvent(at: start)
        case .peripheral: reply(at: start)
        }
    }

    // MARK: Packets

    /// The PHY and coding of what this side sends.
    var airPHY: AirPHY { AirPHY(transmitPHY, prefersS2: prefersS2 ?? configuration.prefersS2) }

    /// The most data octets of a PDU sent now.
    var payloadLimit: Int {
        let byTime = airPHY.payload(within: Microseconds(Int(dataLength.maxTxTime))) - (isEncrypted ? 4 : 0)
        return max(1, min(Int(dataLength.maxTxOctets), byTime))
    }

    /// The length of the PDU that would be sent next.
    ///
    /// - Parameter acknowledged: whether what is outstanding is taken as acknowledged.
    func plannedLength(acknowledged: Bool) -> Int {
        if !acknowledged, let outstanding { return outstanding.payload.count }
        return queue.nextLength(limit: payloadLimit)
    }

    /// Time on the air of a PDU of this side.
    func airTime(_ length: Int) -> Microseconds {
        airPHY.airTime(payload: length + (isEncrypted && length > 0 ? 4 : 0), crcOctets: radio.crcOctets)
    }

    /// Sends the outstanding PDU again, or the next one.
    ///
    /// - Parameter allowsData: false where new data would take too long: then it is an empty PDU.
    func transmitNext(at start: Microseconds, allowsData: Bool = true) {
        if outstanding == nil {
            outstanding = allowsData ? queue.next(limit: payloadLimit) ?? .empty : .empty
            outstandingWasSent = false
        }
        guard let pdu = outstanding else { return }
        if outstandingWasSent, !pdu.payload.isEmpty { statistics.retransmissions += 1 }
        outstandingWasSent = true
        event.ownMoreData = !queue.isEmpty && !isLastExchange
        if configuration.quirks.sequenceNumberIsStuck, case .data = pdu.kind, acknowledgement.transmit == 1 {
            acknowledgement.stepBack()
        }
        phase = .transmitting
        radio.transmit(
            AirPDU(header: acknowledgement.header(llid: pdu.llid, moreData: event.ownMoreData), payload: pdu.payload),
            Tuning(
                channel: event.channel, phy: transmitPHY, accessAddress: parameters.accessAddress, crcInit: parameters.crcInit),
            phy: airPHY, kind: role == .central ? .dataFromCentral : .dataFromPeripheral, at: start)
    }

    /// Whether the event ends with the exchange under way because no more are allowed.
    private var isLastExchange: Bool { configuration.maxExchangesPerEvent.map { event.exchanges >= $0 } ?? false }

    func listen(from start: Microseconds, until end: Microseconds) {
        phase = .listening
        radio.listen(
            Tuning(channel: event.channel, phy: receivePHY, accessAddress: parameters.accessAddress, crcInit: parameters.crcInit),
            from: start, until: end)
    }

    /// An intact packet of the other side.
    private func accept(_ reception: Reception) {
        lastHeard = reception.end
        if !isEstablished {
            isEstablished = true
            startSupervision()
            delegate?.connectionEstablished(self)
        }
        let pdu = reception.pdu
        event.peerMoreData = pdu.header & 0x10 != 0
        let (acknowledges, isNew) = acknowledgement.received(pdu.header)
        if acknowledges { acknowledged() }
        guard isNew, !isClosed else { return }
        switch pdu.header & 3 {
        case LLID.control: control.received(pdu.payload)
        case LLID.start, LLID.continuation:
            guard !pdu.payload.isEmpty else { return }
            delegate?.connection(self, received: pdu.payload, isStart: pdu.header & 3 == LLID.start)
        default: break
        }
    }

    private func acknowledged() {
        guard let pdu = outstanding else { return }
        outstanding = nil
        complete(pdu)
    }

    private func complete(_ pdu: OutgoingPDU) {
        switch pdu.kind {
        case .empty: break
        case .data(let endsPacket):
            statistics.dataPDUs += 1
            if endsPacket { delegate?.connection(self, completed: 1) }
        case .control(let opcode): control.acknowledged(opcode)
        }
    }
}
