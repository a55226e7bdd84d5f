import BBPackets

/// Unexpected behaviour of a device observed during the run, which the bench works around or reports.
public struct ObservedQuirk: Sendable, Hashable {
    /// Kind of behaviour; texts of one kind may differ in details.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        // Commands and events
        /// A command reported as supported was rejected or not answered.
        case claimedAndRefused = "claimed-and-refused"
        case unansweredCommand = "unanswered-command"
        /// Command Status was sent instead of Command Complete.
        case statusForComplete = "status-for-complete"
        /// Num_HCI_Command_Packets stayed 0 with no command outstanding.
        case creditsWithheld = "credits-withheld"
        /// A vendor command was answered by a vendor event only.
        case vendorEventAsAnswer = "vendor-event-as-answer"
        /// The answer to an unknown command contained another opcode.
        case answerForAnotherCommand = "answer-for-another-command"
        case answerMissingAfterDisconnection = "answer-missing-after-disconnection"
        case smallEventMask = "small-event-mask"
        case slowCommand = "slow-command"
        /// Extended commands are reported as supported, but the legacy ones are used.
        case legacyCommandsOnly = "legacy-commands-only"
        case reservedBits = "reserved-bits"
        /// LE Coded is reported as supported but known to fail besides other PHYs, and is not used.
        case codedPHYLeftOut = "coded-phy-left-out"
        /// Scanning was paused during an inquiry.
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
        /// Octets in Bulk Serialization mode that are not a packet.
        case framingFault = "framing-fault"
        case joinedPackets = "joined-packets"
        case splitPackets = "split-packets"
        /// Outgoing packets that a change of the mode cut off.
        case cutPackets = "cut-packets"
        /// Bulk Serialization mode was refused or given up.
        case modeRefused = "mode-refused"
        case requestRecipient = "request-recipient"
        case deafAtStart = "deaf-at-start"
        /// Stale packets for another program were received.
        case staleData = "stale-data"
        case reenumerated = "re-enumerated"
        case serialLost = "serial-lost"
        case autosuspend = "autosuspend"
        case deafDataPipe = "deaf-data-pipe"
        case paddedVoice = "padded-voice"
        case voiceSetting = "voice-setting"
    }

    public var kind: Kind
    /// The observation and the workaround, for display.
    public var text: String
    /// Number of observations.
    public var count: Int

    public init(_ kind: Kind, _ text: String, count: Int = 1) {
        self.kind = kind
        self.text = text
        self.count = count
    }
}

/// Quirks observed in a run, in the order of the first observation. Limited: later quirks are only counted.
public struct LearnedConductList: Sendable, Hashable {
    public static let limit = 64

    public private(set) var all: [ObservedQuirk] = []
    /// Number of texts dropped because of the limit.
    public private(set) var omitted = 0

    public init() {}

    /// Records an observation; the same text again only increments its count.
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

    /// Adds the observations of another list.
    public mutating func add(_ other: LearnedConductList) {
        for conduct in other.all { note(conduct.kind, conduct.text, count: conduct.count) }
        omitted += other.omitted
    }

    public subscript(_ kind: ObservedQuirk.Kind) -> ObservedQuirk? { all.first { $0.kind == kind } }
}
