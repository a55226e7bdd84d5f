import Packets

extension Connection {
    /// Pairs: a central asks for it, a peripheral asks the central to. A central that has the peripheral's key encrypts the link with it instead.
    ///
    /// - Parameter settings: those of the host, or the defaults, if nil.
    /// - Throws: `HostError.peer(.pairingFailed)` when the peer ends it, `.peer(.pairingRefused)` when this side does, `.peer(.timedOut(.pairing))`,
    ///   `.peer(.rejected)` when the link could not be encrypted, `.peer(.disconnected)`, `.misuse(.busy)`.
    @discardableResult
    public func pair(_ settings: PairingSettings? = nil) async throws -> PairingResult {
        try await securityChannel.pair(settings ?? host.pairingSettings ?? PairingSettings())
    }

    /// Encrypts the link with the key that the host's key store has for the peer, as a central does. Core Vol 4, Part E, 7.8.24.
    ///
    /// - Throws: `HostError.misuse(.noKey)`, `.peer(.rejected)` with the controller's or the peer's reason.
    public func encrypt() async throws { try await securityChannel.encrypt(with: context.keys[peer]) }

    /// Raises the link to a level: with the key of the bond if that is good enough, else by pairing.
    public func secure(to level: LinkSecurity, _ settings: PairingSettings? = nil) async throws {
        guard security < level else { return }
        if isCentral, let bond = context.keys[peer], let key = bond.peerLongTermKey, bond.level(with: key) >= level {
            return try await encrypt()
        }
        var settings = settings ?? host.pairingSettings ?? PairingSettings()
        settings.minimumLevel = max(settings.minimumLevel, level)
        try await pair(settings)
    }
}
