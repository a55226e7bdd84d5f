import Packets
import Timing
import Transport

/// A pipe whose chip may want firmware before it is of use: it is asked, and given what it needs, before the host's first packet reaches it.
public final class FirmwareTransport: HCITransport, HCITransportSink {
    public var name: String { inner.name }
    public let inner: any HCITransport
    /// What it stands before, if that is a dongle.
    public var dongle: USBTransport? { inner as? USBTransport }
    public var product: String? { inner.product }
    /// What it took to make the device answer, and what firmware it was given or runs.
    public var startOfPipe: PipeStart? {
        let start = inner.startOfPipe
        guard let outcome, outcome != .notNeeded else { return start }
        let steps = [start?.step, "\(outcome)"].compactMap { $0 }
        return PipeStart(step: steps.joined(separator: "; "), discarded: start?.discarded ?? 0)
    }
    /// What became of the firmware; nil before, and after a failure.
    public private(set) var outcome: FirmwareOutcome?
    public private(set) var failure: FirmwareError?
    /// Called once, when the chip has what it needs.
    public var onReady: (() -> Void)?

    private let folders: FirmwareFolders
    private let loads: Bool
    private let loop: RunLoop
    private let ready: Promise<FirmwareOutcome>
    private var loader: FirmwareLoader
    private var timer: Timer?
    private var isOpen = false
    /// Why the pipe ended.
    private var end: TransportError?
    private var sink: (any HCITransportSink)?
    private var waiting: [HCIPacket] = []
    /// An answer that is kept back until it is known what gave it.
    private var refusal: (packet: HCIPacket, time: Microseconds)?
    private var hasExplained = false
    private static let mostWaiting = 256

    /// - Parameters:
    ///   - folders: where the files are.
    ///   - onlyAsks: find out what is needed, load nothing.
    public init(_ inner: any HCITransport, folders: FirmwareFolders, onlyAsks: Bool = false, on loop: RunLoop) {
        self.inner = inner
        self.folders = folders
        self.loop = loop
        ready = Promise(on: loop)
        loads = !onlyAsks
        loader = FirmwareLoader(loads: loads)
    }

    /// Opens the pipe and waits until the chip has what it needs.
    ///
    /// - Throws: `TransportError.unprepared` with what is missing or went wrong, or how else the pipe ended.
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
        // A chip that is sent back into its boot loader may leave the bus before the failure is told.
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
            case .useBulkPipe(let uses): dongle?.usesBulkPipeForImages = uses
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

    /// A boot loader refuses what every controller does: where nothing was to be loaded, it is asked now what it waits for.
    private func explain(_ packet: HCIPacket, at time: Microseconds) {
        refusal = (packet, time)
        loader = FirmwareLoader(loads: false)
        perform(loader.start())
    }

    /// It is no boot loader that is known: the host sees what was answered.
    private func passRefusal() {
        stopWaiting()
        guard let (packet, time) = refusal else { return }
        refusal = nil
        hasExplained = true
        sink?.received(packet, at: time)
    }

    private func read(_ need: FirmwareNeed) {
        stopWaiting()
        dongle?.isBeingLoaded = true
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
            // A dongle that is still being brought to answer has not been asked yet.
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
        dongle?.onReturn = { [weak self] in self?.beginAgain() }
        if folders.loads {
            perform(loader.start())
        } else if let dongle, dongle.startup == nil {
            dongle.onReady = { [weak self] in self?.conclude(.notNeeded) }
        } else {
            conclude(.notNeeded)
        }
    }

    /// The dongle left the bus while it was loaded, and is back: what it runs now is found out anew.
    private func beginAgain() {
        guard end == nil, outcome == nil else { return }
        stopWaiting()
        loader = FirmwareLoader(loads: loads)
        perform(loader.start())
    }

    private func conclude(_ outcome: FirmwareOutcome) {
        stopWaiting()
        self.outcome = outcome
        dongle?.isBeingLoaded = false
        let packets = waiting
        waiting = []
        for packet in packets { inner.send(packet) }
        ready.fulfil(outcome)
        onReady?()
        onReady = nil
    }

    /// Ends the pipe from here. The sink hears of it from the loop, never from within its own call.
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
    /// HCI_Reset is no command that it knows: no controller says that.
    fileprivate var refusesReset: Bool {
        guard let event = FirmwareEvent(self) else { return false }
        return event.status(of: HCICommands.Reset.opcode) == .unknownHCICommand
    }
}
