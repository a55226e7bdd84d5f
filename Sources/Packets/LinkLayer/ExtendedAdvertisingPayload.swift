extension Advertising {
    /// The payload of ADV_EXT_IND, AUX_ADV_IND, AUX_SCAN_RSP, AUX_SYNC_IND, AUX_CHAIN_IND and AUX_CONNECT_RSP. Core Vol 6, Part B, 2.3.4.
    ///
    /// Not generated, because the flags depend on the fields that are present, and an empty extended header has no flags.
    public struct CommonExtendedAdvertisingPayload: PDU {
        public static var name: String { "Common_Extended_Advertising_Payload" }
        public static var pduType: UInt8 { 0x7 }
        /// The mode of the set: 0 neither connectable nor scannable, 1 connectable, 2 scannable.
        public var advMode: UInt8
        public var advA: BDADDR?
        public var targetA: BDADDR?
        public var cteInfo: Structures.CTEInfo?
        public var advDataInfo: Structures.AdvDataInfo?
        public var auxPtr: Structures.AuxPtr?
        public var syncInfo: Structures.SyncInfo?
        /// In dBm.
        public var txPower: Int8?
        /// Additional controller advertising data.
        public var acad: [UInt8]
        public var advData: [UInt8]

        public init(
            advMode: UInt8 = 0, advA: BDADDR? = nil, targetA: BDADDR? = nil, cteInfo: Structures.CTEInfo? = nil,
            advDataInfo: Structures.AdvDataInfo? = nil,
            auxPtr: Structures.AuxPtr? = nil, syncInfo: Structures.SyncInfo? = nil, txPower: Int8? = nil, acad: [UInt8] = [],
            advData: [UInt8] = []
        ) {
            self.advMode = advMode
            self.advA = advA
            self.targetA = targetA
            self.cteInfo = cteInfo
            self.advDataInfo = advDataInfo
            self.auxPtr = auxPtr
            self.syncInfo = syncInfo
            self.txPower = txPower
            self.acad = acad
            self.advData = advData
        }

        public init(from reader: inout ByteReader) throws(PDUError) {
            let lengthAndMode = try reader.u8("Extended_Header_Length")
            self.init(advMode: lengthAndMode >> 6)
            let length = Int(lengthAndMode & 0x3F)
            if length > 0 {
                let end = try reader.enter(length, "Extended_Header_Length")
                let flags = try reader.u8("Extended_Header_Flags")
                if flags & 0x01 != 0 { advA = BDADDR(rawValue: try reader.u48("AdvA")) }
                if flags & 0x02 != 0 { targetA = BDADDR(rawValue: try reader.u48("TargetA")) }
                if flags & 0x04 != 0 { cteInfo = try Structures.CTEInfo(from: &reader) }
                if flags & 0x08 != 0 { advDataInfo = try Structures.AdvDataInfo(from: &reader) }
                if flags & 0x10 != 0 { auxPtr = try Structures.AuxPtr(from: &reader) }
                if flags & 0x20 != 0 { syncInfo = try Structures.SyncInfo(from: &reader) }
                if flags & 0x40 != 0 { txPower = try reader.i8("TxPower") }
                acad = reader.rest()
                try reader.leave(end, "Extended_Header_Length")
            }
            advData = reader.rest()
        }

        /// The flags octet for the fields that are present. Core Vol 6, Part B, 2.3.4.
        public var flags: UInt8 {
            var flags: UInt8 = 0
            if advA != nil { flags |= 0x01 }
            if targetA != nil { flags |= 0x02 }
            if cteInfo != nil { flags |= 0x04 }
            if advDataInfo != nil { flags |= 0x08 }
            if auxPtr != nil { flags |= 0x10 }
            if syncInfo != nil { flags |= 0x20 }
            if txPower != nil { flags |= 0x40 }
            return flags
        }

        /// The length of the extended header with its flags; 0 if it is empty.
        public var extendedHeaderLength: Int {
            let fields = (advA == nil ? 0 : 6) + (targetA == nil ? 0 : 6) + (cteInfo == nil ? 0 : 1) + (advDataInfo == nil ? 0 : 2)
            let more = (auxPtr == nil ? 0 : 3) + (syncInfo == nil ? 0 : 18) + (txPower == nil ? 0 : 1) + acad.count
            return fields + more == 0 ? 0 : 1 + fields + more
        }

        public func encode(into writer: inout ByteWriter) {
            let length = extendedHeaderLength
            writer.u8(UInt8(truncatingIfNeeded: length & 0x3F) | advMode << 6)
            if length > 0 {
                writer.u8(flags)
                if let advA { writer.u48(advA.rawValue) }
                if let targetA { writer.u48(targetA.rawValue) }
                cteInfo?.encode(into: &writer)
                advDataInfo?.encode(into: &writer)
                auxPtr?.encode(into: &writer)
                syncInfo?.encode(into: &writer)
                if let txPower { writer.i8(txPower) }
                writer.bytes(acad)
            }
            writer.bytes(advData)
        }
    }
}
