import BBPackets
import BBTraffic

/// Requested connection parameters. Core Vol 3, Part C, 9.3.9.
public struct ConnectionParameterRequest: Sendable, Hashable {
    /// N x 1.25 ms, 0x0006...0x0C80.
    public var intervalMin: UInt16
    public var intervalMax: UInt16
    /// Connection events, 0...0x01F3.
    public var latency: UInt16
    /// N x 10 ms, 0x000A...0x0C80; more than (1 + latency) x interval x 2.
    public var supervisionTimeout: UInt16
    /// N x 0.625 ms.
    public var minCELength: UInt16
    public var maxCELength: UInt16

    public init(
        intervalMin: UInt16, intervalMax: UInt16, latency: UInt16 = 0, supervisionTimeout: UInt16 = 200, minCELength: UInt16 = 0,
        maxCELength: UInt16 = 0
    ) {
        self.intervalMin = intervalMin
        self.intervalMax = intervalMax
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
        self.minCELength = minCELength
        self.maxCELength = maxCELength
    }

    /// A single interval, in units of 1.25 ms.
    public init(interval: UInt16, latency: UInt16 = 0, supervisionTimeout: UInt16 = 200) {
        self.init(intervalMin: interval, intervalMax: interval, latency: latency, supervisionTimeout: supervisionTimeout)
    }

    /// True if the ranges and the relation between interval, latency and timeout are valid.
    public var isLegal: Bool {
        typealias Command = HCICommands.LEConnectionUpdate
        guard Command.connectionIntervalMinRange.contains(intervalMin), Command.connectionIntervalMaxRange.contains(intervalMax),
            intervalMin <= intervalMax, Command.maxLatencyRange.contains(latency),
            Command.supervisionTimeoutRange.contains(supervisionTimeout)
        else { return false }
        return Int(supervisionTimeout) * 10_000 > (1 + Int(latency)) * Int(intervalMax) * 1250 * 2
    }
}

/// Preferred coding of a transmitter on LE Coded. Core Vol 4, Part E, 7.8.49.
public enum CodingPreference: UInt16, Sendable, Hashable {
    case none = 0
    case s2 = 1
    case s8 = 2
}

/// An event on a connection that was not requested locally.
public enum ConnectionEvent: Sendable, Equatable {
    case parametersUpdated(ConnectionParameters)
    case phyUpdated(LinkPHYs)
    case dataLengthChanged(DataLength)
    case mtuChanged(Int)
    case encryptionChanged(Bool)
    /// A pairing requested by either device is complete.
    case paired(PairingResult)
    case pairingFailed(HostError)
    /// The peer no longer has the key of the bond. Core Vol 3, Part C, 10.3.2.
    case bondLost
    case disconnected(ErrorCode)
}
