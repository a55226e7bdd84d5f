import BBPackets

/// Association model of a pairing. Core Vol 3, Part H, 2.3.5.
public enum AssociationModel: String, Sendable, Hashable, CaseIterable {
    case justWorks = "Just Works"
    case passkeyEntry = "Passkey Entry"
    case numericComparison = "Numeric Comparison"
    case outOfBand = "Out of Band"

    /// True if the model protects against MITM attacks.
    public var isAuthenticated: Bool { self != .justWorks }
}

/// Role in a pairing: the central is always the initiator.
enum PairingRole: Sendable, Hashable {
    case initiator
    case responder
}

/// An association model, including the device that displays the passkey.
enum Association: Sendable, Hashable {
    case justWorks
    case numericComparison
    /// One user enters the passkey that the other device displays; nil: both users enter the same.
    case passkeyEntry(shownBy: PairingRole?)
    case outOfBand

    var model: AssociationModel {
        switch self {
        case .justWorks: .justWorks
        case .numericComparison: .numericComparison
        case .passkeyEntry: .passkeyEntry
        case .outOfBand: .outOfBand
        }
    }

    /// Association model for the IO capabilities of both devices. Core Vol 3, Part H, 2.3.5.1, table 2.8; nil for an invalid capability.
    static func mapping(initiator: IOCapability, responder: IOCapability, isSecureConnections: Bool) -> Association? {
        let (row, column) = (Int(responder.rawValue), Int(initiator.rawValue))
        guard table.indices.contains(row), table[row].indices.contains(column) else { return nil }
        let cell = table[row][column]
        return isSecureConnections ? cell.secureConnections : cell.legacy
    }

    private struct Cell: Sendable {
        var legacy: Association
        var secureConnections: Association

        init(_ legacy: Association, _ secureConnections: Association? = nil) {
            self.legacy = legacy
            self.secureConnections = secureConnections ?? legacy
        }
    }

    /// Rows are the responder's capability, columns the initiator's: DisplayOnly, DisplayYesNo, KeyboardOnly, NoInputNoOutput,
    /// KeyboardDisplay.
    private static let table: [[Cell]] = {
        let works = Cell(.justWorks)
        let initiatorShows = Cell(.passkeyEntry(shownBy: .initiator))
        let responderShows = Cell(.passkeyEntry(shownBy: .responder))
        let bothEnter = Cell(.passkeyEntry(shownBy: nil))
        let worksOrCompare = Cell(.justWorks, .numericComparison)
        let initiatorOrCompare = Cell(.passkeyEntry(shownBy: .initiator), .numericComparison)
        let responderOrCompare = Cell(.passkeyEntry(shownBy: .responder), .numericComparison)
        return [
            [works, works, responderShows, works, responderShows],
            [works, worksOrCompare, responderShows, works, responderOrCompare],
            [initiatorShows, initiatorShows, bothEnter, works, initiatorShows],
            [works, works, works, works, works],
            [initiatorShows, initiatorOrCompare, responderShows, works, initiatorOrCompare],
        ]
    }()
}
