import BBPackets

/// User interface of pairing on either transport, for a user or a test. Replies may be given at once or later; late replies are ignored.
public struct PairingDialogue {
    /// Displays a passkey, 0...999999, to be entered on the peer.
    public var showPasskey: (ACLLink, UInt32) -> Void
    /// Asks for the passkey displayed by the peer; nil cancels.
    public var enterPasskey: (ACLLink, @escaping (UInt32?) -> Void) -> Void
    /// Asks the user to confirm that both devices display this number, 0...999999.
    public var compare: (ACLLink, UInt32, @escaping (Bool) -> Void) -> Void
    /// Asks the user to consent to a pairing requested by the peer, if no other question will be asked.
    public var consent: (ACLLink, @escaping (Bool) -> Void) -> Void
    /// Reports keypresses on the peer. Core Vol 3, Part H, 3.5.8.
    public var keypress: (ACLLink, Keypress) -> Void = { _, _ in }
    /// The pairing has ended; displays and questions can be removed.
    public var ended: (ACLLink) -> Void = { _ in }

    public init(
        showPasskey: @escaping (ACLLink, UInt32) -> Void = { _, _ in },
        enterPasskey: @escaping (ACLLink, @escaping (UInt32?) -> Void) -> Void,
        compare: @escaping (ACLLink, UInt32, @escaping (Bool) -> Void) -> Void,
        consent: @escaping (ACLLink, @escaping (Bool) -> Void) -> Void
    ) {
        self.showPasskey = showPasskey
        self.enterPasskey = enterPasskey
        self.compare = compare
        self.consent = consent
    }

    /// Replies without a user: the same reply to each question, and a fixed passkey or none.
    public static func unattended(accepts: Bool, passkey: UInt32? = nil) -> PairingDialogue {
        PairingDialogue(enterPasskey: { $1(passkey) }, compare: { $2(accepts) }, consent: { $1(accepts) })
    }
}

/// A keypress notification. Core Vol 3, Part H, 3.5.8.
public enum Keypress: UInt8, Sendable, Hashable {
    case entryStarted = 0
    case digitEntered = 1
    case digitErased = 2
    case cleared = 3
    case entryCompleted = 4
}

/// A display or question of pairing.
enum PairingQuestion: Sendable, Hashable {
    case showPasskey(UInt32)
    case enterPasskey
    case compare(UInt32)
    case consent
}

enum PairingAnswer: Sendable, Hashable {
    case passkey(UInt32?)
    case agrees(Bool)
}
