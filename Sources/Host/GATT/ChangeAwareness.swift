import Packets

/// Awareness of one client of database changes. Core Vol 3, Part G, 2.5.2.1.
struct ChangeAwareness {
    private enum State {
        case aware
        case unaware
        /// Notified by Database Out Of Sync, or by reading the hash; becomes change-aware with its next request.
        case awaitRequest
    }

    private var state = State.aware

    var isAware: Bool { if case .aware = state { true } else { false } }

    mutating func databaseChanged() { state = .unaware }

    /// The client has confirmed the last Service Changed indication.
    mutating func confirmed() { state = .aware }

    /// The client has read the Database Hash.
    mutating func readHash() { if case .unaware = state { state = .awaitRequest } }

    /// Handles a request.
    ///
    /// - Parameter needsHandles: the request uses handles that may be outdated.
    /// - Returns: true if the response must be Database Out Of Sync.
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
    /// True if a request accesses attributes by handles that may be outdated. Discovery requests do not, nor do reads of declarations, or
    /// of any type in the whole handle range. Core Vol 3, Part G, 2.5.2.1.
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

    /// The first attribute handle of a request.
    static func firstHandle(_ request: [UInt8]) -> UInt16 {
        request.count < 3 ? 0 : request.span.bytes.u16(at: 1)
    }
}
