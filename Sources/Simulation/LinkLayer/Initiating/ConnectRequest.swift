import Packets

/// CONNECT_IND or AUX_CONNECT_REQ: who connects to whom, and how the connection begins. Core Vol 6, Part B, 2.3.3.1.
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
    /// The initiator's sleep clock accuracy, a code of 0...7.
    var clockAccuracy: UInt8
    /// Whether the initiator can do channel selection algorithm #2.
    var chSel: Bool

    var pdu: AdvertisingPDU {
        var writer = ByteWriter(reserving: 34)
        writer.u48(initiator.value)
        writer.u48(advertiser.value)
        writer.u32(accessAddress)
        writer.u24(crcInit)
        writer.u8(windowSize)
        writer.u16(windowOffset)
        writer.u16(interval)
        writer.u16(latency)
        writer.u16(timeout)
        writer.u40(channelMap)
        writer.u8(hop & 0x1F | clockAccuracy << 5)
        var pdu = AdvertisingPDU(.connectInd, payload: writer.bytes)
        pdu.chSel = chSel
        pdu.txAdd = initiator.kind
        pdu.rxAdd = advertiser.kind
        return pdu
    }
}

extension ConnectRequest {
    init?(_ pdu: AdvertisingPDU) {
        guard pdu.type == .connectInd, pdu.payload.count == 34 else { return nil }
        var reader = ByteReader(pdu.payload.span.bytes)
        do throws(PDUError) {
            initiator = DeviceAddress(value: try reader.u48("InitA"), kind: pdu.txAdd)
            advertiser = DeviceAddress(value: try reader.u48("AdvA"), kind: pdu.rxAdd)
            accessAddress = try reader.u32("AA")
            crcInit = try reader.u24("CRCInit")
            windowSize = try reader.u8("WinSize")
            windowOffset = try reader.u16("WinOffset")
            interval = try reader.u16("Interval")
            latency = try reader.u16("Latency")
            timeout = try reader.u16("Timeout")
            channelMap = try reader.u40("ChM")
            let last = try reader.u8("Hop")
            hop = last & 0x1F
            clockAccuracy = last >> 5
            chSel = pdu.chSel
        } catch { return nil }
    }

    /// Whether a connection can be made of it; a request that is not valid is ignored. Core Vol 6, Part B, 2.3.3.1 and 4.5.1 to 4.5.3.
    var isValid: Bool {
        let intervalLength = Int(interval) * 1_250
        return (6...3_200).contains(interval) && latency <= 499 && (10...3_200).contains(timeout)
            && Int(timeout) * 10_000 > 2 * (Int(latency) + 1) * intervalLength
            && windowSize >= 1 && windowSize <= 8 && UInt16(windowSize) < interval && windowOffset <= interval
            && channelMap >> 37 == 0 && channelMap.nonzeroBitCount >= 2 && (5...16).contains(hop)
    }
}
