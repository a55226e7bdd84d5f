import BBPackets

/// Events that complete a command answered by Command Status. Core Vol 4, Part E, 7.1 to 7.8.
public enum ProcedureEvents {
    /// Empty for a command that ends with Command Complete, and for one without a completion event.
    public static func ending(opcode: UInt16) -> [any HCIEvent.Type] { events[opcode] ?? [] }

    private static let connections: [any HCIEvent.Type] = [
        HCIEvents.LEConnectionComplete.self, HCIEvents.LEEnhancedConnectionComplete.self, HCIEvents.LEEnhancedConnectionCompleteV2.self,
    ]
    private static let encryption: [any HCIEvent.Type] = [
        HCIEvents.EncryptionChange.self, HCIEvents.EncryptionChangeV2.self, HCIEvents.EncryptionKeyRefreshComplete.self,
    ]

    private static let events: [UInt16: [any HCIEvent.Type]] = [
        HCICommands.Disconnect.opcode: [HCIEvents.DisconnectionComplete.self],
        HCICommands.ReadRemoteVersionInformation.opcode: [HCIEvents.ReadRemoteVersionInformationComplete.self],
        HCICommands.SetConnectionEncryption.opcode: encryption,
        HCICommands.LECreateConnection.opcode: connections,
        HCICommands.LEExtendedCreateConnection.opcode: connections,
        HCICommands.LEExtendedCreateConnectionV2.opcode: connections,
        HCICommands.LEConnectionUpdate.opcode: [HCIEvents.LEConnectionUpdateComplete.self],
        HCICommands.LEReadRemoteFeatures.opcode: [HCIEvents.LEReadRemoteFeaturesComplete.self],
        HCICommands.LESetPHY.opcode: [HCIEvents.LEPHYUpdateComplete.self],
        HCICommands.LEEnableEncryption.opcode: encryption,
        HCICommands.LEReadLocalP256PublicKey.opcode: [HCIEvents.LEReadLocalP256PublicKeyComplete.self],
        HCICommands.LEGenerateDHKey.opcode: [HCIEvents.LEGenerateDHKeyComplete.self],
        HCICommands.LEGenerateDHKeyV2.opcode: [HCIEvents.LEGenerateDHKeyComplete.self],
    ]
}
