import BBPackets
import BBTraffic

/// Properties of a controller, read at the start.
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
    /// LE ACL buffers, or those of BR/EDR if LE shares them.
    public var leDataLength = 0
    public var leDataPackets = 0
    public var classicDataLength = 0
    public var classicDataPackets = 0
    /// Synchronous data buffers; 0 if voice is not sent over HCI.
    public var voiceDataLength = 0
    public var voiceDataPackets = 0
    public var hasOwnLEBuffers = false
    public var filterAcceptListSize = 0
    /// Maximum advertising data length; nil until a set is used, since reading it selects the extended commands. Core Vol 4, Part E, 3.1.1.
    public var maximumAdvertisingDataLength: Int?
    public var maximumDataLength = DataLength()
    /// Number of HCI_Reset commands sent; more than one means that the device did not respond at first.
    public var resetAttempts = 0

    /// Result of LE_Read_Number_of_Supported_Advertising_Sets; nil until a set is used.
    public var advertisingSets: Int?

    public init() {}

    /// Company identifier of Qualcomm, formerly CSR.
    static let csr: UInt16 = 0x000A

    /// True if the controller reports support of a command, or does not report its commands.
    func mayHave<Command: HCICommand>(_ command: Command.Type) -> Bool {
        !supportedCommands.contains { $0 != 0 } || supports(command)
    }

    /// True if the bit of a command is set. Core Vol 4, Part E, 6.27.
    public func supports<Command: HCICommand>(_ command: Command.Type) -> Bool { SupportedCommands(supportedCommands).contains(command) }

    /// Feature bits 28 and 29. Core Vol 2, Part C, 3.3.
    var supportsInterlacedInquiryScan: Bool { features >> 28 & 1 == 1 }
    var supportsInterlacedPageScan: Bool { features >> 29 & 1 == 1 }
    public var isLEOnly: Bool { !HCICommands.ReadLocalSupportedFeatures.Return(lmpFeatures: features).supportsClassic }
    public var supportsExtendedAdvertising: Bool { leFeatures.contains(.leExtendedAdvertising) }
}
