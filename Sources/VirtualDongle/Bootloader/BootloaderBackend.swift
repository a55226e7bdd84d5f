import BBPackets
import BBTiming
import BBTransport

/// Dongles that need firmware, wrapped around the controllers of another backend. A dongle that is attached again has lost its firmware, as
/// after a power loss.
public final class BootloaderBackend: DongleBackend {
    public var count: Int { inner.count }

    private let inner: any DongleBackend
    private let model: BootModel
    private let loop: RunLoop
    private let hasFirmware: Bool
    private let rom: (any DongleBackend)?

    /// - Parameters:
    ///   - hasFirmware: the firmware is already running.
    ///   - rom: configuration of the chip without firmware, if it works as a controller at all.
    public init(
        _ inner: any DongleBackend, model: BootModel, hasFirmware: Bool = false, rom: (any DongleBackend)? = nil, on loop: RunLoop
    ) {
        self.inner = inner
        self.model = model
        self.hasFirmware = hasFirmware
        self.rom = rom
        self.loop = loop
    }

    public func portWasReset(_ index: Int) { inner.portWasReset(index) }
    public func wasOpened(_ index: Int) { inner.wasOpened(index) }

    public func attach(_ index: Int, to end: any HCITransport) throws {
        let (inner, loop) = (self.inner, self.loop)
        let session = BootSession(model.makeROM(hasFirmware: hasFirmware), end: end, on: loop) { try inner.pipe(to: index, on: loop) }
        if let rom { session.makeROMController = { try rom.pipe(to: index, on: loop) } }
        try end.open(session)
        if hasFirmware { session.run(nil) }
    }
}

/// One dongle between host and controller: the ROM answers until the firmware runs, then the controller does.
final class BootSession: HCITransportSink {
    private var rom: any BootROM
    private let end: any HCITransport
    private let loop: RunLoop
    private let makeController: () throws -> any HCITransport
    /// Creates the controller of a chip without firmware; nil if there is none.
    var makeROMController: (() throws -> any HCITransport)?
    private var controller: Relay?
    private var romController: Relay?
    private var boot: Timer?

    init(_ rom: any BootROM, end: any HCITransport, on loop: RunLoop, makeController: @escaping () throws -> any HCITransport) {
        self.rom = rom
        self.end = end
        self.loop = loop
        self.makeController = makeController
    }

    func received(_ packet: HCIPacket, at time: Microseconds) {
        guard packet.kind == .command else {
            (controller ?? romController)?.pipe.send(packet)
            return
        }
        if packet.commandOpcode == HCICommands.Reset.opcode { endROMController() }
        if let steps = rom.take(packet) {
            perform(steps)
        } else if let controller {
            controller.pipe.send(packet)
        } else if boot == nil, let controller = startROMController() {
            controller.pipe.send(packet)
        } else if boot == nil {
            end.send(RealtekROM.unknown(packet.commandOpcode ?? 0))
        }
    }

    func closed(_ reason: TransportError) { stop() }

    private func perform(_ steps: [BootStep]) {
        for step in steps {
            switch step {
            case .send(let packet): end.send(packet)
            case .run(.zero, let announcement): run(announcement)
            case .run(let delay, let announcement):
                boot = loop.schedule(after: delay) { [weak self] in
                    self?.boot = nil
                    self?.run(announcement)
                }
            case .stop: stop()
            }
        }
    }

    private func startROMController() -> Relay? {
        guard romController == nil, let pipe = try? makeROMController?() else { return romController }
        let relay = Relay(pipe, session: self)
        guard (try? pipe.open(relay)) != nil else { return nil }
        romController = relay
        return relay
    }

    private func endROMController() {
        let relay = romController
        romController = nil
        relay?.pipe.close()
    }

    func run(_ announcement: HCIPacket?) {
        endROMController()
        do {
            let relay = Relay(try makeController(), session: self)
            try relay.pipe.open(relay)
            controller = relay
            if let announcement { end.send(announcement) }
        } catch {
            end.close()
        }
    }

    private func stop() {
        if let boot { loop.cancel(boot) }
        boot = nil
        endROMController()
        controller?.pipe.close()
        controller = nil
    }

    private func lost(_ relay: Relay) {
        guard controller === relay else { return }
        controller = nil
        end.close()
    }

    /// Forwards packets of the controller to the host.
    private final class Relay: HCITransportSink {
        let pipe: any HCITransport
        private weak var session: BootSession?

        init(_ pipe: any HCITransport, session: BootSession) {
            self.pipe = pipe
            self.session = session
        }

        func received(_ packet: HCIPacket, at time: Microseconds) {
            guard let session, session.controller === self || session.romController === self else { return }
            session.end.send(session.rom.amend(packet))
        }

        func closed(_ reason: TransportError) { session?.lost(self) }
    }
}
