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
        /// A request of L2CAP signalling, service discovery or AVDTP.
        case signal
    }

    public let kind: Kind
    public let layer: Layer
    /// Opcode or code.
    public let code: Int
    public let sent: Moment
    /// The end that sent it, if it is a PDU on a link and its sender is known.
    public var sender: PacketSender?

    /// Name of the PDU.
    public var name: String { PDUCatalog.declaration(layer: layer, code: code)?.name ?? "PDU \(code)" }
}

/// The requests of a link that await answers. Each side has one request and one indication of ATT, and one of link layer control, at a time.
struct OpenRequests {
    /// A client's requests and a server's indications await their answers independently. Core Vol 3, Part F, 3.3.2.
    struct Slot: Hashable {
        var sender: PacketSender
        var isIndication: Bool
    }

    /// A request whose answer has its identifier.
    struct Signal: Hashable {
        var layer: Layer
        var sender: PacketSender
        var identifier: UInt16
    }

    var attribute: [Slot: LinkRequest] = [:]
    /// The last requests of each slot that were answered.
    var answered: [Slot: [LinkRequest]] = [:]
    /// Requests that were sent before the one in `attribute` was answered.
    var early: [Slot: [LinkRequest]] = [:]
    var signals: [Signal: LinkRequest] = [:]
    var control: [PacketSender: LinkRequest] = [:]
    var procedures: [UInt16: LinkRequest] = [:]
    var pairing: LinkRequest?

    /// Transaction timeouts. Core Vol 3, Part F, 3.3.3; Vol 6, Part B, 5.2; Vol 3, Part H, 3.4.
    private static let attributeTimeout: Int64 = 30_000_000
    private static let procedureTimeout: Int64 = 40_000_000
    private static let pairingTimeout: Int64 = 30_000_000
    /// The longest response timeout of L2CAP, which the protocols above exceed rarely. Core Vol 3, Part A, 6.2.1.
    private static let signalTimeout: Int64 = 60_000_000
    private static let most = 64
    /// A second answer comes soon.
    private static let remembered = 4

    /// Opens a request of ATT. Returns the one that is open already.
    mutating func open(_ request: LinkRequest, _ slot: Slot) -> LinkRequest? {
        guard let open = attribute[slot] else {
            attribute[slot] = request
            return nil
        }
        if early[slot, default: []].count < Self.most { early[slot, default: []].append(request) }
        return open
    }

    /// Ends the oldest request of a slot.
    mutating func answer(_ slot: Slot) {
        if let request = attribute[slot] { answered[slot] = answered[slot, default: []].suffix(Self.remembered - 1) + [request] }
        attribute[slot] = nil
        guard var queue = early[slot], !queue.isEmpty else { return }
        attribute[slot] = queue.removeFirst()
        early[slot] = queue.isEmpty ? nil : queue
    }

    mutating func open(_ request: LinkRequest, _ signal: Signal) {
        if signals.count >= Self.most { signals.removeAll() }
        signals[signal] = request
    }

    /// Forgets what awaits a response of the peer.
    mutating func forget() {
        (attribute, answered, early, signals, control) = ([:], [:], [:], [:], [:])
        pairing = nil
    }

    /// Removes the requests that have waited too long; all of them at the end of a link.
    mutating func takeOverdue(at time: Int64, isEnd: Bool) -> [LinkRequest] {
        if attribute.isEmpty, signals.isEmpty, control.isEmpty, procedures.isEmpty, pairing == nil { return [] }
        var overdue: [LinkRequest] = []
        func isDue(_ request: LinkRequest, _ limit: Int64) -> Bool { isEnd || time - request.sent.time > limit }
        for (sender, request) in attribute where isDue(request, Self.attributeTimeout) {
            attribute[sender] = nil
            overdue.append(request)
        }
        for (signal, request) in signals where isDue(request, Self.signalTimeout) {
            signals[signal] = nil
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
