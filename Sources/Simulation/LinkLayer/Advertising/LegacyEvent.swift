import BBPackets

/// Advertising events with legacy PDUs. Core Vol 6, Part B, 4.4.2.3 to 4.4.2.6.
extension Advertiser {
    /// Gap between the end of one PDU and the start of the next channel's, if no request arrived.
    private var channelGap: Microseconds { 150 }

    private var channels: [ChannelIndex] {
        (0..<3).filter { set.parameters.channels >> UInt8($0) & 1 == 1 }.map { ChannelIndex(UInt8(37 + $0)) }
    }

    func sendLegacy(_ index: Int, at start: Microseconds) {
        let channels = channels
        guard index < channels.count else { return endEvent() }
        phase = .primary(index)
        send(legacyPDU.air, Tuning(channel: channels[index], phy: .le1M), phy: .le1M, at: start)
    }

    func sendNextLegacy(after index: Int) {
        sendLegacy(index + 1, at: loop.now + channelGap)
    }

    private var legacyPDU: AdvertisingPDU {
        let type = set.legacyType
        if type == .advDirectInd { return .directed(from: ownAddress, to: target) }
        return .advertisement(type, from: ownAddress, data: set.advertisingData.bytes, chSel: type == .advInd)
    }

    func legacySent(_ index: Int, at end: Microseconds) {
        guard set.mode != .neither || set.parameters.properties.directed else { return sendNextLegacy(after: index) }
        phase = .primaryAwaitingRequest(index)
        awaitRequest(after: end)
    }

    func receivedLegacy(_ pdu: AdvertisingPDU?, _ reception: Reception, _ index: Int) {
        let properties = set.parameters.properties
        switch pdu?.type {
        case .scanReq where properties.scannable:
            guard let pdu, pdu.payload.count == 12, accepts(pdu, filtered: set.parameters.filtersScanRequests) else { break }
            noteScanRequest(pdu)
            phase = .sendingScanResponse(index)
            let response = AdvertisingPDU.advertisement(.scanRsp, from: ownAddress, data: set.scanResponse.bytes)
            return send(response.air, reception.tuning, phy: .le1M, at: reception.end + quirks.interFrameSpace)
        case .connectInd where properties.connectable:
            guard let pdu, accepts(pdu, filtered: set.parameters.filtersConnectRequests), let request = ConnectRequest(pdu), request.isValid
            else { break }
            return connect(request, NewLink(requestEnd: reception.end, phy: .le1M, isExtended: false, usesAlgorithm2: request.chSel))
        default: break
        }
        sendNextLegacy(after: index)
    }
}
