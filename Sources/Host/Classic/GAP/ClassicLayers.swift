import BBPackets
import BBTiming

/// Protocols and profiles on the channels of one BR/EDR connection.
final class ClassicLayers {
    unowned let connection: ClassicConnection
    /// ATT bearers, all with the same client.
    private(set) var bearers: [ATTBearer] = []
    /// RFCOMM sessions; a second one only if the peer has opened it in addition to this device's.
    private(set) var multiplexers: [SerialMultiplexer] = []
    /// The session that this device is about to open.
    var openingMultiplexer: Promise<SerialMultiplexer>?
    private var client: GATTServerSession?
    private var started: ProfileSession?
    /// Created on first use.
    var profiles: ProfileSession {
        if let started { return started }
        let offer = connection.host.context.profileOffer
        let made = ProfileSession(ClassicProfiles(offer.role, offers: offer.profiles), on: connection)
        started = made
        offer.started(made)
        return made
    }

    init(_ connection: ClassicConnection) { self.connection = connection }

    func addBearer(_ channel: ClassicDataChannel) -> ATTBearer {
        let bearer = ATTBearer(over: channel, client: client ?? makeClient(), context: connection.context)
        bearers.append(bearer)
        channel.onEnd = { [unowned self] error in
            bearers.removeAll { $0 === bearer }
            bearer.ended(error)
        }
        return bearer
    }

    private func makeClient() -> GATTServerSession {
        let (context, peer) = (connection.context, connection.peer)
        let made = context.server.session(of: peer)
        made.link = connection
        client = made
        made.encrypted()
        return made
    }

    func addMultiplexer(_ role: RFCOMMSession.Role, _ channel: ClassicDataChannel) -> SerialMultiplexer {
        let multiplexer = SerialMultiplexer(role, on: channel, of: connection)
        multiplexers.append(multiplexer)
        channel.onEnd = { [unowned self] error in
            multiplexers.removeAll { $0 === multiplexer }
            multiplexer.ended(error)
        }
        return multiplexer
    }

    /// The encryption of the link has changed.
    func settled() { client?.encrypted() }

    /// Accepted settings for a synchronous connection requested by the peer; nil to reject it.
    func synchronousSettings(for type: LinkType) -> SynchronousSettings? { started?.synchronousSettings(for: type) }

    func opened(_ voice: SynchronousConnection) { started?.opened(voice) }

    /// The connection has ended, and all channels with it.
    func ended(_ error: HostError) {
        started?.ended(error)
        guard let client else { return }
        connection.keep(client.record)
        connection.context.server.ended(client)
        self.client = nil
    }
}
