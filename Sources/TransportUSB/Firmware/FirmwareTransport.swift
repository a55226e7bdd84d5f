import BBPackets
import BBTiming
import BBTransport

/// A pipe that checks if its chip needs firmware, and loads it before the host's first packet is sent.
public final class FirmwareTransport: HCITransport, HCITransportSink {
    public var name: String { inner.name }
    public let inner: any HCITransport
    /// The wrapped USB dongle, if it is one.
    public var dongle: USBTransport? { inner as? USBTransport }
    public var product: String? { inner.product }
    /// Start-up steps and firmware of the device.
    public var startOfPipe: PipeStart? {
        let start = inner.startOfPipe
        guard let outcome, outcome != .notNeeded else { return start }
        let steps = [start?.step, "\(outcome)"].compactMap { $0 }
        return PipeStart(step: steps.joined(separator: "; "), discarded: start?.discarded ?? 0, mode: start?.mode)
    }
    /// Result of the firmware check; nil before it and after a failure.
    public private(set) var outcome: FirmwareOutcome?
    public private(set) var failure: FirmwareError?
    /// Called once when the chip has its firmware.
    public var onReady: (() -> Void)?

    private let folders: FirmwareFolders
    private let loads: Bool
    private let loop: RunLoop
    private let ready: Promise<FirmwareOutcome>
    private var loader: FirmwareLoader
    private var timer: Timer?
    private var isOpen = false
    /// Reason why the pipe ended.
    private var end: TransportError?
    private var sink: (any HCITransportSink)?
    private var waiting: [HCIPacket] = []
    /// An answer held back until its sender is known to be a boot loader or not.
    private var refusal: (packet: HCIPacket, time: Microseconds)?
    private var hasExplained = false
    private static let mostWaiting = 256

    /// - Parameters:
    ///   - folders: search path of firmware files.
    ///   - onlyAsks: report the need for firmware without loading it.
    public init(_ inner: any HCITransport, folders: FirmwareFolders, onlyAsks: Bool = false, on loop: RunLoop) {
        self.inner = inner
        self.folders = folders
        self.loop = loop
        ready = Promise(on: loop)
        loads = !onlyAsks
        loader = FirmwareLoader(loads: loads)
    }

    /// Opens the pipe and waits until the chip has its firmware.
    ///
    /// - Throws: `TransportError.unprepared` with the cause, or the reason why the pipe ended.
    @discardableResult
    public func prepare() async throws -> FirmwareOutcome {
        try begin()
        return try await ready.value()
    }

    public func open(_ sink: any HCITransportSink) throws(TransportError) {
        if let end { throw end }
        self.sink = sink
        try begin()
    }

    public func send(_ packet: HCIPacket) {
        guard end == nil else { return }
        guard outcome == nil else { return inner.send(packet) }
        if waiting.count < Self.mostWaiting { waiting.append(packet) } else { finish(with: .overrun(dropped: waiting.count)) }
    }

    public func takeReordering() -> ReorderingStatistics { inner.takeReordering() }
    public var learned: LearnedConductList { inner.learned }

    public func close() {
        sink = nil
        stop(.lost(name))
        inner.close()
    }

    public func received(_ packet: HCIPacket, at time: Microseconds) {
        if outcome != nil, refusal == nil {
            if !folders.loads, !hasExplained, packet.refusesReset { explain(packet, at: time) } else { sink?.received(packet, at: time) }
        } else if end == nil, packet.kind == .event {
            perform(loader.received(packet))
        }
    }

    public func closed(_ reason: TransportError) {
        // A chip that is reset into its boot loader may leave the bus before the failure is reported.
        if let known = loader.abandonedFor { failure = failure ?? known }
        tell(failure.map { .unprepared("\(name): \($0)") } ?? reason)
    }

    // MARK: Loading

    private func perform(_ actions: [FirmwareAction]) {
        for action in actions {
            switch action {
            case .send(let command, let timeout):
                inner.send(command)
                wait(timeout)
            case .wait(let timeout): wait(timeout)
            case .useBulkPipe(let uses): dongle?.useBulkPipeForImages(uses)
            case .read(let need): read(need)
            case .done(.needed(let need)) where refusal != nil: give(up: .withheld(need))
            case .done where refusal != nil, .fail where refusal != nil: passRefusal()
            case .done(let outcome): conclude(outcome)
            case .fail(let error): give(up: error)
            }
        }
    }

    private func give(up error: FirmwareError) {
        failure = error
        finish(with: .unprepared("\(name): \(error)"))
    }

    /// A boot loader rejects mandatory commands. If nothing may be loaded, asks it for the firmware that it needs.
    private func explain(_ packet: HCIPacket, at time: Microseconds) {
        refusal = (packet, time)
        loader = FirmwareLoader(loads: false)
        perform(loader.start())
    }

    /// The chip is not a known boot loader: passes its answer on to the host.
    private func passRefusal() {
        stopWaiting()
        guard let (packet, time) = refusal else { return }
        refusal = nil
        hasExplained = true
        sink?.received(packet, at: time)
    }

    private func read(_ need: FirmwareNeed) {
        stopWaiting()
        dongle?.loading.isActive = true
        do throws(FirmwareError) {
            let (image, companion) = try folders.read(need)
            perform(loader.found(image, companion))
        } catch {
            perform([.fail(error)])
        }
    }

    private func wait(_ timeout: Microseconds) {
        stopWaiting()
        timer = loop.schedule(after: timeout) { [weak self] in
            guard let self else { return }
            timer = nil
            guard end == nil else { return }
            // A dongle that is still being started has not received the command yet.
            if let dongle, dongle.startup == nil { wait(timeout) } else { perform(loader.timedOut()) }
        }
    }

    private func stopWaiting() {
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    private func begin() throws(TransportError) {
        if let end { throw end }
        guard !isOpen else { return }
        try inner.open(self)
        isOpen = true
        dongle?.loading.onReturn = { [weak self] in self?.beginAgain() }
        if folders.loads {
            perform(loader.start())
        } else if let dongle, dongle.startup == nil {
            dongle.onReady = { [weak self] in self?.conclude(.notNeeded) }
        } else {
            conclude(.notNeeded)
        }
    }

    /// The dongle left the bus during loading and has returned: identifies it again.
    private func beginAgain() {
        guard end == nil, outcome == nil else { return }
        stopWaiting()
        loader = FirmwareLoader(loads: loads)
        perform(loader.start())
    }

    private func conclude(_ outcome: FirmwareOutcome) {
        stopWaiting()
        self.outcome = outcome
        dongle?.loading.isActive = false
        let packets = waiting
        waiting = []
        for packet in packets { inner.send(packet) }
        ready.fulfil(outcome)
        onReady?()
        onReady = nil
    }

    /// Ends the pipe. The sink is notified from the loop, never from within its own call.
    private func finish(with reason: TransportError) {
        guard end == nil else { return }
        stop(reason)
        inner.close()
        loop.schedule(after: .zero) { [weak self] in self?.tell(reason) }
    }

    private func stop(_ reason: TransportError) {
        stopWaiting()
        end = end ?? reason
        waiting = []
        ready.fail(reason)
    }

    private func tell(_ reason: TransportError) {
        stop(reason)
        let sink = self.sink
        self.sink = nil
        sink?.closed(reason)
    }
}

extension HCIPacket {
    /// True if HCI_Reset was rejected as unknown, which no controller does.
    fileprivate var refusesReset: Bool {
        guard let event = FirmwareEvent(self) else { return false }
        return event.status(of: HCICommands.Reset.opcode) == .unknownHCICommand
    }
}
