import Packets
import Timing

/// What this host has on the channels of one BR/EDR connection.
final class ClassicLayers {
    unowned let connection: ClassicConnection
    /// Bearers of the attribute protocol, of one client.
    private(set) var bearers: [ATTBearer] = []
    /// RFCOMM; a second one only where the peer has begun it beside that of this side.
    private(set) var multiplexers: [SerialMultiplexer] = []
    /// The session that this side is about to begin.
    var openingMultiplexer: Promise<SerialMultiplexer>?
    private var client: GATTServerSession?
    private var started: ProfileSession?
    /// They begin when somebody wants them.
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

    /// The encryption of the link is known again.
    func settled() { client?.encrypted() }

    /// What is accepted of a synchronous connection that the peer asks for; nil if none is.
    func synchronousSettings(for type: LinkType) -> SynchronousSettings? { started?.synchronousSettings(for: type) }

    func opened(_ voice: SynchronousConnection) { started?.opened(voice) }

    /// The connection is gone, and all channels with it.
    func ended(_ error: HostError) {
        started?.ended(error)
        guard let client else { return }
        connection.keep(client.record)
        connection.context.server.ended(client)
        self.client = nil
    }
}
