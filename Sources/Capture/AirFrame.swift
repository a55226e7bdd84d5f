/// One LE transmission with its radio circumstances, as LINKTYPE_BLUETOOTH_LE_LL_WITH_PHDR keeps it.
public struct AirFrame: Sendable, Hashable {
    /// Which circumstances are known, and the verdicts of the receiver.
    public struct Flags: OptionSet, Sendable, Hashable {
        public var rawValue: UInt16
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        public static let dewhitened = Flags(rawValue: 0x0001)
        public static let signalPowerValid = Flags(rawValue: 0x0002)
        public static let noisePowerValid = Flags(rawValue: 0x0004)
        public static let decrypted = Flags(rawValue: 0x0008)
        public static let referenceAccessAddressValid = Flags(rawValue: 0x0010)
        public static let crcChecked = Flags(rawValue: 0x0400)
        public static let crcValid = Flags(rawValue: 0x0800)
        public static let micChecked = Flags(rawValue: 0x1000)
        public static let micValid = Flags(rawValue: 0x2000)
    }

    /// What kind of physical channel PDU the frame carries.
    public enum Channel: UInt16, Sendable, Hashable, CaseIterable {
        /// Advertising, or data whose direction is not told: the access address decides.
        case advertising = 0
        case auxiliaryAdvertising = 1
        case dataFromCentral = 2
        case dataFromPeripheral = 3
        case connectedIsochronousFromCentral = 4
        case connectedIsochronousFromPeripheral = 5
        case broadcastIsochronous = 6
    }

    public enum Modulation: UInt16, Sendable, Hashable, CaseIterable {
        case le1M = 0
        case le2M = 1
        case leCoded = 2
    }

    /// RF channel 0...39, 2402 MHz + 2 MHz each. Not the channel index.
    public var rfChannel: UInt8
    /// In dBm.
    public var signalPower: Int8
    /// In dBm.
    public var noisePower: Int8
    public var referenceAccessAddress: UInt32
    public var flags: Flags
    public var channel: Channel
    public var modulation: Modulation
    /// Access address, on the Coded PHY the coding indicator (0 for S=8, 1 for S=2), PDU header, payload and CRC, not whitened.
    public var bytes: [UInt8]

    public init(
        rfChannel: UInt8, signalPower: Int8, noisePower: Int8 = -128, referenceAccessAddress: UInt32, flags: Flags, channel: Channel,
        modulation: Modulation, bytes: [UInt8]
    ) {
        self.rfChannel = rfChannel
        self.signalPower = signalPower
        self.noisePower = noisePower
        self.referenceAccessAddress = referenceAccessAddress
        self.flags = flags
        self.channel = channel
        self.modulation = modulation
        self.bytes = bytes
    }

    /// The channel index, as link layer and sniffers count; nil where the capture does not tell it. Core Vol 6, Part B, 1.4.1.
    public var channelIndex: Int? {
        switch rfChannel {
        case 0: 37
        case 1...11: Int(rfChannel) - 1
        case 12: 38
        case 13...38: Int(rfChannel) - 2
        case 39: 39
        default: nil
        }
    }

    /// Octets after the header of a data channel PDU, the MIC among them; 0 of one that only acknowledges and keeps the link. Nil of other PDUs.
    public var dataOctets: Int? {
        guard channel == .dataFromCentral || channel == .dataFromPeripheral else { return nil }
        let length = Self.accessAddressOctets + (modulation == .leCoded ? 1 : 0) + 1
        return length < bytes.count ? Int(bytes[length]) : nil
    }

    /// Whether a packet on the Coded PHY has S=2; nil on other PHYs.
    public var isS2: Bool? {
        modulation == .leCoded && bytes.count > Self.accessAddressOctets ? bytes[Self.accessAddressOctets] == 1 : nil
    }

    private static let accessAddressOctets = 4

    /// The RF channel of a channel index.
    static func rfChannel(of index: UInt8) -> UInt8 {
        switch index {
        case 0...10: index + 1
        case 11...36: index + 2
        case 37: 0
        case 38: 12
        case 39: 39
        default: noChannel
        }
    }

    /// In place of an RF channel that the capture does not tell.
    static let noChannel: UInt8 = 0xFF
    static let headerLength = 10
    private static let plainFlags: UInt16 = 0x3C1F

    /// Reads header and packet; nil when the header is cut or names a PHY that does not exist.
    init?(headed octets: ArraySlice<UInt8>) {
        guard octets.count >= Self.headerLength else { return nil }
        let at = octets.startIndex
        let word = UInt16(octets[at + 8]) | UInt16(octets[at + 9]) << 8
        guard let channel = Channel(rawValue: word >> 7 & 7), let modulation = Modulation(rawValue: word >> 14) else { return nil }
        self.init(
            rfChannel: octets[at], signalPower: Int8(bitPattern: octets[at + 1]), noisePower: Int8(bitPattern: octets[at + 2]),
            referenceAccessAddress: octets[(at + 4)..<(at + 8)].reversed().reduce(0) { $0 << 8 | UInt32($1) },
            flags: Flags(rawValue: word & Self.plainFlags), channel: channel, modulation: modulation,
            bytes: Array(octets[(at + Self.headerLength)...]))
    }

    /// The ten octets before the packet.
    var header: [UInt8] {
        var octets: [UInt8] = [rfChannel, UInt8(bitPattern: signalPower), UInt8(bitPattern: noisePower), 0]
        octets.reserveCapacity(Self.headerLength)
        octets.append(little: referenceAccessAddress)
        octets.append(little: flags.rawValue & Self.plainFlags | channel.rawValue << 7 | modulation.rawValue << 14)
        return octets
    }
}
