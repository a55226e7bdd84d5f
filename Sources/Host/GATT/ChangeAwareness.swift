import BBPackets

/// Awareness of one client of database changes. Core Vol 3, Part G, 2.5.2.1.
struct ChangeAwareness {
    private enum State {
        case aware
        case unaware
        /// The hash has been read; the next request makes the client change-aware.
        case awaitRequest
    }

    private var state = State.aware
    /// The bearers that have had their Database Out Of Sync since the last change.
    private var informed: Set<Int> = []

    var isAware: Bool { if case .aware = state { true } else { false } }

    mutating func databaseChanged() {
        state = .unaware
        informed.removeAll()
    }

    /// The client has confirmed the last Service Changed indication, which makes it change-aware if it uses one bearer only.
    mutating func confirmed(isOnly: Bool = true) { if isOnly { state = .aware } }

    /// The client has read the Database Hash.
    mutating func readHash() { if case .unaware = state { state = .awaitRequest } }

    /// Handles a request.
    ///
    /// - Parameters:
    ///   - bearer: number of the bearer; each one has the error once.
    ///   - isOnly: the client uses no other bearer: the request after the error makes it change-aware.
    ///   - needsHandles: the request uses handles that may be outdated.
    /// - Returns: true if the response must be Database Out Of Sync.
    mutating func received(on bearer: Int = 0, isOnly: Bool = true, needsHandles: Bool, isRobust: Bool) -> Bool {
        switch state {
        case .aware: return false
        case .awaitRequest:
            state = .aware
            return false
        case .unaware:
            if informed.contains(bearer) {
                if isOnly { state = .aware }
                return false
            }
            guard isRobust, needsHandles else { return false }
            informed.insert(bearer)
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
    static let defined: ClientFeatures = [.robustCaching, .enhancedBearer, .multipleNotifications]
}

/// Server Supported Features. Core Vol 3, Part G, 7.4.
struct ServerFeatures: OptionSet, Sendable, Hashable {
    let rawValue: UInt8
    static let enhancedBearer = ServerFeatures(rawValue: 1 << 0)
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
