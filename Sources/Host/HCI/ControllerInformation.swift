import HCI
import Packets

/// What a controller says about itself when it is started.
public struct ControllerInformation: Sendable, Equatable {
    /// The public address.
    public var address = DeviceAddress(value: 0)
    public var hciVersion: UInt8 = 0
    public var hciRevision: UInt16 = 0
    public var lmpVersion: UInt8 = 0
    public var manufacturer: UInt16 = 0
    public var lmpSubversion: UInt16 = 0
    /// 64 octets, one bit per command.
    public var supportedCommands: [UInt8] = []
    /// LMP features, page 0.
    public var features: UInt64 = 0
    public var leFeatures: LEFeatures = []
    public var leStates: UInt64 = 0
    /// ACL buffers of LE, or the shared ones when the controller has none of its own.
    public var leDataLength = 0
    public var leDataPackets = 0
    public var classicDataLength = 0
    public var classicDataPackets = 0
    /// Buffers for voice of BR/EDR; none where it does not go over HCI.
    public var voiceDataLength = 0
    public var voiceDataPackets = 0
    public var hasOwnLEBuffers = false
    public var filterAcceptListSize = 0
    /// Octets of data that an extended advertising set takes; nil until one is used, as asking chooses the extended commands for good.
    /// Core Vol 4, Part E, 3.1.1.
    public var maximumAdvertisingDataLength: Int?
    public var maximumDataLength = DataLength()
    /// HCI_Reset commands that it took; more than one means the device needed rescue.
    public var resetAttempts = 0

    /// Sets that LE_Read_Number_of_Supported_Advertising_Sets tells; nil until one is used.
    public var advertisingSets: Int?

    public init() {}

    /// Qualcomm's number for what was CSR.
    static let csr: UInt16 = 0x000A
    /// Core 4.0, the first version with LE.
    static let firstLEVersion: UInt8 = 6

    /// Whether it may have a command: it says so, or does not say what it has.
    func mayHave<Command: HCICommand>(_ command: Command.Type) -> Bool {
        !supportedCommands.contains { $0 != 0 } || supports(command)
    }

    /// Whether the bit of a command is set. Core Vol 4, Part E, 6.27.
    public func supports<Command: HCICommand>(_ command: Command.Type) -> Bool { SupportedCommands(supportedCommands).contains(command) }

    public var isLEOnly: Bool { features >> 37 & 1 == 1 }
    public var supportsExtendedAdvertising: Bool { leFeatures.contains(.leExtendedAdvertising) }
}
