import HCI
import Packets
import Timing

/// One LE connection: state, channels, and the layers on them.
public final class Connection {
    public let handle: ConnectionHandle
    public let role: ConnectionRole
    public let peer: PeerIdentity
    /// Addresses in the packets that created the connection.
    public private(set) var addresses: OnAirAddresses
    public internal(set) var parameters: ConnectionParameters
    public internal(set) var phys = LinkPHYs()
    public internal(set) var dataLength = DataLength()
    /// Reason for the disconnection; nil while connected.
    public private(set) var disconnectReason: ErrorCode?
    /// Called for events that were not requested locally.
    public let events = Listeners<(ConnectionEvent) -> Void>()

    public let host: Host
    let context: HostContext
    let bearer: ATTBearer
    let securityChannel: SecurityChannel
    let signaling: SignalingChannel
    let channels: CreditBasedChannels
    private let multiplexer: L2CAPMultiplexer
    private let hasOwnPrivateAddress: Bool
    private let end: Promise<ErrorCode>
    var loop: RunLoop { context.loop }

    /// Returns nil if this is not an LE connection.
    init?(_ state: ConnectionState, host: Host, context: HostContext, slot: Int, ownAddress: DeviceAddress?) {
        guard state.kind == .le, let role = state.role, let address = state.peer, let parameters = state.parameters else { return nil }
        self.host = host
        self.context = context
        handle = state.handle
        self.role = role
        let identity = PeerIdentity(address, isResolved: state.isPeerResolved)
        peer = state.isPeerResolved ? identity : context.keys.resolve(address) ?? identity
        addresses = OnAirAddresses(
            own: state.ownPrivateAddress.map { DeviceAddress($0, kind: .random) } ?? ownAddress,
            peer: state.peerPrivateAddress.map { DeviceAddress($0, kind: .random) } ?? address)
        hasOwnPrivateAddress = state.ownPrivateAddress != nil
        self.parameters = parameters
        end = Promise(on: context.loop)
        multiplexer = L2CAPMultiplexer(handle: state.handle, slot: slot, context: context)
        let client = context.server.session(of: peer)
        bearer = ATTBearer(on: multiplexer.channel(L2CAP.attCID), client: client, context: context)
        signaling = SignalingChannel(on: multiplexer.channel(L2CAP.signalingCID), isCentral: role == .central, loop: context.loop)
        channels = CreditBasedChannels(signaling, multiplexer, loop: context.loop)
        securityChannel = SecurityChannel(on: multiplexer.channel(L2CAP.smpCID), loop: context.loop)
        client.link = self
        securityChannel.connection = self
        bearer.mtuChanges.add { [unowned self] in tell(.mtuChanged($0)) }
        signaling.grants = { [unowned self] in host.parameterPolicy(self, $0) }
        signaling.apply = { [unowned self] in apply($0) }
        connectChannels()
    }

    public var isConnected: Bool { disconnectReason == nil }
    public var isCentral: Bool { role == .central }
    public var security: LinkSecurity { securityChannel.machine.level }
    /// Encryption key size in octets, 7...16; 0 if not encrypted. Core Vol 3, Part H, 2.3.4.
    public var encryptionKeySize: Int { securityChannel.machine.keySize }
    /// GATT client on the connection.
    public var gatt: GATTClient { GATTClient(bearer) }

    /// Waits until the connection has ended.
    public func ended(within limit: Microseconds? = nil) async throws -> ErrorCode {
        do {
            return try await end.value(until: limit.map { loop.now + $0 })
        } catch is TimeOut {
            throw HostError.environment(.timedOut(.disconnection))
        }
    }

    // MARK: Channels

    /// An L2CAP channel, with or without a layer of the host on it.
    public func channel(_ cid: UInt16) -> L2CAPChannel { multiplexer.channel(cid) }
    /// Called with the PDUs of all channels, for evidence.
    public var pduObservers: Listeners<PDUObserver> { multiplexer.observers }

    /// Sends any octets as one ACL fragment with any boundary flag.
    public func sendFragment(boundary: ACLHeader.Boundary, _ octets: [UInt8]) { multiplexer.sendFragment(boundary: boundary, octets) }
    /// Number of ACL fragments queued for all channels.
    public var queuedFragments: Int { multiplexer.queuedFragments }
    /// Number of ACL fragments in the controller.
    public var fragmentsInController: Int { multiplexer.fragmentsInController }
    /// Waits until the peer has acknowledged all data, since a disconnection overtakes it. Also returns after `limit`, or if the connection
    /// has ended.
    public func drained(within limit: Microseconds = .seconds(2)) async throws { try await multiplexer.drained(within: limit) }

    func received(boundary: ACLHeader.Boundary, _ fragment: RawSpan) { multiplexer.received(boundary: boundary, fragment) }
    func becameWritable(lane: Int) { multiplexer.becameWritable(lane: lane) }

    /// Sets the own address from the advertising set to which the peer connected. A private address reported by the controller takes
    /// precedence.
    func advertised(as address: DeviceAddress) {
        if !hasOwnPrivateAddress { addresses.own = address }
    }

    // MARK: Events

    func tell(_ event: ConnectionEvent) {
        if event == .encryptionChanged(true) { bearer.client.encrypted() }
        events.tell { $0(event) }
    }

    func ended(_ error: HostError, reason: ErrorCode) {
        guard disconnectReason == nil else { return }
        disconnectReason = reason
        multiplexer.close(error)
        signaling.ended(error)
        channels.ended(error)
        securityChannel.ended(error)
        bearer.ended(error)
        keep(bearer.client.record)
        context.server.ended(bearer.client)
        end.fulfil(reason)
        tell(.disconnected(reason))
    }
}

/// Fixed channels of LE links. Core Vol 3, Part A, 2.1.
public enum L2CAP {
    public static let attCID: UInt16 = 0x0004
    public static let signalingCID: UInt16 = 0x0005
    public static let smpCID: UInt16 = 0x0006
}
