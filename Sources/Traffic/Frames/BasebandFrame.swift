/// A BR/EDR transmission with radio information, as in LINKTYPE_BLUETOOTH_BREDR_BB.
public struct BasebandFrame: Sendable, Hashable {
    /// Valid fields and results of the receiver's checks.
    public struct Flags: OptionSet, Sendable, Hashable {
        public var rawValue: UInt16
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        public static let dewhitened = Flags(rawValue: 0x0001)
        public static let signalPowerValid = Flags(rawValue: 0x0002)
        public static let noisePowerValid = Flags(rawValue: 0x0004)
        /// The payload is unencrypted, as sent or after decryption.
        public static let decrypted = Flags(rawValue: 0x0008)
        public static let referenceLAPValid = Flags(rawValue: 0x0010)
        public static let payloadPresent = Flags(rawValue: 0x0020)
        public static let rfChannelUncertain = Flags(rawValue: 0x0040)
        public static let referenceUAPValid = Flags(rawValue: 0x0080)
        public static let hecChecked = Flags(rawValue: 0x0100)
        public static let hecValid = Flags(rawValue: 0x0200)
        public static let crcChecked = Flags(rawValue: 0x0400)
        public static let crcValid = Flags(rawValue: 0x0800)
        public static let micChecked = Flags(rawValue: 0x1000)
        public static let micValid = Flags(rawValue: 0x2000)
    }

    /// The logical transport, which determines the meaning of TYPE.
    public enum Transport: UInt8, Sendable, Hashable, CaseIterable {
        case any = 0
        case sco = 1
        case esco = 2
        case acl = 3
        case connectionlessPeripheralBroadcast = 4
    }

    public enum Modulation: UInt8, Sendable, Hashable, CaseIterable {
        case basicRate = 0
        case edr2M = 1
        case edr3M = 2
    }

    /// RF channel 0...78: 2402 MHz + 1 MHz x N.
    public var rfChannel: UInt8
    /// Signal power in dBm.
    public var signalPower: Int8
    /// Noise power in dBm.
    public var noisePower: Int8 = -128
    public var transport: Transport
    public var modulation = Modulation.basicRate
    /// LAP of the access code.
    public var lap: UInt32
    /// UAP used as the initial value of HEC and CRC.
    public var referenceUAP: UInt8
    /// The 18 bits of the packet header, first transmitted bit in the least significant position; zero for an ID packet.
    public var packetHeader: UInt32
    public var flags: Flags
    /// Payload header, payload and CRC, without whitening and FEC.
    public var payload: [UInt8]
    /// True if the sender is the central of the piconet, or becomes it with this packet; nil if unknown.
    public var isFromCentral: Bool?
    /// Header and payload as transmitted, with whitening and FEC, if recorded: 54 header bits in seven octets, payload bits from the eighth
    /// octet on. The first transmitted bit is the least significant.
    public var onAir: [UInt8]?

    public init(
        rfChannel: UInt8, signalPower: Int8, transport: Transport, lap: UInt32, referenceUAP: UInt8, packetHeader: UInt32, flags: Flags,
        payload: [UInt8]
    ) {
        self.rfChannel = rfChannel
        self.signalPower = signalPower
        self.transport = transport
        self.lap = lap
        self.referenceUAP = referenceUAP
        self.packetHeader = packetHeader
        self.flags = flags
        self.payload = payload
    }

    /// One-line description.
    public var summary: String {
        let lap = String(lap, radix: 16, uppercase: true)
        let place = "LAP \(String(repeating: "0", count: max(0, 6 - lap.count)) + lap), RF channel \(rfChannel)"
        guard flags.contains(.hecChecked) else { return "BR/EDR ID, \(place)" }
        let (address, arqn, seqn) = (packetHeader & 7, packetHeader >> 8 & 1, packetHeader >> 9 & 1)
        return "BR/EDR \(typeName), \(place), LT_ADDR \(address), ARQN \(arqn), SEQN \(seqn), \(payload.count) octets"
    }

    /// Name of the packet type, which depends on TYPE, logical transport and modulation. Core Vol 2, Part B, 6.5.
    private var typeName: String {
        let type = UInt8(packetHeader >> 3 & 15)
        let name =
            switch (transport, modulation) {
            case (_, .edr2M): [4: "2-DH1", 10: "2-DH3", 14: "2-DH5", 6: "2-EV3", 12: "2-EV5"][type]
            case (_, .edr3M): [8: "3-DH1", 11: "3-DH3", 15: "3-DH5", 7: "3-EV3", 13: "3-EV5"][type]
            case (.sco, .basicRate): [5: "HV1", 6: "HV2", 7: "HV3", 8: "DV"][type]
            case (.esco, .basicRate): [7: "EV3", 12: "EV4", 13: "EV5"][type]
            case (_, .basicRate): [4: "DH1", 9: "AUX1", 10: "DM3", 11: "DH3", 14: "DM5", 15: "DH5"][type]
            }
        return name ?? [0: "NULL", 1: "POLL", 2: "FHS", 3: "DM1"][type] ?? "type \(type)"
    }
}

extension BasebandFrame {
    /// Data of an ACL packet: its logical link and its octets without payload header and CRC. Core Vol 2, Part B, 6.6.2.
    public struct LogicalLinkData {
        /// 1: a continuation of L2CAP, 2: the start of an L2CAP PDU, 3: LMP.
        public var llid: UInt8
        public var range: Range<Int>
    }

    /// The data, if it is in clear and complete.
    public var logicalLinkData: LogicalLinkData? {
        guard transport == .acl || transport == .any, flags.isSuperset(of: [.hecChecked, .decrypted]), let first = payload.first else {
            return nil
        }
        let type = packetHeader >> 3 & 15
        let isBasic = modulation == .basicRate
        // DM1 is a packet of basic rate also on a link with EDR. Core Vol 2, Part B, 6.5.4.
        guard type == 3 || (isBasic ? [4, 9, 10, 11, 14, 15] : [4, 8, 10, 11, 14, 15]).contains(type) else { return nil }
        let isShort = type == 3 || isBasic && (type == 4 || type == 9)
        guard isShort || payload.count > 1 else { return nil }
        let word = isShort ? Int(first) : Int(first) | Int(payload[1]) << 8
        let start = isShort ? 1 : 2
        let end = start + (word >> 3 & (isShort ? 0x1F : 0x3FF))
        guard end <= payload.count else { return nil }
        return LogicalLinkData(llid: first & 3, range: start..<end)
    }
}

/// An LE or BR/EDR transmission.
public enum AnyAirFrame: Sendable, Hashable {
    case le(AirFrame)
    case bredr(BasebandFrame)
}
