import BBHost
import BBPackets

/// Security of a link or of an attribute, in the order of LE security mode 1, levels 1 to 4. Core Vol 3, Part C, 10.2.1.
public enum SecurityLevel: Sendable, Hashable, Comparable, CaseIterable {
    /// Not encrypted.
    case none
    /// Encrypted with an unauthenticated key.
    case encrypted
    /// Encrypted with a key that was authenticated against MITM attacks.
    case authenticated
    /// Encrypted with an authenticated 128-bit key of LE Secure Connections.
    case secureConnections

    init(_ level: LinkSecurity) {
        switch level {
        case .none: self = .none
        case .encrypted: self = .encrypted
        case .authenticated: self = .authenticated
        case .secureConnections: self = .secureConnections
        }
    }

    var inner: LinkSecurity {
        switch self {
        case .none: .none
        case .encrypted: .encrypted
        case .authenticated: .authenticated
        case .secureConnections: .secureConnections
        }
    }
}

/// Offers and requirements of a host for pairing. Core Vol 3, Part H, 2.3.
public struct PairingOptions: Sendable, Hashable {
    /// Input and output of a device. Core Vol 3, Part H, 2.3.2.
    public enum IOCapability: Sendable, Hashable, CaseIterable {
        case displayOnly
        case displayYesNo
        case keyboardOnly
        case noInputNoOutput
        case keyboardDisplay
    }

    public var ioCapability = IOCapability.noInputNoOutput
    /// Exchanges and stores keys.
    public var bonds = true
    /// A pairing that would give less is refused.
    public var minimumLevel = SecurityLevel.encrypted
    /// Offers LE Secure Connections besides LE legacy pairing.
    public var supportsSecureConnections = true
    /// Passkey to display, 0...999999; nil for a random one.
    public var passkey: UInt32?

    public init(_ ioCapability: IOCapability = .noInputNoOutput) { self.ioCapability = ioCapability }

    var settings: PairingSettings {
        var settings = PairingSettings()
        switch ioCapability {
        case .displayOnly: settings.ioCapability = .displayOnly
        case .displayYesNo: settings.ioCapability = .displayYesNo
        case .keyboardOnly: settings.ioCapability = .keyboardOnly
        case .noInputNoOutput: settings.ioCapability = .noInputNoOutput
        case .keyboardDisplay: settings.ioCapability = .keyboardDisplay
        }
        settings.asksForMITM = ioCapability != .noInputNoOutput
        settings.isBonding = bonds
        settings.minimumLevel = max(.encrypted, minimumLevel.inner)
        settings.supportsSecureConnections = supportsSecureConnections
        settings.passkey = passkey
        return settings
    }
}

/// The user of a host during a pairing, or a test in place of one.
public struct PairingUser {
    /// Displays a passkey, 0...999999, which is entered on the peer.
    public var showPasskey: (UInt32) -> Void = { _ in }
    /// Returns the passkey that the peer displays; nil cancels.
    public var enterPasskey: () -> UInt32? = { nil }
    /// Returns true if both devices display this number, 0...999999.
    public var compare: (UInt32) -> Bool = { _ in true }
    /// Consents to a pairing that the peer requests, if there is no other question.
    public var consent: () -> Bool = { true }

    /// A user who consents to everything and knows no passkey.
    public init() {}

    var dialogue: PairingDialogue {
        PairingDialogue(
            showPasskey: { showPasskey($1) }, enterPasskey: { $1(enterPasskey()) }, compare: { $2(compare($1)) },
            consent: { $1(consent()) })
    }
}

/// Result of a pairing.
public struct Pairing: Sendable, Hashable {
    public let level: SecurityLevel
    /// True if LE Secure Connections was used, false for LE legacy pairing.
    public let isSecureConnections: Bool
    /// Keys were stored.
    public let isBonded: Bool
    /// Association model: Just Works, Passkey Entry, Numeric Comparison, Out of Band; nil if the key of a bond was used. Core Vol 3, Part
    /// H, 2.3.5.
    public let model: String?

    init(_ result: PairingResult) {
        level = SecurityLevel(result.level)
        (isSecureConnections, isBonded, model) = (result.isSecureConnections, result.isBonded, result.model?.rawValue)
    }
}

extension BluetoothHost {
    /// Sets what the host offers to peers that pair with it; nil to refuse every pairing. By default a host accepts Just Works pairing.
    public func acceptPairing(_ options: PairingOptions?, user: PairingUser = PairingUser()) {
        inner.pairingSettings = options?.settings
        inner.pairingDialogue = user.dialogue
    }
}

extension Connection {
    /// Pairs, or encrypts the link with the key of a bond that is strong enough. A peripheral requests it from the central. Core Vol 3, Part
    /// H, 2.
    ///
    /// - Parameters:
    ///   - options: nil for those of `BluetoothHost.acceptPairing(_:user:)`, or the defaults.
    ///   - user: nil for the one given there.
    /// - Throws: `BluetoothError` with the reason `pairingFailed`, `timedOut`, `rejected` or `disconnected`.
    @discardableResult
    public func pair(_ options: PairingOptions? = nil, user: PairingUser? = nil) async throws -> Pairing {
        if let user { host.inner.pairingDialogue = user.dialogue }
        return try await BluetoothError.translating { Pairing(try await inner.pair(options?.settings)) }
    }
}
