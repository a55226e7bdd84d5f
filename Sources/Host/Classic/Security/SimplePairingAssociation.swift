import Packets

/// What one side says before Secure Simple Pairing. Core Vol 4, Part E, 7.1.29.
struct SimplePairingFeatures: Sendable, Hashable {
    var ioCapability: IOCapability
    /// It has data that came from the other side by other means.
    var hasOutOfBandData = false
    /// Authentication_Requirements: MITM in bit 0, bonding in bits 1 and 2.
    var requirements: UInt8

    init(_ ioCapability: IOCapability, hasOutOfBandData: Bool = false, requirements: UInt8) {
        // BR/EDR knows no device with keyboard and display.
        self.ioCapability = ioCapability == .keyboardDisplay ? .displayYesNo : ioCapability
        self.hasOutOfBandData = hasOutOfBandData
        self.requirements = requirements
    }

    init(_ settings: PairingSettings, needs level: SecurityMode4Level) {
        let isProtected = settings.asksForMITM || settings.minimumLevel >= .authenticated || level >= .authenticated
        self.init(
            settings.ioCapability, hasOutOfBandData: settings.classicOutOfBandData != nil,
            requirements: (settings.isBonding ? 4 : 0) | (isProtected ? 1 : 0))
    }

    var asksForMITM: Bool { requirements & 1 == 1 }
    var isBonding: Bool { requirements >> 1 != 0 }
}

/// How the two sides of Secure Simple Pairing make sure that there is nobody between them. Core Vol 2, Part F, 4.2; Vol 3, Part C, 5.2.2.6.
enum SimplePairingAssociation: Sendable, Hashable {
    /// Numeric comparison that no user sees.
    case automatic
    /// One user says yes or no to a pairing, not to a number.
    case consent(PairingRole)
    case numericComparison
    /// The other side enters what one side shows; nil: both sides enter the same.
    case passkeyEntry(shownBy: PairingRole?)
    case outOfBand

    /// Whether it protects against a man in the middle.
    var isAuthenticated: Bool {
        switch self {
        case .automatic, .consent: false
        case .numericComparison, .passkeyEntry, .outOfBand: true
        }
    }

    /// The same by the name that it has in LE.
    var model: AssociationModel {
        switch self {
        case .automatic, .consent: .justWorks
        case .numericComparison: .numericComparison
        case .passkeyEntry: .passkeyEntry
        case .outOfBand: .outOfBand
        }
    }

    /// Out-of-band data counts for more than MITM, MITM for more than IO capabilities; nil for a capability that does not exist.
    static func of(initiator: SimplePairingFeatures, responder: SimplePairingFeatures) -> SimplePairingAssociation? {
        if initiator.hasOutOfBandData || responder.hasOutOfBandData { return .outOfBand }
        guard initiator.asksForMITM || responder.asksForMITM else { return .automatic }
        let (row, column) = (Int(responder.ioCapability.rawValue), Int(initiator.ioCapability.rawValue))
        guard table.indices.contains(row), table[row].indices.contains(column) else { return nil }
        return table[row][column]
    }

    /// The responder's capability down, the initiator's across: DisplayOnly, DisplayYesNo, KeyboardOnly, NoInputNoOutput. Core Vol 3, Part C, 5.2.2.6, table 5.7.
    private static let table: [[SimplePairingAssociation]] = [
        [.automatic, .consent(.initiator), .passkeyEntry(shownBy: .responder), .automatic],
        [.consent(.responder), .numericComparison, .passkeyEntry(shownBy: .responder), .consent(.responder)],
        [.passkeyEntry(shownBy: .initiator), .passkeyEntry(shownBy: .initiator), .passkeyEntry(shownBy: nil), .automatic],
        [.automatic, .consent(.initiator), .automatic, .automatic],
    ]
}
