import Packets

/// Core Specification versions that introduced features, commands and events; older controllers lack them.
enum CoreVersions {
    /// Versions as in the assigned numbers.
    private enum Version: UInt8 {
        case core40 = 6
        case core41, core42, core50, core51, core52, core53, core54, core60, core61
    }

    /// LE features of a version: the lowest bits, up to those it introduced. Core Vol 6, Part B, 4.6.
    static func features(of version: UInt8) -> LEFeatures {
        let counts: [Version: UInt64] = [
            .core40: 1, .core41: 5, .core42: 8, .core50: 17, .core51: 28, .core52: 34, .core53: 39, .core54: 45,
        ]
        guard let count = Version(rawValue: version).flatMap({ counts[$0] }) else { return LEFeatures(rawValue: .max) }
        return LEFeatures(rawValue: 1 << count - 1)
    }

    /// Commands that depend on no feature, with the version that introduced them. Core Vol 4, Part E, 3.1.
    private static let commands: [UInt16: Version] = [
        HCICommands.LEReadLocalP256PublicKey.opcode: .core42,
        HCICommands.LEGenerateDHKey.opcode: .core42,
        HCICommands.LESetPrivacyMode.opcode: .core50,
        HCICommands.LEReadTransmitPower.opcode: .core50,
        HCICommands.LEReadRFPathCompensation.opcode: .core50,
        HCICommands.LEWriteRFPathCompensation.opcode: .core50,
        HCICommands.LEReceiverTestV2.opcode: .core50,
        HCICommands.LETransmitterTestV2.opcode: .core50,
        HCICommands.LEGenerateDHKeyV2.opcode: .core51,
        HCICommands.LEReadBufferSizeV2.opcode: .core52,
        HCICommands.LESetResolvablePrivateAddressTimeoutV2.opcode: .core61,
    ]

    private static let events: [String: Version] = [
        HCIEvents.LEEnhancedConnectionComplete.name: .core42,
        HCIEvents.LEDirectedAdvertisingReport.name: .core42,
        HCIEvents.LEChannelSelectionAlgorithm.name: .core50,
        HCIEvents.EncryptionChangeV2.name: .core53,
        HCIEvents.LEEnhancedConnectionCompleteV2.name: .core54,
    ]

    static func hasCommand(_ opcode: UInt16, _ version: UInt8) -> Bool { (commands[opcode]?.rawValue ?? 0) <= version }

    static func hasEvent(_ name: String, _ version: UInt8) -> Bool { (events[name]?.rawValue ?? 0) <= version }

    /// The oldest version that has all these events.
    static let newestEvents = events.values.map(\.rawValue).max() ?? 0
}
