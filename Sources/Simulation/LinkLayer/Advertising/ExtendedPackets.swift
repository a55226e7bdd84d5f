import BBPackets

/// Packets of a set's extended advertising events, and their durations. Core Vol 6, Part B, 2.3.4 and 4.4.2.2.
extension AdvertisingSet {
    private var primaryPHY: AirPHY { AirPHY(parameters.primaryPHY) }
    private var secondaryPHY: AirPHY { AirPHY(parameters.secondaryPHY) }

    // MARK: Headers, without data

    func primaryHeader(_ pointer: AuxiliaryPointer) -> ExtendedHeader {
        var header = ExtendedHeader()
        header.mode = mode
        header.dataInfo = dataInfo
        header.auxiliaryPointer = pointer
        if parameters.properties.includeTxPower, parameters.primaryPHY == .le1M { header.txPower = parameters.radiatedPower }
        return header
    }

    /// - Parameter target: TargetA of directed advertising, as sent on the air.
    func auxiliaryHeader(_ ownAddress: DeviceAddress, target: DeviceAddress? = nil) -> ExtendedHeader {
        var header = ExtendedHeader()
        header.mode = mode
        header.advertiser = parameters.properties.anonymous ? nil : ownAddress
        header.target = parameters.properties.directed ? target ?? parameters.peer : nil
        header.dataInfo = dataInfo
        if parameters.properties.includeTxPower { header.txPower = parameters.radiatedPower }
        if periodic?.isEnabled == true, maySendPeriodically { header.syncInfo = .unknown }
        return header
    }

    var chainHeader: ExtendedHeader {
        var header = ExtendedHeader()
        header.dataInfo = dataInfo
        return header
    }

    func scanResponseHeader(_ ownAddress: DeviceAddress) -> ExtendedHeader {
        var header = ExtendedHeader()
        header.advertiser = ownAddress
        header.dataInfo = dataInfo
        return header
    }

    // MARK: Durations

    /// Duration of ADV_EXT_IND, the same on each channel.
    var primaryTime: Microseconds {
        primaryPHY.airTime(payload: primaryHeader(AuxiliaryPointer(channel: 0, offset: 30, phy: .le1M)).pdu().payload.count)
    }

    /// Time from an event's first packet to the end of its last, with the longest request and response.
    func longestEvent(_ ownAddress: DeviceAddress) -> Microseconds {
        let onPrimary =
            (primaryTime + interFrameSpace) * (parameters.channels.nonzeroBitCount - 1) + AuxiliaryChain.offset(over: primaryTime)
        let data = mode == .scannable ? [] : advertisingData.bytes
        let advertised = onPrimary + time(data, auxiliaryHeader(ownAddress))
        switch mode {
        case .neither: return advertised
        case .connectable:
            let exchange =
                secondaryPHY.airTime(payload: Self.connectRequestLength) + secondaryPHY.airTime(payload: connectResponseLength(ownAddress))
            return advertised + exchange + interFrameSpace * 2
        case .scannable:
            let request = secondaryPHY.airTime(payload: AdvertisingPDU.scanRequest(from: ownAddress, to: ownAddress).payload.count)
            return advertised + request + interFrameSpace * 2 + time(scanResponse.bytes, scanResponseHeader(ownAddress))
        }
    }

    /// The shortest interval in the host's range that an event fits into, in steps of 0.625 ms.
    func interval(_ ownAddress: DeviceAddress) -> Microseconds {
        guard !parameters.properties.legacy else { return parameters.interval }
        let steps = (longestEvent(ownAddress) + 624) / 625 as Int
        return min(max(parameters.interval, (625 as Microseconds) * steps), max(parameters.interval, parameters.longestInterval))
    }

    private func time(_ data: [UInt8], _ first: ExtendedHeader) -> Microseconds {
        let pieces = AuxiliaryChain.split(data, first: first, following: chainHeader)
        var last = pieces.count > 1 ? chainHeader : first
        last.data = pieces.last ?? []
        let full = AuxiliaryChain.offset(over: secondaryPHY.airTime(payload: ExtendedHeader.longestPayload))
        return full * (pieces.count - 1) + secondaryPHY.airTime(payload: last.pdu().payload.count)
    }

    /// Length of both addresses and LLData. Core Vol 6, Part B, 2.3.3.1.
    private static let connectRequestLength = 34

    private func connectResponseLength(_ ownAddress: DeviceAddress) -> Int {
        var response = ExtendedHeader()
        response.advertiser = ownAddress
        response.target = ownAddress
        return response.pdu(.auxConnectRsp).payload.count
    }
}
