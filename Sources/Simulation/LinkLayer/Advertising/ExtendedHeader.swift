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
    var roomForData: Int { Self.longestPayload - 1 - headerCount }

    /// The octets of the header, flags included.
    private var headerCount: Int {
        let fields =
            (advertiser != nil ? 6 : 0) + (target != nil ? 6 : 0) + (dataInfo != nil ? 2 : 0) + (auxiliaryPointer != nil ? 3 : 0)
            + (txPower != nil ? 1 : 0)
        return fields == 0 ? 0 : fields + 1
    }

    // MARK: Encoding

    func pdu(_ type: AdvertisingPDUType = .extended) -> AdvertisingPDU {
        var writer = ByteWriter(reserving: 1 + headerCount + data.count)
        writer.u8(UInt8(headerCount) | mode.rawValue << 6)
        if headerCount > 0 {
            var flags: UInt8 = 0
            if advertiser != nil { flags |= 0x01 }
            if target != nil { flags |= 0x02 }
            if dataInfo != nil { flags |= 0x08 }
            if auxiliaryPointer != nil { flags |= 0x10 }
            if txPower != nil { flags |= 0x40 }
            writer.u8(flags)
            if let advertiser { writer.u48(advertiser.value) }
            if let target { writer.u48(target.value) }
            if let dataInfo { writer.u16(dataInfo.did & 0x0FFF | UInt16(dataInfo.sid) << 12) }
            if let auxiliaryPointer { writer.u24(auxiliaryPointer.word) }
            if let txPower { writer.i8(txPower) }
        }
        writer.bytes(data)
        var pdu = AdvertisingPDU(type, payload: writer.bytes)
        pdu.txAdd = advertiser?.kind ?? .public
        pdu.rxAdd = target?.kind ?? .public
        return pdu
    }

    // MARK: Decoding

    init() {}

    init?(_ pdu: AdvertisingPDU) {
        var reader = ByteReader(pdu.payload.span.bytes)
        do throws(PDUError) { try decode(&reader, pdu) } catch { return nil }
    }

    private mutating func decode(_ reader: inout ByteReader, _ pdu: AdvertisingPDU) throws(PDUError) {
        let first = try reader.u8("Extended_Header_Length")
        mode = AdvertisingMode(rawValue: first >> 6) ?? .neither
        let length = Int(first & 0x3F)
        if length > 0 {
            let outer = try reader.enter(length, "Extended_Header")
            let flags = try reader.u8("Extended_Header_Flags")
            if flags & 0x01 != 0 { advertiser = DeviceAddress(value: try reader.u48("AdvA"), kind: pdu.txAdd) }
            if flags & 0x02 != 0 { target = DeviceAddress(value: try reader.u48("TargetA"), kind: pdu.rxAdd) }
            if flags & 0x04 != 0 { try reader.skip(1, "CTEInfo") }
            if flags & 0x08 != 0 {
                let word = try reader.u16("ADI")
                dataInfo = AdvertisingDataInfo(did: word & 0x0FFF, sid: UInt8(word >> 12))
            }
            if flags & 0x10 != 0 { auxiliaryPointer = AuxiliaryPointer(word: try reader.u24("AuxPtr")) }
            if flags & 0x20 != 0 { try reader.skip(18, "SyncInfo") }
            if flags & 0x40 != 0 { txPower = try reader.i8("TxPower") }
            try reader.skip(reader.remaining, "ACAD")
            try reader.leave(outer, "Extended_Header")
        }
        data = reader.rest()
    }
}

extension AuxiliaryPointer {
    fileprivate var word: UInt32 {
        let units = UInt32(truncatingIfNeeded: offset.rawValue / unit.rawValue) & 0x1FFF
        let coarse: UInt32 = unit == 300 ? 1 << 7 : 0
        return UInt32(channel & 0x3F) | (accurateClock ? 1 << 6 : 0) | coarse | units << 8 | UInt32(phy.rawValue - 1) << 21
    }

    /// Nil where the PHY is none that is known, or the offset is zero: such a pointer points nowhere.
    fileprivate init?(word: UInt32) {
        let units = Int64(word >> 8 & 0x1FFF)
        guard let phy = PHY(rawValue: UInt8(word >> 21 & 0x7) + 1), units > 0, word & 0x3F < 37 else { return nil }
        self.init(
            channel: UInt8(word & 0x3F), accurateClock: word & 0x40 != 0, offset: Microseconds(units * (word & 0x80 != 0 ? 300 : 30)),
            phy: phy)
    }
}
