import Packets

/// Something that a device was found to do in the run, and that the bench works around or tells of.
public struct ObservedQuirk: Sendable, Hashable {
    /// What kind of conduct it is; texts of one kind may differ in their details.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        // Commands and events
        /// A command that the controller claims was refused, or not answered.
        case claimedAndRefused = "claimed-and-refused"
        case unansweredCommand = "unanswered-command"
        /// Command Status where Command Complete is owed.
        case statusForComplete = "status-for-complete"
        /// Num_HCI_Command_Packets stayed 0 with nothing under way.
        case creditsWithheld = "credits-withheld"
        /// A vendor's event alone answered a vendor's command.
        case vendorEventAsAnswer = "vendor-event-as-answer"
        /// The answer to an unknown command named another opcode.
        case answerForAnotherCommand = "answer-for-another-command"
        case answerMissingAfterDisconnection = "answer-missing-after-disconnection"
        case smallEventMask = "small-event-mask"
        case slowCommand = "slow-command"
        /// Extended commands are claimed; the legacy ones are used.
        case legacyCommandsOnly = "legacy-commands-only"
        case reservedBits = "reserved-bits"
        /// LE Coded is claimed and known to fail beside other PHYs: it was left out.
        case codedPHYLeftOut = "coded-phy-left-out"
        /// A scan rested during an inquiry.
        case scanRested = "scan-rested"
        // Data
        /// More packets were reported as completed than were sent.
        case excessCredits = "excess-credits"
        case lateData = "late-data"
        case earlyData = "early-data"
        case debugData = "debug-data"
        case unusableBuffers = "unusable-buffers"
        // Identity
        case addressMissing = "address-missing"
        case addressIsDefault = "address-is-default"
        case addressIsShared = "address-is-shared"
        case firmwareMissing = "firmware-missing"
        case identityIncomplete = "identity-incomplete"
        case controllerCrashed = "controller-crashed"
        // USB
        case strayOctets = "stray-octets"
        case joinedEvents = "joined-events"
        case stalledRequest = "stalled-request"
        case requestRecipient = "request-recipient"
        case deafAtStart = "deaf-at-start"
        /// It still had to say what was meant for another program.
        case staleData = "stale-data"
        case reenumerated = "re-enumerated"
        case serialLost = "serial-lost"
        case autosuspend = "autosuspend"
        case deafDataPipe = "deaf-data-pipe"
        case paddedVoice = "padded-voice"
        case voiceSetting = "voice-setting"
    }

    public var kind: Kind
    /// What was seen and what is done about it, for people.
    public var text: String
    /// How often it was seen.
    public var count: Int

    public init(_ kind: Kind, _ text: String, count: Int = 1) {
        self.kind = kind
        self.text = text
        self.count = count
    }
}

/// What was learned in a run, in the order in which it was first seen. Bounded: what comes after the limit is only counted.
public struct LearnedConductList: Sendable, Hashable {
    public static let limit = 64

    public private(set) var all: [ObservedQuirk] = []
    /// Kinds of texts that found no room.
    public private(set) var omitted = 0

    public init() {}

    /// Notes something; the same text again only raises its count.
    public mutating func note(_ kind: ObservedQuirk.Kind, _ text: String, count: Int = 1) {
        guard count > 0 else { return }
        if let index = all.firstIndex(where: { $0.kind == kind && $0.text == text }) {
            all[index].count += count
        } else if all.count < Self.limit {
            all.append(ObservedQuirk(kind, text, count: count))
        } else {
            omitted += 1
        }
    }

    /// Adds what another list has.
    public mutating func add(_ other: LearnedConductList) {
        for conduct in other.all { note(conduct.kind, conduct.text, count: conduct.count) }
        omitted += other.omitted
    }

    public subscript(_ kind: ObservedQuirk.Kind) -> ObservedQuirk? { all.first { $0.kind == kind } }
}
