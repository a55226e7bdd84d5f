import BBPackets
import BBTiming
import BBTransport

/// Exports dongles to USB/IP clients such as Linux's `usbip attach`.
///
/// A dongle is attached to one client at a time. When a client leaves or violates the protocol, the next client gets a controller with
/// cleared state.
public final class USBIPServer: USBIPBus {
    /// Maximum number of concurrent sessions. For a further one, the oldest without a dongle is closed.
    public static let mostClients = 64
    /// The time for a client to attach a dongle, after which its session ends. A client with a dongle may be silent.
    public static let timeToAttach = Microseconds.seconds(10)

    public private(set) var devices: [(busID: String, descriptors: DongleDescriptors)]
    /// Faults of the dongles, by bus id.
    private var conducts: [String: USBConduct] = [:]
    /// Bus ids of dongles that have left the bus for good.
    private var gone: Set<String> = []
    /// Called when the port of a dongle is reset.
    public var onPortReset: ((_ index: Int) -> Void)?
    /// Listening address.
    public let address: SocketAddress
    /// Called with a one-line message for the user.
    public var report: ((String) -> Void)?

    private let loop: RunLoop
    private let listener: SocketListener
    private let makePipe: (_ index: Int) throws -> any HCITransport
    private var held: [String: USBDongle] = [:]
    /// Oldest first.
    private var clients: [Client] = []

    /// - Parameters:
    ///   - serialNumbers: one dongle each; bus ids are 1-1, 1-2 and so on.
    ///   - conduct: behaviour of each dongle's USB side.
    ///   - describe: returns the descriptors of a dongle with a serial number.
    ///   - makePipe: returns the host's end of a new controller's pipe for the dongle with an index.
    public init(
        _ address: SocketAddress, serialNumbers: [String], on loop: RunLoop, conduct: USBConduct = USBConduct(),
        describe: (String) -> DongleDescriptors = { DongleDescriptors(serialNumber: $0) },
        makePipe: @escaping (_ index: Int) throws -> any HCITransport
    ) throws(TransportError) {
        devices = serialNumbers.enumerated().map { ("1-\($0.offset + 1)", describe($0.element)) }
        conducts = Dictionary(uniqueKeysWithValues: devices.map { ($0.busID, conduct) })
        self.loop = loop
        self.makePipe = makePipe
        listener = try SocketListener(address, on: loop)
        self.address = listener.address
    }

    public func start() {
        listener.onImpediment = { [weak self] in self?.report?($0) }
        listener.start { [weak self] in self?.serve($0) }
    }

    public func stop() {
        listener.stop()
        for client in clients { client.close() }
        clients = []
    }

    private func serve(_ stream: ByteStream) {
        if clients.count >= Self.mostClients {
            guard let oldest = clients.first(where: { $0.session.attachedBusID == nil }) else { return stream.close() }
            drop(oldest, because: "others wait")
        }
        let client = Client(stream: stream, session: USBIPSession(bus: self))
        clients.append(client)
        client.left = { [weak self, unowned client] in self?.drop(client, because: $0) }
        loop.schedule(after: Self.timeToAttach) { [weak self, weak client] in
            guard let client, client.session.attachedBusID == nil else { return }
            self?.drop(client, because: "it attached nothing")
        }
        do { try stream.open(client) } catch { drop(client, because: "\(error)") }
    }

    private func drop(_ client: Client, because reason: String) {
        guard let index = clients.firstIndex(where: { $0 === client }) else { return }
        clients.remove(at: index)
        if let busID = client.session.attachedBusID { report?("dongle \(busID) was given back: \(reason)") }
        client.close()
    }

    /// A session and its connection.
    private final class Client: ByteStream.Sink {
        let stream: ByteStream
        let session: USBIPSession
        var left: ((String) -> Void)?

        init(stream: ByteStream, session: USBIPSession) {
            self.stream = stream
            self.session = session
            session.write = { stream.send($0) }
        }

        deinit { stream.close() }

        func received(_ octets: UnsafeRawBufferPointer) {
            if let violation = session.receive(Array(octets)) { left?(violation) }
        }

        func ended(_ reason: TransportError) { left?("\(reason)") }

        func close() {
            session.end()
            stream.close()
        }
    }

    // MARK: Bus

    public func attach(_ busID: String) -> USBDongle? {
        guard held[busID] == nil, !gone.contains(busID), let index = devices.firstIndex(where: { $0.busID == busID }) else { return nil }
        do {
            let dongle = try USBDongle(
                descriptors: devices[index].descriptors, pipe: try makePipe(index), loop: loop, conduct: conducts[busID] ?? USBConduct())
            dongle.onPortReset = { [weak self] in self?.onPortReset?(index) }
            dongle.onLeaving = { [weak self] in self?.left(busID, comesBackAs: $0) }
            held[busID] = dongle
            report?("dongle \(busID) attached")
            return dongle
        } catch {
            report?("dongle \(busID) cannot be attached: \(error)")
            return nil
        }
    }

    /// A dongle leaves the bus: its client loses it and may attach the device that returns.
    private func left(_ busID: String, comesBackAs next: DongleDescriptors?) {
        if let next, let index = devices.firstIndex(where: { $0.busID == busID }) {
            devices[index].descriptors = next
            conducts[busID]?.leaving = nil
        } else {
            gone.insert(busID)
        }
        for client in clients.filter({ $0.session.attachedBusID == busID }) { drop(client, because: "it left the bus") }
    }

    public func detach(_ busID: String) {
        held.removeValue(forKey: busID)?.unplug()
    }
}
