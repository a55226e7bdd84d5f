import Packets

/// What one client of the server knows of the database's changes. Core Vol 3, Part G, 2.5.2.1.
struct ChangeAwareness {
    private enum State {
        case aware
        case unaware
        /// Told by Database Out Of Sync, or by the hash that it read: its next request shows that it knows.
        case awaitRequest
    }

    private var state = State.aware

    var isAware: Bool { if case .aware = state { true } else { false } }

    mutating func databaseChanged() { state = .unaware }

    /// The client has confirmed the last Service Changed indication.
    mutating func confirmed() { state = .aware }

    /// The client has read the Database Hash.
    mutating func readHash() { if case .unaware = state { state = .awaitRequest } }

    /// A request has come.
    ///
    /// - Parameter needsHandles: it means attributes by handles that the client may have from before the change.
    /// - Returns: whether the answer is Database Out Of Sync.
    mutating func received(needsHandles: Bool, isRobust: Bool) -> Bool {
        switch state {
        case .aware: return false
        case .awaitRequest:
            state = .aware
            return false
        case .unaware:
            guard isRobust, needsHandles else { return false }
            state = .awaitRequest
            return true
        }
    }
}

/// Client Supported Features. Core Vol 3, Part G, 7.2.
struct ClientFeatures: OptionSet, Sendable, Hashable {
    let rawValue: UInt8
    static let robustCaching = ClientFeatures(rawValue: 1 << 0)
    static let enhancedBearer = ClientFeatures(rawValue: 1 << 1)
    static let multipleNotifications = ClientFeatures(rawValue: 1 << 2)
}

extension ATTServer {
    /// Whether a request means attributes by handles that a client may have from before a change of the database: not one that searches, and
    /// not one that reads declarations, or any type in the whole database. Core Vol 3, Part G, 2.5.2.1.
    static func needsHandles(_ opcode: UInt8, _ request: [UInt8]) -> Bool {
        switch opcode {
        case ATT.ReadReq.opcode, ATT.ReadBlobReq.opcode, ATT.ReadMultipleReq.opcode, ATT.ReadMultipleVariableReq.opcode,
            ATT.WriteReq.opcode,
            ATT.PrepareWriteReq.opcode:
            return true
        case ATT.ReadByTypeReq.opcode:
            guard let read = try? ATT.ReadByTypeReq(bytes: request) else { return false }
            let isWhole = read.startingHandle == 1 && read.endingHandle == .max
            return !isWhole && ![.include, .characteristic].contains(read.attributeType)
        default: return false
        }
    }

    /// The first handle of a request that means attributes by handles.
    static func firstHandle(_ request: [UInt8]) -> UInt16 {
        request.count < 3 ? 0 : request.span.bytes.u16(at: 1)
    }
}
