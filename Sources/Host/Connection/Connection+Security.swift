import Packets

extension Connection {
    /// Encrypts the link with the key that the host's key store has for the peer, as a central does. Core Vol 4, Part E, 7.8.24.
    ///
    /// - Throws: `HostError.misuse(.noKey)`, `.peer(.rejected)` with the controller's or the peer's reason.
    public func encrypt() async throws {
        guard let key = securityManager.encryptionKey(of: context.keys[peer]) else { throw HostError.misuse(.noKey) }
        let handle = self.handle
        let event: HCIEvents.EncryptionChange = try await host.procedure(
            HCICommands.LEEnableEncryption(
                connectionHandle: handle, randomNumber: key.randomNumber, encryptedDiversifier: key.encryptedDiversifier,
                longTermKey: key.value),
            ends: HCIEvents.EncryptionChange.self, on: handle
        ) { $0.connectionHandle == handle }
        guard event.status == .success else { throw HostError.peer(.rejected(HCICommands.LEEnableEncryption.name, event.status)) }
    }

    func keyRequested(_ event: HCIEvents.LELongTermKeyRequest) {
        let key = securityManager.key(
            encryptedDiversifier: event.encryptedDiversifier, randomNumber: event.randomNumber, of: context.keys[peer])
        if let key {
            host.post(HCICommands.LELongTermKeyRequestReply(connectionHandle: handle, longTermKey: key))
        } else {
            host.post(HCICommands.LELongTermKeyRequestNegativeReply(connectionHandle: handle))
        }
    }

    /// False if the controller cannot have encrypted the link.
    func encryptionChanged(isOn: Bool) -> Bool {
        guard securityManager.encryptionChanged(isOn: isOn) else { return false }
        tell(.encryptionChanged(isOn))
        return true
    }
}
