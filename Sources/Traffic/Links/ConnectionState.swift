import BBPackets

/// State of a connection, from the events of its controller.
public struct ConnectionState: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        case le
        /// A BR/EDR ACL connection.
        case classic
        /// SCO or eSCO.
        case synchronous
        /// A connected isochronous stream (CIS).
        case isochronous
    }

    public let handle: ConnectionHandle
    public let kind: Kind
    /// Central or peripheral; nil if the event does not contain it, as on BR/EDR.
    public let role: ConnectionRole?
    /// The peer's address, or its identity address if the controller has resolved it; nil for an isochronous stream.
    public let peer: DeviceAddress?
    /// True if `peer` is an identity address resolved by the controller.
    public let isPeerResolved: Bool
    /// Resolvable private address that this device used on the air.
    public let ownPrivateAddress: BDADDR?
    /// Resolvable private address that the peer used on the air.
    public let peerPrivateAddress: BDADDR?
    /// Current connection parameters; nil except on LE.
    public internal(set) var parameters: ConnectionParameters?
    public internal(set) var phys = LinkPHYs()
    public internal(set) var dataLength = DataLength()
    public internal(set) var isEncrypted = false
    /// True if a key was supplied or encryption was requested. Without either, an encryption change on LE cannot be correct.
    public internal(set) var wasGivenKey = false

    init(
        _ handle: ConnectionHandle, _ kind: Kind, role: ConnectionRole? = nil, peer: DeviceAddress? = nil, isPeerResolved: Bool = false,
        ownPrivateAddress: BDADDR = 0, peerPrivateAddress: BDADDR = 0, parameters: ConnectionParameters? = nil
    ) {
        self.handle = handle
        self.kind = kind
        self.role = role
        self.peer = peer
        self.isPeerResolved = isPeerResolved
        // All zeros: no such address was used. Core Vol 4, Part E, 7.7.65.10.
        self.ownPrivateAddress = ownPrivateAddress == 0 ? nil : ownPrivateAddress
        self.peerPrivateAddress = peerPrivateAddress == 0 ? nil : peerPrivateAddress
        self.parameters = parameters
    }
}

/// Current connection parameters. Core Vol 6, Part B, 4.5.
public struct ConnectionParameters: Sendable, Hashable {
    /// N x 1.25 ms, 0x0006...0x0C80.
    public var interval: UInt16
    /// Connection events, 0...0x01F3.
    public var latency: UInt16
    /// N x 10 ms, 0x000A...0x0C80.
    public var supervisionTimeout: UInt16

    public init(interval: UInt16, latency: UInt16 = 0, supervisionTimeout: UInt16 = 200) {
        self.interval = interval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    public var intervalTime: Microseconds { .connectionIntervals(interval) }
}

/// The PHYs of a link, per direction.
public struct LinkPHYs: Sendable, Hashable {
    public var tx: PHY
    public var rx: PHY

    public init(tx: PHY = .le1M, rx: PHY = .le1M) {
        self.tx = tx
        self.rx = rx
    }
}

/// The data length of a link, per direction. Core Vol 6, Part B, 4.5.10.
public struct DataLength: Sendable, Hashable {
    public var txOctets: UInt16 = 27
    /// Microseconds.
    public var txTime: UInt16 = 328
    public var rxOctets: UInt16 = 27
    /// Microseconds.
    public var rxTime: UInt16 = 328

    public init(txOctets: UInt16 = 27, txTime: UInt16 = 328, rxOctets: UInt16 = 27, rxTime: UInt16 = 328) {
        self.txOctets = txOctets
        self.txTime = txTime
        self.rxOctets = rxOctets
        self.rxTime = rxTime
    }
}
