/// One BR/EDR transmission with its radio circumstances, as LINKTYPE_BLUETOOTH_BREDR_BB keeps it.
public struct BasebandFrame: Sendable, Hashable {
    /// Which circumstances are known, and the verdicts of the receiver.
    public struct Flags: OptionSet, Sendable, Hashable {
        public var rawValue: UInt16
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        public static let dewhitened = Flags(rawValue: 0x0001)
        public static let signalPowerValid = Flags(rawValue: 0x0002)
        public static let noisePowerValid = Flags(rawValue: 0x0004)
        /// The payload is in clear, as it was sent or because it was opened.
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

    /// The logical transport by which TYPE is to be read.
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

    /// RF channel 0...78, 2402 MHz + 1 MHz each.
    public var rfChannel: UInt8
    /// In dBm.
    public var signalPower: Int8
    /// In dBm.
    public var noisePower: Int8 = -128
    public var transport: Transport
    public var modulation = Modulation.basicRate
    /// The LAP of the access code.
    public var lap: UInt32
    /// The UAP that HEC and CRC begin with.
    public var referenceUAP: UInt8
    /// The 18 bits of the packet header, the bit that is sent first in the least significant place; zero for an ID packet.
    public var packetHeader: UInt32
    public var flags: Flags
    /// Payload header, payload and CRC, not whitened and without FEC.
    public var payload: [UInt8]
    /// Whether the sender is the piconet's central, or becomes one by this packet; nil where that is not known.
    public var isFromCentral: Bool?
    /// Header and payload as they are sent, whitened and with FEC, if that was noted: 54 bits in seven octets, and the payload's from the eighth on. The bit that
    /// is sent first is the least significant.
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

    /// Reads header and packet; nil when the header is cut or names a transport or a rate that does not exist.
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

    /// The 22 octets before the payload. Nothing had to be corrected.
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

    /// One line about it.
    var summary: String {
        let lap = String(lap, radix: 16, uppercase: true)
        let place = "LAP \(String(repeating: "0", count: max(0, 6 - lap.count)) + lap), RF channel \(rfChannel)"
        guard flags.contains(.hecChecked) else { return "BR/EDR ID, \(place)" }
        return "BR/EDR \(typeName), \(place), \(payload.count) octets"
    }

    /// The name of the packet type, which depends on TYPE, the logical transport and the modulation. Core Vol 2, Part B, 6.5.
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

/// A transmission of either kind.
public enum AnyAirFrame: Sendable, Hashable {
    case le(AirFrame)
    case bredr(BasebandFrame)
}
