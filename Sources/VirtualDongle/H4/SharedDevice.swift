import BBPackets
import BBTiming
import BBTransport

/// A device offered through a server. It is opened for each client, and reset and closed when the client has left.
public final class SharedDevice: DongleBackend {
    public let count = 1
    /// Called if the device could not be reset after a client, or was lost while a client used it.
    public var onTrouble: ((String) -> Void)?
    /// True while a client uses the device or it is being reset.
    public var isBusy: Bool { session != nil || cleaning != nil }

    private let makePipe: () throws -> any HCITransport
    private let loop: RunLoop
    private var session: SharedSession?
    private var cleaning: DeviceReset?
    private var resetTime = DeviceReset.timeout
    /// Time for the last reset, at the end of the program.
    private static let lastResetTime = Microseconds.milliseconds(800)
    /// A client that connected while the device was being reset.
    private var next: (any HCITransport)?

    /// - Parameter makePipe: opens the device.
    public init(on loop: RunLoop, makePipe: @escaping () throws -> any HCITransport) {
        self.loop = loop
        self.makePipe = makePipe
    }

    /// Resets the device and closes it again.
    ///
    /// - Parameter device: its pipe, not open yet.
    /// - Throws: `TransportError` if the device is missing or does not answer.
    public func check(_ device: any HCITransport) async throws {
        let done = Promise<Void>(on: loop)
        try clean(device) { failure in if let failure { done.fail(failure) } else { done.fulfil(()) } }
        try await done.value()
    }

    /// Waits for the end of a reset under way, one second at most. A client that waits for the device is turned away.
    public func leave() async {
        let end = loop.now + .seconds(1)
        next?.close()
        next = nil
        resetTime = Self.lastResetTime
        cleaning?.wait(for: resetTime)
        while isBusy, loop.now < end {
            do { try await loop.sleep(for: .milliseconds(5)) } catch { return }
        }
    }

    public func attach(_ index: Int, to end: any HCITransport) throws {
        guard session == nil, next == nil else { throw TransportError.busy("the device") }
        guard cleaning == nil else {
            next = end
            return
        }
        try share(with: end)
    }

    private func share(with end: any HCITransport) throws {
        let device = try makePipe()
        let session = SharedSession(client: end, device: device)
        self.session = session
        session.onEnd = { [weak self] loss in self?.ended(device, loss) }
        do { try session.start() } catch {
            self.session = nil
            session.onEnd = nil
            device.close()
            throw error
        }
    }

    private func ended(_ device: any HCITransport, _ loss: TransportError?) {
        session = nil
        if let loss {
            onTrouble?("\(loss)")
            device.close()
            return continueWith()
        }
        do {
            try clean(device) { [weak self] failure in
                if let failure { self?.onTrouble?("\(failure)") }
                self?.continueWith()
            }
        } catch {
            onTrouble?("\(error)")
            device.close()
            continueWith()
        }
    }

    private func clean(_ device: any HCITransport, then: @escaping (TransportError?) -> Void) throws(TransportError) {
        let reset = DeviceReset(device, on: loop)
        cleaning = reset
        do throws(TransportError) {
            try reset.start(within: resetTime) { [weak self] failure in
                self?.cleaning = nil
                then(failure)
            }
        } catch {
            cleaning = nil
            throw error
        }
    }

    private func continueWith() {
        guard let end = next else { return }
        next = nil
        do { try share(with: end) } catch {
            onTrouble?("\(error)")
            end.close()
        }
    }
}

/// Connects a client's pipe with the device's.
final class SharedSession {
    /// Called once: nil if the client left, otherwise the error of the device.
    var onEnd: ((TransportError?) -> Void)?

    private let client: any HCITransport
    private let device: any HCITransport
    private lazy var fromClient = Side { [weak self] in
        self?.device.send($0)
    } closed: { [weak self] _ in
        self?.tell(nil)
    }
    private lazy var fromDevice = Side { [weak self] in
        self?.client.send($0)
    } closed: { [weak self] in
        self?.lost($0)
    }

    private final class Side: HCITransportSink {
        private let pass: (HCIPacket) -> Void
        private let end: (TransportError) -> Void

        init(pass: @escaping (HCIPacket) -> Void, closed: @escaping (TransportError) -> Void) {
            (self.pass, end) = (pass, closed)
        }

        func received(_ packet: HCIPacket, at time: Microseconds) { pass(packet) }
        func closed(_ reason: TransportError) { end(reason) }
    }

    init(client: any HCITransport, device: any HCITransport) {
        self.client = client
        self.device = device
    }

    func start() throws(TransportError) {
        try device.open(fromDevice)
        try client.open(fromClient)
    }

    private func lost(_ reason: TransportError) {
        let onEnd = onEnd
        self.onEnd = nil
        client.close()
        onEnd?(reason)
    }

    private func tell(_ loss: TransportError?) {
        let onEnd = onEnd
        self.onEnd = nil
        onEnd?(loss)
    }
}

/// Sends HCI_Reset to an unused device, which stops all activities that a client left running. Core Vol 4, Part E, 7.3.2.
final class DeviceReset: HCITransportSink {
    static let timeout = Microseconds.seconds(5)

    private let device: any HCITransport
    private let loop: RunLoop
    private var timer: Timer?
    private var then: ((TransportError?) -> Void)?

    init(_ device: any HCITransport, on loop: RunLoop) {
        self.device = device
        self.loop = loop
    }

    func start(within limit: Microseconds, then: @escaping (TransportError?) -> Void) throws(TransportError) {
        self.then = then
        try device.open(self)
        wait(for: limit)
        device.send(HCIPacket(command: HCICommands.Reset()))
    }

    /// Waits for the answer this much longer.
    func wait(for limit: Microseconds) {
        if let timer { loop.cancel(timer) }
        timer = loop.schedule(after: limit) { [weak self] in
            guard let self else { return }
            end(.unprepared("\(device.name) does not answer to HCI_Reset"))
        }
    }

    func received(_ packet: HCIPacket, at time: Microseconds) {
        if packet.completedOpcode == HCICommands.Reset.opcode { end(nil) }
    }

    func closed(_ reason: TransportError) { end(reason) }

    private func end(_ failure: TransportError?) {
        guard let then else { return }
        self.then = nil
        if let timer { loop.cancel(timer) }
        // The pipe is still delivering a packet.
        loop.schedule(after: .zero) { [device] in
            device.close()
            then(failure)
        }
    }
}
