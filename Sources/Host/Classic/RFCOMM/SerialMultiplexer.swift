import BBPackets
import BBTiming

/// Runs an RFCOMM session on one L2CAP channel and passes data to its ports. RFCOMM 1.2, 5.
final class SerialMultiplexer {
    /// Maximum octets queued by a port at once.
    static let mostQueued = 16_384

    private var session: RFCOMMSession
    private let link: ClassicDataChannel
    private unowned let connection: ClassicConnection
    private let loop: RunLoop
    private var ports: [UInt8: SerialPort] = [:]
    private var opening: [UInt8: Promise<SerialPort>] = [:]
    private var timer: Timer?

    init(_ role: RFCOMMSession.Role, on link: ClassicDataChannel, of connection: ClassicConnection) {
        self.link = link
        self.connection = connection
        loop = connection.host.loop
        let services = Set(connection.context.serialServices.keys)
        let mtu = Int(min(link.terms.sendMTU, link.terms.receiveMTU))
        var settings = RFCOMMSettings(services: services, mtu: mtu, creditWindow: connection.context.classicChoices.creditWindow)
        settings.quirks = connection.context.quirks.channels
        session = RFCOMMSession(role, settings)
        link.onReceive = { [unowned self] frame in perform(session.receive(frame, at: loop.now)) }
    }

    /// True if connections can still be opened.
    var isUsable: Bool { session.isUsable && link.failure == nil }
    /// True if the session has started.
    var isRunning: Bool { isUsable && !session.isIdle }

    func open(_ channel: UInt8) async throws -> SerialPort {
        let dlci = session.dlci(toChannel: channel)
        guard ports[dlci] == nil, opening[dlci] == nil else { throw HostError.misuse(.busy(.serialPort(channel))) }
        let promise = Promise<SerialPort>(on: loop)
        opening[dlci] = promise
        perform(session.open(channel: channel, at: loop.now))
        return try await promise.value()
    }

    /// Starts the session, for later connections.
    func start() { perform(session.start(at: loop.now)) }

    /// Updates the offered server channels.
    func serve(_ services: Set<UInt8>) { session.settings.services = services }

    func waitForRoom() async throws { try await link.waitForRoom() }

    /// Returns false if the queue is full or the connection does not exist.
    func send(_ octets: [UInt8], on dlci: UInt8) -> Bool {
        guard let actions = session.send(octets, on: dlci) else { return false }
        perform(actions)
        return true
    }

    func setReceiving(_ isReceiving: Bool, on dlci: UInt8) { perform(session.setReceiving(isReceiving, on: dlci, at: loop.now)) }

    func close(_ dlci: UInt8) { perform(session.close(dlci, at: loop.now)) }

    // MARK: Actions

    private func perform(_ actions: [RFCOMMAction]) {
        for action in actions {
            switch action {
            case .send(let frame): link.transmit(frame)
            case .opened(let dlci): opened(dlci)
            case .received(let dlci, let octets): ports[dlci]?.received(octets)
            case .writable(let dlci): ports[dlci]?.becameWritable()
            case .signals(let dlci, let signals): ports[dlci]?.onSignals?(signals)
            case .closed(let dlci, let end): closed(dlci, HostError.peer(.serialPort(end)))
            case .ended: link.disconnect()
            case .started, .portSettings, .lineStatus, .testAnswered, .notSupported: break
            }
        }
        watch()
    }

    private func opened(_ dlci: UInt8) {
        let port = SerialPort(dlci, on: self, loop: loop)
        ports[dlci] = port
        if let promise = opening.removeValue(forKey: dlci) { return promise.fulfil(port) }
        connection.context.serialServices[port.channel]?.opened(port, connection)
    }

    private func closed(_ dlci: UInt8, _ error: HostError) {
        opening.removeValue(forKey: dlci)?.fail(error)
        ports.removeValue(forKey: dlci)?.ended(error)
    }

    private func watch() {
        timer.map(loop.cancel)
        timer = session.deadline.map {
            loop.schedule(at: $0) { [weak self] in
                guard let self else { return }
                timer = nil
                perform(session.expire(at: loop.now))
            }
        }
    }

    /// The L2CAP channel was closed.
    func ended(_ error: HostError) {
        _ = session.channelClosed()
        watch()
        for dlci in Set(ports.keys).union(opening.keys).sorted() { closed(dlci, error) }
    }
}
