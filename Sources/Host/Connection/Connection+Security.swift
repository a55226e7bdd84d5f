import BBPackets

extension Connection {
    /// Pairs: sends a Pairing Request as central, a Security Request as peripheral. A central with the peripheral's key encrypts the link
    /// with it instead.
    ///
    /// - Parameter settings: nil for the settings of the host, or the defaults.
    /// - Throws: `HostError.peer(.pairingFailed)` if the peer ends the pairing, `.peer(.pairingRefused)` if this device does,
    ///   `.peer(.timedOut(.pairing))`, `.peer(.rejected)` if the link could not be encrypted, `.peer(.disconnected)`, `.misuse(.busy)`.
    @discardableResult
    public func pair(_ settings: PairingSettings? = nil) async throws -> PairingResult {
        try await securityChannel.pair(settings ?? host.pairingSettings ?? PairingSettings())
    }

    /// Ends the pairing that is under way with Pairing_Failed, reason Unspecified Reason. `pair` then throws `.peer(.pairingRefused)`.
    public func cancelPairing() { securityChannel.cancel() }

    /// False to ignore the peer's SMP PDUs, for a caller that exchanges SMP PDUs itself.
    public var handlesSMP: Bool {
        get { securityChannel.isInUse }
        set { securityChannel.isInUse = newValue }
    }

    /// Encrypts the link as central, with the peer's key in the host's key store. Core Vol 4, Part E, 7.8.24.
    ///
    /// - Throws: `HostError.misuse(.noKey)`, `.peer(.rejected)` with the reason of controller or peer.
    public func encrypt() async throws { try await securityChannel.encrypt(with: context.keys[peer]) }

    /// Raises the link to a level, with the key of the bond if it is strong enough, otherwise by pairing.
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
