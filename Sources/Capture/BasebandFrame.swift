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

    static let headerLength = 22

    /// Parses header and packet; nil if the header is truncated or has an invalid transport or rate.
    init?(headed octets: ArraySlice<UInt8>) {
        guard octets.count >= Self.headerLength, let lap: UInt32 = octets.number(at: 8, big: false),
            let reference: UInt32 = octets.number(at: 12, big: false), let packetHeader: UInt32 = octets.number(at: 16, big: false),
            let flags: UInt16 = octets.number(at: 20, big: false)
        else { return nil }
        let at = octets.startIndex
        guard let transport = Transport(rawValue: octets[at + 4] >> 4), let modulation = Modulation(rawValue: octets[at + 4] & 15) else {
            return nil
        }
        self.init(
            rfChannel: octets[at], signalPower: Int8(bitPattern: octets[at + 1]), transport: transport, lap: lap & 0xFF_FFFF,
            referenceUAP: UInt8(reference >> 24), packetHeader: packetHeader & 0x3_FFFF, flags: Flags(rawValue: flags),
            payload: Array(octets.dropFirst(Self.headerLength)))
        noisePower = Int8(bitPattern: octets[at + 2])
        self.modulation = modulation
    }

    /// The 22 octets before the payload, with no corrected bits.
    var header: [UInt8] {
        var octets: [UInt8] = [rfChannel, UInt8(bitPattern: signalPower), UInt8(bitPattern: noisePower), 0]
        octets.reserveCapacity(Self.headerLength)
        octets.append(contentsOf: [transport.rawValue << 4 | modulation.rawValue, 0, 0, 0])
        octets.append(little: lap)
        octets.append(little: lap & 0xFF_FFFF | UInt32(referenceUAP) << 24)
        octets.append(little: packetHeader)
        octets.append(little: flags.rawValue)
        return octets
    }

    /// One-line description.
    var summary: String {
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

/// An LE or BR/EDR transmission.
public enum AnyAirFrame: Sendable, Hashable {
    case le(AirFrame)
    case bredr(BasebandFrame)
}
