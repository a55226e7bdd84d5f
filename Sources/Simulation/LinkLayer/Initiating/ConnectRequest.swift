import BBPackets

/// CONNECT_IND or AUX_CONNECT_REQ: addresses and parameters of a new connection. Core Vol 6, Part B, 2.3.3.1.
struct ConnectRequest: Equatable {
    var initiator: DeviceAddress
    var advertiser: DeviceAddress
    var accessAddress: UInt32
    var crcInit: UInt32
    /// N x 1.25 ms.
    var windowSize: UInt8
    /// N x 1.25 ms.
    var windowOffset: UInt16
    /// N x 1.25 ms.
    var interval: UInt16
    /// In connection events.
    var latency: UInt16
    /// N x 10 ms.
    var timeout: UInt16
    /// Bit n for data channel n.
    var channelMap: UInt64
    /// 5...16.
    var hop: UInt8
    /// Code of the initiator's sleep clock accuracy (SCA), 0...7.
    var clockAccuracy: UInt8
    /// ChSel: the initiator supports channel selection algorithm #2.
    var chSel: Bool

    /// LLData.
    private var data: Structures.LLData {
        Structures.LLData(
            aa: accessAddress, crcInit: crcInit, winSize: windowSize, winOffset: windowOffset, interval: interval, latency: latency,
            timeout: timeout, chM: channelMap, hop: hop, sca: clockAccuracy)
    }

    var transmitWindowSize: Microseconds { data.winSizeMicroseconds }
    var transmitWindowOffset: Microseconds { data.winOffsetMicroseconds }
    var connectionInterval: Microseconds { data.intervalMicroseconds }
    var supervisionTimeout: Microseconds { data.timeoutMicroseconds }

    var pdu: AdvertisingPDU {
        let request = Advertising.ConnectInd(initA: initiator.bdADDR, advA: advertiser.bdADDR, llData: data)
        var pdu = AdvertisingPDU(.connectInd, payload: request.parameters)
        pdu.chSel = chSel
        pdu.txAdd = initiator.kind
        pdu.rxAdd = advertiser.kind
        return pdu
    }
}

extension ConnectRequest {
    init?(_ pdu: AdvertisingPDU) {
        guard pdu.type == .connectInd, let request = try? Advertising.ConnectInd(parameters: pdu.payload) else { return nil }
        let data = request.llData
        self.init(
            initiator: DeviceAddress(request.initA, kind: pdu.txAdd), advertiser: DeviceAddress(request.advA, kind: pdu.rxAdd),
            accessAddress: data.aa, crcInit: data.crcInit, windowSize: data.winSize, windowOffset: data.winOffset, interval: data.interval,
            latency: data.latency, timeout: data.timeout, channelMap: data.chM, hop: data.hop, clockAccuracy: data.sca, chSel: pdu.chSel)
    }

    /// True if the parameters are valid; an invalid request is ignored. Core Vol 6, Part B, 2.3.3.1 and 4.5.1 to 4.5.3.
    var isValid: Bool {
        typealias Fields = Structures.LLData
        return Fields.intervalRange.contains(interval) && Fields.latencyRange.contains(latency) && Fields.timeoutRange.contains(timeout)
            && supervisionTimeout > connectionInterval * (Int(latency) + 1) * 2
            && Fields.winSizeRange.contains(windowSize) && UInt16(windowSize) < interval && windowOffset <= interval
            && channelMap >> 37 == 0 && channelMap.nonzeroBitCount >= 2 && (5...16).contains(hop)
    }
}
