import BBPackets

/// A request of one host that starts a link layer procedure, or sends data.
public enum LinkRequest: String, CaseIterable, Sendable, Codable {
    case version
    case features
    /// LL_CONNECTION_PARAM_REQ.
    case parameters
    /// LL_CONNECTION_UPDATE_IND without a request before it; central only.
    case update
    /// Central only.
    case channelMap = "channel-map"
    case phy
    case dataLength = "data-length"
    /// Starts encryption, or refreshes the session key of an encrypted link; central only.
    case encryption
    case data
    case termination

    /// Requests that both devices can make.
    public static let ofBoth = allCases.filter { ![.update, .channelMap, .encryption].contains($0) }

    /// Requests that a device in this role can make.
    public static func all(of role: LinkRole) -> [LinkRequest] { role == .central ? allCases : ofBoth }

    /// True for a procedure that involves an instant: two of them are incompatible. Core Vol 6, Part B, 5.3.
    public var hasInstant: Bool { [.parameters, .update, .channelMap, .phy].contains(self) }

    /// The error code with which the central rejects this procedure of its peripheral beside one of its own; nil if both are compatible.
    /// Core Vol 6, Part B, 5.3.
    public func rejection(beside own: LinkRequest) -> ErrorCode? {
        guard hasInstant, own.hasInstant else { return nil }
        let isSame = self == own || self == .parameters && own == .update
        return isSame ? .lmpErrorTransactionCollision : .differentTransactionCollision
    }

    /// The command that makes the request; nil for data.
    var command: PDUID? {
        switch self {
        case .version: HCICommands.ReadRemoteVersionInformation.id
        case .features: HCICommands.LEReadRemoteFeatures.id
        case .parameters, .update: HCICommands.LEConnectionUpdate.id
        case .channelMap: HCICommands.LESetHostChannelClassification.id
        case .phy: HCICommands.LESetPHY.id
        case .dataLength: HCICommands.LESetDataLength.id
        case .encryption: HCICommands.LEEnableEncryption.id
        case .termination: HCICommands.Disconnect.id
        case .data: nil
        }
    }

    /// The event that stands for all which complete the request; nil if there is none.
    var completion: PDUID? { command?.completedBy.first }

    /// The events that complete requests, each with the one that stands for them.
    static let completions: [PDUID: PDUID] = Dictionary(
        allCases.flatMap { request in (request.command?.completedBy ?? []).compactMap { event in request.completion.map { (event, $0) } } },
        uniquingKeysWith: { first, _ in first })
}

/// Role of a device on the link.
public enum LinkRole: String, CaseIterable, Sendable, Codable {
    case central
    case peripheral

    public var other: LinkRole { self == .central ? .peripheral : .central }
}

/// A request, its device and its time.
public struct PlannedRequest: Hashable, Sendable, Codable, CustomStringConvertible {
    public var role: LinkRole
    public var request: LinkRequest
    /// Connection intervals after the first request of the path; the host's command arrives 1 ms before an anchor point.
    public var event: Int

    public init(_ role: LinkRole, _ request: LinkRequest, event: Int = 0) {
        self.role = role
        self.request = request
        self.event = event
    }

    public var description: String { "\(role.rawValue) \(request.rawValue)\(event == 0 ? "" : " +\(event)")" }
}

/// One course of events on a link: the requests of both hosts and the packet that is lost.
public struct ExploredPath: Hashable, Sendable, Codable, CustomStringConvertible {
    /// Planned requests, in the order of the connection events in which they are made.
    public var requests: [PlannedRequest]
    /// Number of the lost packet, counted from the first request; nil if none is lost.
    public var lostPacket: Int?

    public init(_ requests: [PlannedRequest], lostPacket: Int? = nil) {
        self.requests = requests
        self.lostPacket = lostPacket
    }

    /// The requests of one device.
    func requests(of role: LinkRole) -> [LinkRequest] { requests.filter { $0.role == role }.map(\.request) }

    /// True if one of the requests ends the link.
    var terminates: Bool { requests.contains { $0.request == .termination } }

    public var description: String {
        requests.map(\.description).joined(separator: ", ") + (lostPacket.map { ", packet \($0) lost" } ?? "")
    }
}
