import BBPackets
import BBSimulation

/// A property of every link, whatever its hosts ask for and whichever packet is lost.
public enum Invariant: String, CaseIterable, Sendable, Codable {
    case linkLives = "link-lives"
    case endsOnce = "ends-once"
    case sidesAgree = "sides-agree"
    case dataArrives = "data-arrives"
    case nothingLeft = "nothing-left"
    case rejectionRight = "rejection-right"
    case rejectionTold = "rejection-told"
    case instantAhead = "instant-ahead"
    case oneInstant = "one-instant"
    case encryptionAlone = "encryption-alone"
    case oneAtATime = "one-at-a-time"

    /// The requirement.
    public var statement: String {
        switch self {
        case .linkLives: "No link ends unless a host ends it, and then each host gets one Disconnection_Complete."
        case .endsOnce: "Each request of a host ends in an event, and no event comes without a request."
        case .sidesAgree:
            "At rest both sides have the same interval, latency, supervision timeout, channel map, PHYs, lengths and encryption."
        case .dataArrives: "Data arrives once and in order."
        case .nothingLeft: "No procedure, timeout or data is left over."
        case .rejectionRight:
            "Only a central rejects a colliding procedure, beside an incompatible one of its own, with the right error code; no known PDU is answered as unknown."
        case .rejectionTold: "The host whose request was rejected gets the error code of the rejection."
        case .instantAhead: "An instant is at least six connection events ahead."
        case .oneInstant: "At most one instant is pending."
        case .encryptionAlone: "While encryption starts or pauses, only its own PDUs and LL_TERMINATE_IND are sent."
        case .oneAtATime: "A device begins no procedure while another that it has begun awaits an answer."
        }
    }

    /// Section of the Core Specification.
    public var section: String {
        switch self {
        case .linkLives: "Core Vol 6, Part B, 5.1.6"
        case .endsOnce: "Core Vol 4, Part E, 4.4"
        case .sidesAgree: "Core Vol 6, Part B, 5.1"
        case .dataArrives: "Core Vol 6, Part B, 4.5.9"
        case .nothingLeft: "Core Vol 6, Part B, 5.2"
        case .rejectionRight, .rejectionTold, .oneInstant: "Core Vol 6, Part B, 5.3"
        case .instantAhead: "Core Vol 6, Part B, 5.5"
        case .encryptionAlone: "Core Vol 6, Part B, 5.1.3"
        case .oneAtATime: "Core Vol 6, Part B, 5"
        }
    }
}

/// An invariant that a path has violated.
public struct Violation: Hashable, Sendable, Codable {
    public var invariant: Invariant
    /// The expected and the actual behaviour.
    public var message: String
    /// The device whose conduct shows it; nil if it takes both.
    public var role: LinkRole?
    /// The event or PDU that is missing or wrong, by its name in the specification.
    public var name: String?
    /// The fields of that packet which make it wrong, as a case states them.
    public var fields: String?

    init(_ invariant: Invariant, _ message: String, role: LinkRole? = nil, name: String? = nil, fields: String? = nil) {
        (self.invariant, self.message, self.role, self.name, self.fields) = (invariant, message, role, name, fields)
    }

    /// The invariant, the device and the packet alone.
    var withoutMessage: Violation { Violation(invariant, "", role: role, name: name) }

    func isSame(as other: Violation) -> Bool { withoutMessage == other.withoutMessage }
}
