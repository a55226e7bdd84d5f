import BBPackets

/// Features of one device in Secure Simple Pairing. Core Vol 4, Part E, 7.1.29.
struct SimplePairingFeatures: Sendable, Hashable {
    var ioCapability: IOCapability
    /// The device has the peer's out-of-band data.
    var hasOutOfBandData = false
    /// Authentication_Requirements: MITM in bit 0, bonding in bits 1 and 2.
    var requirements: UInt8

    init(_ ioCapability: IOCapability, hasOutOfBandData: Bool = false, requirements: UInt8) {
        // KeyboardDisplay does not exist on BR/EDR.
        self.ioCapability = ioCapability == .keyboardDisplay ? .displayYesNo : ioCapability
        self.hasOutOfBandData = hasOutOfBandData
        self.requirements = requirements
    }

    /// - Parameter isDedicated: the pairing is for bonding alone. Core Vol 3, Part C, 6.5.3.1.
    init(_ settings: PairingSettings, needs level: SecurityMode4Level, isDedicated: Bool = false) {
        let isProtected = settings.asksForMITM || settings.minimumLevel >= .authenticated || level >= .authenticated
        self.init(
            settings.ioCapability, hasOutOfBandData: settings.classicOutOfBandData != nil,
            requirements: (settings.isBonding ? isDedicated ? 2 : 4 : 0) | (isProtected ? 1 : 0))
    }

    var asksForMITM: Bool { requirements & 1 == 1 }
    var isBonding: Bool { requirements >> 1 != 0 }
    var isDedicatedBonding: Bool { requirements >> 1 == 1 }
}

/// Association model of Secure Simple Pairing. Core Vol 2, Part F, 4.2; Vol 3, Part C, 5.2.2.6.
enum SimplePairingAssociation: Sendable, Hashable {
    /// Numeric comparison without a user.
    case automatic
    /// One user accepts or rejects the pairing without comparing a number.
    case consent(PairingRole)
    case numericComparison
    /// One user enters the passkey that the other device displays; nil: both users enter the same.
    case passkeyEntry(shownBy: PairingRole?)
    case outOfBand

    /// True if the model protects against MITM attacks.
    var isAuthenticated: Bool {
        switch self {
        case .automatic, .consent: false
        case .numericComparison, .passkeyEntry, .outOfBand: true
        }
    }

    /// The corresponding LE association model.
    var model: AssociationModel {
        switch self {
        case .automatic, .consent: .justWorks
        case .numericComparison: .numericComparison
        case .passkeyEntry: .passkeyEntry
        case .outOfBand: .outOfBand
        }
    }

    /// Association model of two devices; nil for an invalid capability. Out-of-band data takes precedence over MITM, MITM over IO capabilities.
    static func of(initiator: SimplePairingFeatures, responder: SimplePairingFeatures) -> SimplePairingAssociation? {
        if initiator.hasOutOfBandData || responder.hasOutOfBandData { return .outOfBand }
        guard initiator.asksForMITM || responder.asksForMITM else { return .automatic }
        let (row, column) = (Int(responder.ioCapability.rawValue), Int(initiator.ioCapability.rawValue))
        guard table.indices.contains(row), table[row].indices.contains(column) else { return nil }
        return table[row][column]
    }

    /// Rows are the responder's capability, columns the initiator's: DisplayOnly, DisplayYesNo, KeyboardOnly, NoInputNoOutput. Core Vol 3,
    /// Part C, 5.2.2.6, table 5.7.
    private static let table: [[SimplePairingAssociation]] = [
        [.automatic, .consent(.initiator), .passkeyEntry(shownBy: .responder), .automatic],
        [.consent(.responder), .numericComparison, .passkeyEntry(shownBy: .responder), .consent(.responder)],
        [.passkeyEntry(shownBy: .initiator), .passkeyEntry(shownBy: .initiator), .passkeyEntry(shownBy: nil), .automatic],
        [.automatic, .consent(.initiator), .automatic, .automatic],
    ]
}
