import BBPackets
import Foundation

public enum CBConnectionEvent: Int, Sendable, Hashable {
    case peerDisconnected = 0
    case peerConnected = 1
}

/// A key of `CBCentralManager.registerForConnectionEvents(options:)`.
public struct CBConnectionEventMatchingOption: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Value: [CBUUID].
    public static let serviceUUIDs = CBConnectionEventMatchingOption(rawValue: "kCBConnectionEventMatchingOptionServiceUUIDs")
    /// Value: [UUID].
    public static let peripheralUUIDs = CBConnectionEventMatchingOption(rawValue: "kCBConnectionEventMatchingOptionPeripheralUUIDs")
}

extension CBCentralManager {
    /// A feature that depends on the device.
    public struct Feature: OptionSet, Sendable, Hashable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        /// Scans for, and connects to, devices with extended advertising.
        public static let extendedScanAndConnect = Feature(rawValue: 1 << 0)
        /// Measures distances with Channel Sounding; no device here has it.
        public static let channelSounding = Feature(rawValue: 1 << 10)
    }
}

/// The connections that one manager wants to hear of. With neither list, all.
struct ConnectionEventFilter: Sendable {
    var peers: [UUID]?
    var services: [BluetoothUUID]?

    func admits(_ identifier: UUID, in directory: PeerRecords) -> Bool {
        if peers == nil, services == nil { return true }
        if peers?.contains(identifier) ?? false { return true }
        return services.map { directory.has(Set($0), identifier) } ?? false
    }
}

/// The options of one request for a connection.
struct ConnectionWish: Sendable {
    /// Seconds before the request has an effect.
    var delay: TimeInterval = 0
    var reconnects = false
    var requiresNotifications = false
}
