import BBPackets

/// AdvMode: connectable, scannable or neither. Core Vol 6, Part B, 2.3.4.
enum AdvertisingMode: UInt8 {
    case neither = 0
    case connectable = 1
    case scannable = 2
}

/// ADI: identifies the data of a set, so that a scanner can skip data that it has already received. Core Vol 6, Part B, 2.3.4.4.
struct AdvertisingDataInfo: Hashable {
    /// Advertising DID, 12 bits; changes with the data.
    var did: UInt16
    /// Advertising SID, 4 bits, chosen by the host.
    var sid: UInt8
}

/// AuxPtr: channel, time and PHY of the next PDU of an event. Core Vol 6, Part B, 2.3.4.5.
struct AuxiliaryPointer: Hashable {
    var channel: UInt8
    /// True if the advertiser's clock accuracy is 50 ppm or better.
    var accurateClock = true
    /// Offset from the start of this packet to the start of the next, rounded down to the unit.
    var offset: Microseconds
    var phy: PHY

    /// Offsets below this are given in units of 30 us, others in units of 300 us.
    static let longestInSmallUnits: Microseconds = 245_700
    /// Maximum time after `offset` at which the packet may start.
    var unit: Microseconds { offset < Self.longestInSmallUnits ? 30 : 300 }
}

/// The Common Extended Advertising Payload. Core Vol 6, Part B, 2.3.4.
struct ExtendedHeader {
    var mode = AdvertisingMode.neither
    var advertiser: DeviceAddress?
    var target: DeviceAddress?
    var dataInfo: AdvertisingDataInfo?
    var auxiliaryPointer: AuxiliaryPointer?
    var syncInfo: SyncInfo?
    /// TxPower in dBm.
    var txPower: Int8?
    /// Additional controller advertising data: AD structures.
    var acad: [UInt8] = []
    var data: [UInt8] = []

    /// Maximum payload length.
    static let longestPayload = 255

    /// Maximum length of AdvData in a PDU with this header.
    var roomForData: Int { Self.longestPayload - 1 - payload.extendedHeaderLength }

    init() {}

    /// Parses a PDU; nil if it is malformed.
    init?(_ pdu: AdvertisingPDU) {
        guard let payload = try? Advertising.CommonExtendedAdvertisingPayload(parameters: pdu.payload) else { return nil }
        mode = AdvertisingMode(rawValue: payload.advMode) ?? .neither
        advertiser = payload.advA.map { DeviceAddress($0, kind: pdu.txAdd) }
        target = payload.targetA.map { DeviceAddress($0, kind: pdu.rxAdd) }
        dataInfo = payload.advDataInfo.map { AdvertisingDataInfo(did: $0.did, sid: $0.sid) }
        auxiliaryPointer = payload.auxPtr.flatMap { AuxiliaryPointer($0) }
        syncInfo = payload.syncInfo.flatMap { SyncInfo($0) }
        txPower = payload.txPower
        acad = payload.acad
        data = payload.advData
    }

    func pdu(_ type: AdvertisingPDUType = .extended) -> AdvertisingPDU {
        var pdu = AdvertisingPDU(type, payload: payload.parameters)
        pdu.txAdd = advertiser?.kind ?? .public
        pdu.rxAdd = target?.kind ?? .public
        return pdu
    }

    private var payload: Advertising.CommonExtendedAdvertisingPayload {
        Advertising.CommonExtendedAdvertisingPayload(
            advMode: mode.rawValue, advA: advertiser?.bdADDR, targetA: target?.bdADDR,
            advDataInfo: dataInfo.map { Structures.AdvDataInfo(did: $0.did, sid: $0.sid) }, auxPtr: auxiliaryPointer?.wire,
            syncInfo: syncInfo?.wire, txPower: txPower, acad: acad, advData: data)
    }
}

extension AuxiliaryPointer {
    fileprivate var wire: Structures.AuxPtr {
        Structures.AuxPtr(
            channelIndex: channel, ca: accurateClock, offsetUnits: unit == 300,
            auxOffset: UInt16(clamping: offset.rawValue / unit.rawValue), auxPHY: phy.rawValue - 1)
    }

    /// Returns nil if the PHY or channel is invalid, or if the offset is 0, which means that there is no next PDU.
    fileprivate init?(_ wire: Structures.AuxPtr) {
        guard let phy = PHY(rawValue: wire.auxPHY + 1), wire.auxOffset > 0, wire.channelIndex < 37 else { return nil }
        self.init(
            channel: wire.channelIndex, accurateClock: wire.ca, offset: Microseconds(Int(wire.auxOffset) * (wire.offsetUnits ? 300 : 30)),
            phy: phy)
    }
}
