import BBPackets
import BBTiming
import BBTraffic

/// One LE connection: state, channels, and the layers on them.
public final class Connection: ACLLink {
    public let role: ConnectionRole
    /// Addresses in the packets that created the connection.
    public private(set) var addresses: OnAirAddresses
    public private(set) var parameters: ConnectionParameters
    public private(set) var phys = LinkPHYs()
    public private(set) var dataLength = DataLength()
    /// Called for events that were not requested locally.
    public let events = Listeners<(ConnectionEvent) -> Void>()

    let bearer: ATTBearer
    let enhanced = EnhancedBearers()
    let securityChannel: SecurityChannel
    let signaling: SignalingChannel
    let channels: CreditBasedChannels
    private let hasOwnPrivateAddress: Bool

    /// Returns nil if this is not an LE connection.
    init?(_ state: ConnectionState, host: Host, slot: Int, ownAddress: DeviceAddress?) {
        guard state.kind == .le, let role = state.role, let address = state.peer, let parameters = state.parameters else { return nil }
        let context = host.context
        self.role = role
        let identity = PeerIdentity(address, isResolved: state.isPeerResolved)
        let peer = state.isPeerResolved ? identity : context.keys.resolve(address) ?? identity
        addresses = OnAirAddresses(
            own: state.ownPrivateAddress.map { DeviceAddress($0, kind: .random) } ?? ownAddress,
            peer: state.peerPrivateAddress.map { DeviceAddress($0, kind: .random) } ?? address)
        hasOwnPrivateAddress = state.ownPrivateAddress != nil
        self.parameters = parameters
        let multiplexer = L2CAPMultiplexer(handle: state.handle, slot: slot, context: context)
        let client = context.server.session(of: peer)
        bearer = ATTBearer(over: multiplexer.channel(CID.att), client: client, context: context)
        signaling = SignalingChannel(on: multiplexer.channel(CID.leSignaling), isCentral: role == .central, loop: context.loop)
        channels = CreditBasedChannels(signaling, multiplexer, loop: context.loop)
        securityChannel = SecurityChannel(on: multiplexer.channel(CID.smp), loop: context.loop)
        super.init(multiplexer, to: peer, host: host)
        client.link = self
        securityChannel.connection = self
        enhanced.connection = self
        bearer.mtuChanges.add { [unowned self] in tell(.mtuChanged($0)) }
        signaling.grants = { [unowned self] in host.parameterPolicy(self, $0) }
        signaling.apply = { [unowned self] in apply($0) }
        connectChannels()
    }

    public var isCentral: Bool { role == .central }
    public var security: LinkSecurity { securityChannel.machine.level }
    /// Encryption key size in octets, 7...16; 0 if not encrypted. Core Vol 3, Part H, 2.3.4.
    public var encryptionKeySize: Int { securityChannel.machine.keySize }
    /// GATT client on the Enhanced ATT bearer with the fewest pending requests at this moment, without one on the fixed channel.
    public var gatt: GATTClient { GATTClient(enhanced.next ?? bearer) }

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

    /// Processes a change of the connection that the controller has reported.
    func changed(_ change: ConnectionChange) {
        switch change {
        case .parametersChanged(_, let parameters):
            self.parameters = parameters
            tell(.parametersUpdated(parameters))
        case .physChanged(_, let phys):
            self.phys = phys
            tell(.phyUpdated(phys))
        case .dataLengthChanged(_, let length):
            dataLength = length
            tell(.dataLengthChanged(length))
        case .encryptionChanged(_, let isOn, let status): encryptionChanged(isOn: isOn, status)
        case .keyRefreshed(_, let status): encryptionChanged(isOn: true, status)
        case .opened, .failed, .closed, .reset, .encryptionRequested: break
        }
    }

    private func encryptionChanged(isOn: Bool, _ status: ErrorCode) {
        if !securityChannel.encryptionChanged(isOn: isOn, status) { context.counters.malformedEvents += 1 }
    }

    override func closeLayers(_ error: HostError) {
        signaling.ended(error)
        channels.ended(error)
        securityChannel.ended(error)
        bearer.ended(error)
        keep(bearer.client.record)
        context.server.ended(bearer.client)
    }

    override func tellEnd(_ reason: ErrorCode) { tell(.disconnected(reason)) }
}
