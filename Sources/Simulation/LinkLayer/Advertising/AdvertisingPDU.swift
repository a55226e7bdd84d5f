import BBPackets

/// Advertising physical channel PDU types. Core Vol 6, Part B, 2.3, table 2.3.
enum AdvertisingPDUType: UInt8 {
    case advInd = 0
    case advDirectInd = 1
    case advNonconnInd = 2
    /// SCAN_REQ and AUX_SCAN_REQ.
    case scanReq = 3
    case scanRsp = 4
    /// CONNECT_IND and AUX_CONNECT_REQ.
    case connectInd = 5
    case advScanInd = 6
    /// ADV_EXT_IND, AUX_ADV_IND, AUX_SCAN_RSP and AUX_CHAIN_IND.
    case extended = 7
    case auxConnectRsp = 8
}

/// An advertising physical channel PDU: header and payload. Core Vol 6, Part B, 2.3.
struct AdvertisingPDU {
    var type: AdvertisingPDUType
    var chSel = false
    /// TxAdd: type of the sender's address.
    var txAdd = DeviceAddress.Kind.public
    /// RxAdd: type of the receiver's address.
    var rxAdd = DeviceAddress.Kind.public
    var payload: [UInt8]

    init(_ type: AdvertisingPDUType, payload: [UInt8]) {
        self.type = type
        self.payload = payload
    }

    /// Parses a received packet; nil if the type is unknown.
    init?(_ pdu: AirPDU) {
        guard let type = AdvertisingPDUType(rawValue: pdu.header & 0x0F) else { return nil }
        self.type = type
        chSel = pdu.header & 0x20 != 0
        txAdd = pdu.header & 0x40 != 0 ? .random : .public
        rxAdd = pdu.header & 0x80 != 0 ? .random : .public
        payload = [UInt8](pdu.payload)
    }

    /// The packet to send.
    var air: AirPDU {
        AirPDU(header: type.rawValue | (chSel ? 0x20 : 0) | txAdd.rawValue << 6 | rxAdd.rawValue << 7, payload)
    }
}

// MARK: Legacy PDUs

extension AdvertisingPDU {
    /// ADV_IND, ADV_NONCONN_IND, ADV_SCAN_IND or SCAN_RSP. Core Vol 6, Part B, 2.3.1 and 2.3.2.2.
    static func advertisement(_ type: AdvertisingPDUType, from advertiser: DeviceAddress, data: [UInt8], chSel: Bool = false)
        -> AdvertisingPDU
    {
        var pdu = AdvertisingPDU(type, payload: Advertising.ADVInd(advA: advertiser.bdADDR, advData: Array(data.prefix(31))).parameters)
        pdu.txAdd = advertiser.kind
        pdu.chSel = chSel
        return pdu
    }

    /// ADV_DIRECT_IND. Core Vol 6, Part B, 2.3.1.2.
    static func directed(from advertiser: DeviceAddress, to target: DeviceAddress) -> AdvertisingPDU {
        var pdu = AdvertisingPDU(
            .advDirectInd, payload: Advertising.ADVDirectInd(advA: advertiser.bdADDR, targetA: target.bdADDR).parameters)
        pdu.txAdd = advertiser.kind
        pdu.rxAdd = target.kind
        pdu.chSel = true
        return pdu
    }

    /// SCAN_REQ or AUX_SCAN_REQ. Core Vol 6, Part B, 2.3.2.1.
    static func scanRequest(from scanner: DeviceAddress, to advertiser: DeviceAddress) -> AdvertisingPDU {
        var pdu = AdvertisingPDU(.scanReq, payload: Advertising.ScanReq(scanA: scanner.bdADDR, advA: advertiser.bdADDR).parameters)
        pdu.txAdd = scanner.kind
        pdu.rxAdd = advertiser.kind
        return pdu
    }

    /// The address in the first six octets of the payload: the sender's, except in extended PDUs.
    var sender: DeviceAddress? { DeviceAddress(octets: payload, at: 0, kind: txAdd) }
    /// The address in the next six octets: the receiver's, in ADV_DIRECT_IND, SCAN_REQ and CONNECT_IND.
    var receiver: DeviceAddress? { DeviceAddress(octets: payload, at: 6, kind: rxAdd) }
    /// The data of a legacy advertisement or scan response.
    var advertisingData: [UInt8] { payload.count > 6 ? Array(payload[6...].prefix(31)) : [] }
}

extension DeviceAddress {
    /// The address in six octets, least significant octet first.
    init?(octets: [UInt8], at offset: Int, kind: Kind) {
        guard offset + 6 <= octets.count else { return nil }
        var value: UInt64 = 0
        for index in (0..<6).reversed() { value = value << 8 | UInt64(octets[offset + index]) }
        self.init(value: value, kind: kind)
    }
}
