import BBPackets

/// A PDU that awaits an answer, or a command that awaits the event that completes it.
public struct LinkRequest: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// A command that awaits Command Complete or Command Status.
        case command
        /// A command that another event completes.
        case procedure
        /// An ATT request or an indication.
        case attribute
        /// A link layer control PDU.
        case control
        /// The last PDU of an incomplete pairing.
        case pairing
    }

    public let kind: Kind
    public let layer: Layer
    /// Opcode or code.
    public let code: Int
    public let sent: Moment

    /// Name of the PDU.
    public var name: String { PDUCatalog.declaration(layer: layer, code: code)?.name ?? "PDU \(code)" }
}

/// The requests of a link that await answers. Each side has one of ATT and one of link layer control at a time.
struct OpenRequests {
    var attribute: [PacketSender: LinkRequest] = [:]
    var control: [PacketSender: LinkRequest] = [:]
    var procedures: [UInt16: LinkRequest] = [:]
    var pairing: LinkRequest?

    /// Transaction timeouts. Core Vol 3, Part F, 3.3.3; Vol 6, Part B, 5.2; Vol 3, Part H, 3.4.
    private static let attributeTimeout: Int64 = 30_000_000
    private static let procedureTimeout: Int64 = 40_000_000
    private static let pairingTimeout: Int64 = 30_000_000

    /// Forgets what awaits a response of the peer.
    mutating func forget() {
        (attribute, control) = ([:], [:])
        pairing = nil
    }

    /// Removes the requests that have waited too long; all of them at the end of a link.
    mutating func takeOverdue(at time: Int64, isEnd: Bool) -> [LinkRequest] {
        if attribute.isEmpty, control.isEmpty, procedures.isEmpty, pairing == nil { return [] }
        var overdue: [LinkRequest] = []
        func isDue(_ request: LinkRequest, _ limit: Int64) -> Bool { isEnd || time - request.sent.time > limit }
        for (sender, request) in attribute where isDue(request, Self.attributeTimeout) {
            attribute[sender] = nil
            overdue.append(request)
        }
        for (sender, request) in control where isDue(request, Self.procedureTimeout) {
            control[sender] = nil
            overdue.append(request)
        }
        for (opcode, request) in procedures where isDue(request, Self.procedureTimeout) {
            procedures[opcode] = nil
            overdue.append(request)
        }
        if let request = pairing, isDue(request, Self.pairingTimeout) {
            pairing = nil
            overdue.append(request)
        }
        return overdue
    }
}
