import Packets

/// What the user, or a test in its place, is shown and asked while a connection of either transport pairs. Answers may come at once or later; one that comes too late changes nothing.
public struct PairingDialogue {
    /// Shows a passkey, 0...999999, that is entered at the other side.
    public var showPasskey: (any SecuredLink, UInt32) -> Void
    /// Asks for the passkey that the other side shows; nil gives up.
    public var enterPasskey: (any SecuredLink, @escaping (UInt32?) -> Void) -> Void
    /// Asks whether both sides show this number, 0...999999.
    public var compare: (any SecuredLink, UInt32, @escaping (Bool) -> Void) -> Void
    /// Asks whether to pair with a peer that asked for it, where nothing else will be asked.
    public var consent: (any SecuredLink, @escaping (Bool) -> Void) -> Void
    /// Tells what is going on at the keyboard of the other side. Core Vol 3, Part H, 3.5.8.
    public var keypress: (any SecuredLink, Keypress) -> Void = { _, _ in }
    /// Nothing of what was shown or asked matters any more.
    public var ended: (any SecuredLink) -> Void = { _ in }

    public init(
        showPasskey: @escaping (any SecuredLink, UInt32) -> Void = { _, _ in },
        enterPasskey: @escaping (any SecuredLink, @escaping (UInt32?) -> Void) -> Void,
        compare: @escaping (any SecuredLink, UInt32, @escaping (Bool) -> Void) -> Void,
        consent: @escaping (any SecuredLink, @escaping (Bool) -> Void) -> Void
    ) {
        self.showPasskey = showPasskey
        self.enterPasskey = enterPasskey
        self.compare = compare
        self.consent = consent
    }

    /// Nobody is there: the same answer to each question, and the same passkey, or none.
    public static func unattended(accepts: Bool, passkey: UInt32? = nil) -> PairingDialogue {
        PairingDialogue(enterPasskey: { $1(passkey) }, compare: { $2(accepts) }, consent: { $1(accepts) })
    }
}

/// What happened at a keyboard. Core Vol 3, Part H, 3.5.8.
public enum Keypress: UInt8, Sendable, Hashable {
    case entryStarted = 0
    case digitEntered = 1
    case digitErased = 2
    case cleared = 3
    case entryCompleted = 4
}

/// What pairing shows or asks.
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
