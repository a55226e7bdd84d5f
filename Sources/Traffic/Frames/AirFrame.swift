/// An LE transmission with radio information, as in LINKTYPE_BLUETOOTH_LE_LL_WITH_PHDR.
public struct AirFrame: Sendable, Hashable {
    /// Valid fields and results of the receiver's checks.
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

    /// Kind of physical channel PDU.
    public enum Channel: UInt16, Sendable, Hashable, CaseIterable {
        /// Advertising, or data of unknown direction, depending on the access address.
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

    /// RF channel 0...39: 2402 MHz + 2 MHz x N. Not the channel index.
    public var rfChannel: UInt8
    /// Signal power in dBm.
    public var signalPower: Int8
    /// Noise power in dBm.
    public var noisePower: Int8
    public var referenceAccessAddress: UInt32
    public var flags: Flags
    public var channel: Channel
    public var modulation: Modulation
    /// Access address, coding indicator on LE Coded (0 for S=8, 1 for S=2), PDU header, payload and CRC, without whitening.
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

    /// Channel index as used by link layer and sniffers; nil if the capture does not contain it. Core Vol 6, Part B, 1.4.1.
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

    /// The RF channel of a channel index.
    public static func rfChannel(of index: UInt8) -> UInt8 {
        switch index {
        case 0...10: index + 1
        case 11...36: index + 2
        case 37: 0
        case 38: 12
        case 39: 39
        default: noChannel
        }
    }

    /// Value for an unknown RF channel.
    public static let noChannel: UInt8 = 0xFF
}
