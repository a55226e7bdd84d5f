import BBPackets

/// Schedule of the packets of one extended advertising event, computed before it starts.
struct ExtendedEventPlan {
    struct Part {
        var header: ExtendedHeader
        var channel: ChannelIndex
        var start: Microseconds
    }

    /// Start of each ADV_EXT_IND.
    var primaryStarts: [(channel: ChannelIndex, start: Microseconds)] = []
    /// AUX_ADV_IND and its AUX_CHAIN_INDs.
    var auxiliary: [Part] = []
    /// AUX_SCAN_RSP and its AUX_CHAIN_INDs.
    var scanResponse: [Part] = []
}

/// Advertising events with extended PDUs. Core Vol 6, Part B, 4.4.2.2.
extension Advertiser {
    private var primaryPHY: AirPHY { AirPHY(set.parameters.primaryPHY) }
    private var secondaryPHY: AirPHY { AirPHY(set.parameters.secondaryPHY) }

    func beginExtendedEvent() {
        plan = ExtendedEventPlan()
        var start = loop.now
        let length = set.primaryTime
        for index in 0..<3 where set.parameters.channels >> UInt8(index) & 1 == 1 {
            plan.primaryStarts.append((ChannelIndex(UInt8(37 + index)), start))
            start = start + length + interFrameSpace
        }
        let lastPrimary = start - interFrameSpace - length
        let data = set.mode == .scannable ? [] : set.advertisingData.bytes
        plan.auxiliary = chain(
            data, first: set.auxiliaryHeader(ownAddress, target: target), from: lastPrimary + AuxiliaryChain.offset(over: length))
        announceTrain()
        sendExtendedPrimary(0)
    }

    /// Fills in where the set's train is.
    private func announceTrain() {
        guard let first = plan.auxiliary.first, first.header.syncInfo != nil, let last = plan.auxiliary.last else { return }
        let end = last.start + secondaryPHY.airTime(payload: last.header.pdu().payload.count)
        plan.auxiliary[0].header.syncInfo = delegate.syncInfo(of: self, from: first.start, after: end)
    }

    // MARK: Primary channels

    func sendExtendedPrimary(_ index: Int) {
        guard let auxiliary = plan.auxiliary.first else { return endEvent() }
        guard index < plan.primaryStarts.count else { return sendAuxiliary(0) }
        let (channel, start) = plan.primaryStarts[index]
        phase = .primary(index)
        let pointer = AuxiliaryPointer(
            channel: auxiliary.channel.rawValue, offset: auxiliary.start - start, phy: set.parameters.secondaryPHY)
        send(set.primaryHeader(pointer).pdu().air, Tuning(channel: channel, phy: set.parameters.primaryPHY), phy: primaryPHY, at: start)
    }

    // MARK: Secondary channels

    /// Schedules a chain of packets as close together as T_MAFS and the unit of AuxPtr allow.
    private func chain(_ data: [UInt8], first: ExtendedHeader, from firstStart: Microseconds) -> [ExtendedEventPlan.Part] {
        var parts: [ExtendedEventPlan.Part] = []
        var start = firstStart
        let channels = delegate.secondaryChannels(for: self)
        let pieces = AuxiliaryChain.split(data, first: first, following: set.chainHeader)
        for (index, piece) in pieces.enumerated() {
            var header = index == 0 ? first : set.chainHeader
            header.data = piece
            let channel = ChannelIndex(channels[Int(random.next() % UInt64(channels.count))])
            if index > 0 {
                parts[index - 1].header.auxiliaryPointer = AuxiliaryPointer(
                    channel: channel.rawValue, offset: start - parts[index - 1].start, phy: set.parameters.secondaryPHY)
            }
            parts.append(ExtendedEventPlan.Part(header: header, channel: channel, start: start))
            // All packets but the last have the maximum length.
            start = start + AuxiliaryChain.offset(over: secondaryPHY.airTime(payload: ExtendedHeader.longestPayload))
        }
        return parts
    }

    private func send(_ part: ExtendedEventPlan.Part) {
        send(part.header.pdu().air, Tuning(channel: part.channel, phy: set.parameters.secondaryPHY), phy: secondaryPHY, at: part.start)
    }

    private func sendAuxiliary(_ index: Int) {
        guard index < plan.auxiliary.count else { return endEvent() }
        phase = .auxiliary(index)
        send(plan.auxiliary[index])
    }

    func auxiliarySent(_ index: Int, at end: Microseconds) {
        guard set.mode != .neither else { return sendAuxiliary(index + 1) }
        phase = .auxiliaryAwaitingRequest
        awaitRequest(after: end)
    }

    func scanResponseSent(_ index: Int) {
        guard index + 1 < plan.scanResponse.count else { return endEvent() }
        phase = .auxiliaryScanResponse(index + 1)
        send(plan.scanResponse[index + 1])
    }

    // MARK: Requests

    func receivedAuxiliary(_ pdu: AdvertisingPDU?, _ reception: Reception) {
        switch (pdu?.type, set.mode) {
        case (.scanReq, .scannable):
            guard let pdu, pdu.payload.count == 12, accepts(pdu, filtered: set.parameters.filtersScanRequests) else { return endEvent() }
            noteScanRequest(pdu)
            plan.scanResponse = chain(
                set.scanResponse.bytes, first: set.scanResponseHeader(ownAddress), from: reception.end + quirks.interFrameSpace)
            plan.scanResponse[0].channel = reception.tuning.channel
            phase = .auxiliaryScanResponse(0)
            send(plan.scanResponse[0])
        case (.connectInd, .connectable):
            guard let pdu, accepts(pdu, filtered: set.parameters.filtersConnectRequests), var request = ConnectRequest(pdu), request.isValid
            else { return endEvent() }
            request.advertiser = delegate.advertiser(self, addressFor: request.initiator)
            let link = NewLink(requestEnd: reception.end, phy: set.parameters.secondaryPHY, isExtended: true, usesAlgorithm2: true)
            pendingConnection = (request, link)
            phase = .sendingConnectResponse
            var response = ExtendedHeader()
            response.advertiser = request.advertiser
            response.target = request.initiator
            send(response.pdu(.auxConnectRsp).air, reception.tuning, phy: reception.phy, at: reception.end + quirks.interFrameSpace)
        default: endEvent()
        }
    }
}
