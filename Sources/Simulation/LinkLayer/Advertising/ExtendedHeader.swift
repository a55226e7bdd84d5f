import Packets

/// Whether an extended advertisement can be answered. Core Vol 6, Part B, 2.3.4, AdvMode.
enum AdvertisingMode: UInt8 {
    case neither = 0
    case connectable = 1
    case scannable = 2
}

/// What identifies a set's data: a scanner that has seen the pair need not listen again. Core Vol 6, Part B, 2.3.4.4.
struct AdvertisingDataInfo: Hashable {
    /// 12 bits, another one for other data.
    var did: UInt16
    /// 4 bits, chosen by the host.
    var sid: UInt8
}

/// Where and when the next PDU of an event comes. Core Vol 6, Part B, 2.3.4.5.
struct AuxiliaryPointer: Hashable {
    var channel: UInt8
    /// Whether the advertiser's clock is within 50 ppm.
    var accurateClock = true
    /// From the start of the packet with the pointer to the start of the one pointed at, rounded down to the unit.
    var offset: Microseconds
    var phy: PHY

    /// The longest offset that is told in units of 30 us.
    static let longestInSmallUnits: Microseconds = 245_700
    /// How late the packet may be after `offset`.
    var unit: Microseconds { offset < Self.longestInSmallUnits ? 30 : 300 }
}

/// The common extended advertising payload. Core Vol 6, Part B, 2.3.4.
struct ExtendedHeader {
    var mode = AdvertisingMode.neither
    var advertiser: DeviceAddress?
    var target: DeviceAddress?
    var dataInfo: AdvertisingDataInfo?
    var auxiliaryPointer: AuxiliaryPointer?
    /// dBm.
    var txPower: Int8?
    var data: [UInt8] = []

    /// The most octets after the header's length octet that leave room for nothing else.
    static let longestPayload = 255

    /// How many octets of data fit into one PDU behind this header.
    var roomForData: Int { Self.longestPayload - 1 - payload.extendedHeaderLength }

    init() {}

    /// What a PDU says; nil where it says nothing that makes sense.
    init?(_ pdu: AdvertisingPDU) {
        guard let payload = try? Advertising.CommonExtendedAdvertisingPayload(parameters: pdu.payload) else { return nil }
        mode = AdvertisingMode(rawValue: payload.advMode) ?? .neither
        advertiser = payload.advA.map { DeviceAddress($0, kind: pdu.txAdd) }
        target = payload.targetA.map { DeviceAddress($0, kind: pdu.rxAdd) }
        dataInfo = payload.advDataInfo.map { AdvertisingDataInfo(did: $0.did, sid: $0.sid) }
        auxiliaryPointer = payload.auxPtr.flatMap { AuxiliaryPointer($0) }
        txPower = payload.txPower
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
            txPower: txPower,
            advData: data)
    }
}

extension AuxiliaryPointer {
    fileprivate var wire: Structures.AuxPtr {
        Structures.AuxPtr(
            channelIndex: channel, ca: accurateClock, offsetUnits: unit == 300,
            auxOffset: UInt16(clamping: offset.rawValue / unit.rawValue), auxPHY: phy.rawValue - 1)
    }

    /// Nil where the PHY or the channel is none that is known, or the offset is zero: such a pointer points nowhere.
    fileprivate init?(_ wire: Structures.AuxPtr) {
        guard let phy = PHY(rawValue: wire.auxPHY + 1), wire.auxOffset > 0, wire.channelIndex < 37 else { return nil }
        self.init(
            channel: wire.channelIndex, accurateClock: wire.ca, offset: Microseconds(Int(wire.auxOffset) * (wire.offsetUnits ? 300 : 30)),
            phy: phy)
    }
}
