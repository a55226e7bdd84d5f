import BBBluetoothCrypto
import BBPackets

/// Keys, pairing and encryption of BR/EDR links. Core Vol 4, Part E, 7.1.10 to 7.1.17, 7.1.29 to 7.1.36, 7.1.53 and 7.3.57 to 7.3.102.
extension BREDRController {
    static func securityCommands(_ rows: inout CommandRows<BREDRController>) {
        rows.complete(HCICommands.LinkKeyRequestReply.self) { try $0.execute($1) }
        rows.complete(HCICommands.LinkKeyRequestNegativeReply.self) { try $0.execute($1) }
        rows.complete(HCICommands.PINCodeRequestReply.self) { try $0.execute($1) }
        rows.complete(HCICommands.PINCodeRequestNegativeReply.self) { try $0.execute($1) }
        rows.start(HCICommands.AuthenticationRequested.self) { try $0.execute($1) }
        rows.start(HCICommands.SetConnectionEncryption.self) { try $0.execute($1) }
        rows.start(HCICommands.ChangeConnectionLinkKey.self) { try $0.execute($1) }
        rows.start(HCICommands.RefreshEncryptionKey.self) { try $0.execute($1) }
        rows.complete(HCICommands.IOCapabilityRequestReply.self) { try $0.execute($1) }
        rows.complete(HCICommands.IOCapabilityRequestNegativeReply.self) { try $0.execute($1) }
        rows.complete(HCICommands.UserConfirmationRequestReply.self) { try $0.execute($1) }
        rows.complete(HCICommands.UserConfirmationRequestNegativeReply.self) { try $0.execute($1) }
        rows.complete(HCICommands.UserPasskeyRequestReply.self) { try $0.execute($1) }
        rows.complete(HCICommands.UserPasskeyRequestNegativeReply.self) { try $0.execute($1) }
        rows.complete(HCICommands.SendKeypressNotification.self) { try $0.execute($1) }
        rows.complete(HCICommands.RemoteOOBDataRequestReply.self) { try $0.execute($1) }
        rows.complete(HCICommands.RemoteOOBExtendedDataRequestReply.self) { try $0.execute($1) }
        rows.complete(HCICommands.RemoteOOBDataRequestNegativeReply.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadSimplePairingMode.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteSimplePairingMode.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadSecureConnectionsHostSupport.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteSecureConnectionsHostSupport.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadLocalOOBData.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadLocalOOBExtendedData.self) { try $0.execute($1) }
        rows.perform(HCICommands.SetMinEncryptionKeySize.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadEncryptionKeySize.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadLocalSimplePairingOptions.self) { try $0.execute($1) }
    }
}

extension BREDRController {
    /// Passes the host's reply to a link manager. The status is an error if the link manager has not requested it.
    private func give(_ reply: ACLReply, to device: BDADDR) -> ErrorCode {
        guard let end = links.first(where: { $0.peer == device }) else { return .unknownConnectionIdentifier }
        return end.connection.reply(reply) ? .success : .commandDisallowed
    }

    // MARK: Keys

    func execute(_ command: HCICommands.LinkKeyRequestReply) throws(CommandRefusal) -> HCICommands.LinkKeyRequestReply.Return {
        .init(status: give(.linkKey(command.linkKey), to: command.bdADDR), bdADDR: command.bdADDR)
    }

    func execute(_ command: HCICommands.LinkKeyRequestNegativeReply) throws(CommandRefusal)
        -> HCICommands.LinkKeyRequestNegativeReply.Return
    {
        .init(status: give(.noLinkKey, to: command.bdADDR), bdADDR: command.bdADDR)
    }

    func execute(_ command: HCICommands.PINCodeRequestReply) throws(CommandRefusal) -> HCICommands.PINCodeRequestReply.Return {
        .init(status: give(.pin(Array(command.pinCode.prefix(Int(command.pinCodeLength)))), to: command.bdADDR), bdADDR: command.bdADDR)
    }

    func execute(_ command: HCICommands.PINCodeRequestNegativeReply) throws(CommandRefusal)
        -> HCICommands.PINCodeRequestNegativeReply.Return
    {
        .init(status: give(.noPIN, to: command.bdADDR), bdADDR: command.bdADDR)
    }

    func execute(_ command: HCICommands.AuthenticationRequested) throws(CommandRefusal) {
        try link(command.connectionHandle).connection.authenticate().check()
    }

    func execute(_ command: HCICommands.ChangeConnectionLinkKey) throws(CommandRefusal) {
        try link(command.connectionHandle).connection.changeKey().check()
    }

    // MARK: Encryption

    func execute(_ command: HCICommands.SetConnectionEncryption) throws(CommandRefusal) {
        try link(command.connectionHandle).connection.setEncryption(isOn: command.encryptionEnable == 1).check()
    }

    func execute(_ command: HCICommands.RefreshEncryptionKey) throws(CommandRefusal) {
        try link(command.connectionHandle).connection.refreshKey().check()
    }

    func execute(_ command: HCICommands.SetMinEncryptionKeySize) throws(CommandRefusal) {
        let isTooShort = controller.configuration.version >= CoreVersions.core62 && command.minEncryptionKeySize < 7
        try Check.that(!isTooShort, else: .unsupportedValue)
        settings.security.minimumKeySize = command.minEncryptionKeySize
    }

    func execute(_ command: HCICommands.ReadEncryptionKeySize) throws(CommandRefusal) -> HCICommands.ReadEncryptionKeySize.Return {
        let security = try link(command.connectionHandle).connection.state.security
        guard security.mode != .off else { throw CommandRefusal(status: .insufficientSecurity) }
        return .init(status: .success, connectionHandle: command.connectionHandle, keySize: security.keySize)
    }

    /// Bit 0: the public key of a peer is always validated.
    func execute(_ command: HCICommands.ReadLocalSimplePairingOptions) throws(CommandRefusal)
        -> HCICommands.ReadLocalSimplePairingOptions.Return
    {
        .init(status: .success, simplePairingOptions: 1, maxEncryptionKeySize: configuration.choices.longestKey)
    }

    // MARK: Secure Simple Pairing

    func execute(_ command: HCICommands.IOCapabilityRequestReply) throws(CommandRefusal) -> HCICommands.IOCapabilityRequestReply.Return {
        let offer = IOOffer(
            capability: command.ioCapability, hasOutOfBandData: command.oobDataPresent != 0,
            requirements: command.authenticationRequirements)
        return .init(status: give(.ioCapability(offer), to: command.bdADDR), bdADDR: command.bdADDR)
    }

    func execute(_ command: HCICommands.IOCapabilityRequestNegativeReply) throws(CommandRefusal)
        -> HCICommands.IOCapabilityRequestNegativeReply.Return
    {
        .init(status: give(.noIOCapability(command.reason), to: command.bdADDR), bdADDR: command.bdADDR)
    }

    func execute(_ command: HCICommands.UserConfirmationRequestReply) throws(CommandRefusal)
        -> HCICommands.UserConfirmationRequestReply.Return
    {
        .init(status: give(.confirmsNumber(true), to: command.bdADDR), bdADDR: command.bdADDR)
    }

    func execute(_ command: HCICommands.UserConfirmationRequestNegativeReply) throws(CommandRefusal)
        -> HCICommands.UserConfirmationRequestNegativeReply.Return
    {
        .init(status: give(.confirmsNumber(false), to: command.bdADDR), bdADDR: command.bdADDR)
    }

    func execute(_ command: HCICommands.UserPasskeyRequestReply) throws(CommandRefusal) -> HCICommands.UserPasskeyRequestReply.Return {
        .init(status: give(.passkey(command.numericValue), to: command.bdADDR), bdADDR: command.bdADDR)
    }

    func execute(_ command: HCICommands.UserPasskeyRequestNegativeReply) throws(CommandRefusal)
        -> HCICommands.UserPasskeyRequestNegativeReply.Return
    {
        .init(status: give(.noPasskey, to: command.bdADDR), bdADDR: command.bdADDR)
    }

    func execute(_ command: HCICommands.SendKeypressNotification) throws(CommandRefusal) -> HCICommands.SendKeypressNotification.Return {
        .init(status: give(.keypress(command.notificationType), to: command.bdADDR), bdADDR: command.bdADDR)
    }

    // MARK: Out-of-band data

    func execute(_ command: HCICommands.RemoteOOBDataRequestReply) throws(CommandRefusal) -> HCICommands.RemoteOOBDataRequestReply.Return {
        let data = RemoteOutOfBandData(p192: [command.c, command.r])
        return .init(status: give(.outOfBandData(data), to: command.bdADDR), bdADDR: command.bdADDR)
    }

    func execute(_ command: HCICommands.RemoteOOBExtendedDataRequestReply) throws(CommandRefusal)
        -> HCICommands.RemoteOOBExtendedDataRequestReply.Return
    {
        let data = RemoteOutOfBandData(p192: [command.c192, command.r192], p256: [command.c256, command.r256])
        return .init(status: give(.outOfBandData(data), to: command.bdADDR), bdADDR: command.bdADDR)
    }

    func execute(_ command: HCICommands.RemoteOOBDataRequestNegativeReply) throws(CommandRefusal)
        -> HCICommands.RemoteOOBDataRequestNegativeReply.Return
    {
        .init(status: give(.outOfBandData(nil), to: command.bdADDR), bdADDR: command.bdADDR)
    }

    /// Creates new key pairs and random numbers for the next pairing.
    private func renewOutOfBandData() -> LocalOutOfBandData {
        let data = LocalOutOfBandData(using: &controller.secrets)
        settings.security.outOfBand = data
        return data
    }

    func execute(_ command: HCICommands.ReadLocalOOBData) throws(CommandRefusal) -> HCICommands.ReadLocalOOBData.Return {
        guard settings.security.usesSimplePairing else { throw .disallowed }
        let data = renewOutOfBandData()
        return .init(status: .success, c: data.commitment192.littleEndianOctets, r: data.random192.littleEndianOctets)
    }

    func execute(_ command: HCICommands.ReadLocalOOBExtendedData) throws(CommandRefusal) -> HCICommands.ReadLocalOOBExtendedData.Return {
        guard settings.security.usesSimplePairing || settings.security.usesSecureConnections else { throw .disallowed }
        let data = renewOutOfBandData()
        return .init(
            status: .success, c192: data.commitment192.littleEndianOctets, r192: data.random192.littleEndianOctets,
            c256: data.commitment256.littleEndianOctets, r256: data.random256.littleEndianOctets)
    }

    // MARK: Modes

    func execute(_ command: HCICommands.ReadSimplePairingMode) throws(CommandRefusal) -> HCICommands.ReadSimplePairingMode.Return {
        .init(status: .success, simplePairingMode: settings.security.usesSimplePairing ? 1 : 0)
    }

    func execute(_ command: HCICommands.WriteSimplePairingMode) throws(CommandRefusal) {
        settings.security.usesSimplePairing = command.simplePairingMode == 1
    }

    func execute(_ command: HCICommands.ReadSecureConnectionsHostSupport) throws(CommandRefusal)
        -> HCICommands.ReadSecureConnectionsHostSupport.Return
    {
        .init(status: .success, secureConnectionsHostSupport: settings.security.usesSecureConnections ? 1 : 0)
    }

    func execute(_ command: HCICommands.WriteSecureConnectionsHostSupport) throws(CommandRefusal) {
        settings.security.usesSecureConnections = command.secureConnectionsHostSupport == 1
    }
}
