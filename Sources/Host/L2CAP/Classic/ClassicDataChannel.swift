import DequeModule
import Packets
import Timing

/// The data of a connection-oriented channel, in whichever mode the two sides have agreed on. Core Vol 3, Part A, 8.
final class ClassicDataChannel {
    private enum Mode {
        case basic
        case enhanced(EnhancedRetransmission)
        case streaming(StreamingMode)
    }

    /// I-frames that wait before a sender does.
    private static let mostQueued = 64

    private(set) var terms: ChannelTerms
    /// Takes each SDU as it comes; what came before is handed over at once. Nil gives SDUs to `receive` again.
    var onReceive: (([UInt8]) -> Void)? { didSet { drain() } }
    /// Told once, when the channel is no more.
    var onEnd: ((HostError) -> Void)?
    /// Why the channel is no more.
    private(set) var failure: HostError?

    /// In basic mode a layer above may send on it as it is.
    let channel: L2CAPChannel
    private unowned let owner: ClassicChannels
    let loop: RunLoop
    private var mode: Mode
    private var timer: Timer?
    private var inbox = Deque<[UInt8]>()
    private var arrival: Promise<Void>?
    private var room: Promise<Void>?

    init(_ agreed: ChannelTerms, on channel: L2CAPChannel, of owner: ClassicChannels, loop: RunLoop) {
        var terms = agreed
        terms.quirks = channel.quirks
        self.terms = terms
        self.channel = channel
        self.owner = owner
        self.loop = loop
        mode =
            switch terms.mode {
            case .basic: .basic
            case .enhancedRetransmission: .enhanced(EnhancedRetransmission(terms))
            case .streaming: .streaming(StreamingMode(terms))
            }
        channel.user = { [unowned self] in received($0.octets) }
    }

    // MARK: Sending

    /// Sends an SDU, waiting for room on the link and in the peer's window.
    ///
    /// - Throws: `HostError.misuse(.tooLong)`, or why the channel is no more.
    func send(_ sdu: [UInt8]) async throws {
        if let failure { throw failure }
        guard sdu.count <= Int(terms.sendMTU) else { throw HostError.misuse(.tooLong(octets: sdu.count, limit: Int(terms.sendMTU))) }
        try await waitForRoom()
        transmit(sdu)
    }

    /// Whether another SDU finds room on the link and in the peer's window.
    var isWritable: Bool {
        guard failure == nil, channel.isWritable else { return false }
        if case .enhanced(let core) = mode { return core.queuedFrames < Self.mostQueued }
        return true
    }

    /// Sends an SDU at once or not at all.
    @discardableResult
    func trySend(_ sdu: [UInt8]) -> Bool {
        guard isWritable, sdu.count <= Int(terms.sendMTU) else { return false }
        transmit(sdu)
        return true
    }

    func waitForRoom() async throws {
        if let failure { throw failure }
        try await channel.waitForRoom()
        while case .enhanced(let core) = mode, core.queuedFrames >= Self.mostQueued {
            let promise = room ?? Promise<Void>(on: loop)
            room = promise
            try await promise.value()
        }
        if let failure { throw failure }
    }

    /// Sends whatever the queue's length, for what another flow control bounds.
    func transmit(_ sdu: [UInt8]) {
        guard failure == nil else { return }
        switch mode {
        case .basic: channel.transmit(sdu)
        case .enhanced(var core):
            let actions = core.send(sdu, at: loop.now)
            mode = .enhanced(core)
            perform(actions)
        case .streaming(var core):
            let actions = core.send(sdu)
            mode = .streaming(core)
            perform(actions)
        }
    }

    // MARK: Receiving

    /// The next SDU; what came before the channel ended is handed over first.
    ///
    /// - Parameter deadline: the loop's time at which the wait ends with `HostError.environment(.timedOut(.sdu))`.
    func receive(until deadline: Microseconds? = nil) async throws -> [UInt8] {
        while true {
            if let sdu = inbox.popFirst() { return sdu }
            if let failure { throw failure }
            let promise = arrival ?? Promise<Void>(on: loop)
            arrival = promise
            do { try await promise.value(until: deadline) } catch is TimeOut { throw HostError.environment(.timedOut(.sdu)) }
        }
    }

    private func received(_ pdu: [UInt8]) {
        switch mode {
        case .basic:
            // Longer than this side has said it takes. Core Vol 3, Part A, 5.1.
            guard pdu.count <= Int(terms.receiveMTU) else { return owner.disconnect(terms.localCID) }
            deliver(pdu)
        case .enhanced(var core):
            let actions = core.received(pdu, at: loop.now)
            mode = .enhanced(core)
            perform(actions)
        case .streaming(var core):
            let actions = core.received(pdu)
            mode = .streaming(core)
            perform(actions)
        }
    }

    private func deliver(_ sdu: [UInt8]) {
        inbox.append(sdu)
        drain()
    }

    private func drain() {
        while let onReceive, let sdu = inbox.popFirst() { onReceive(sdu) }
        guard !inbox.isEmpty else { return }
        arrival?.fulfil(())
        arrival = nil
    }

    // MARK: Actions

    private func perform(_ actions: [StreamingMode.Action]) {
        for action in actions {
            switch action {
            case .send(let pdu): channel.transmit(pdu)
            case .deliver(let sdu): deliver(sdu)
            }
        }
    }

    private func perform(_ actions: [EnhancedRetransmission.Action]) {
        watch()
        for action in actions {
            switch action {
            case .send(let pdu): channel.transmit(pdu)
            case .deliver(let sdu): deliver(sdu)
            case .close: owner.disconnect(terms.localCID)
            }
        }
    }

    private func watch() {
        timer.map(loop.cancel)
        timer = nil
        guard case .enhanced(let core) = mode, failure == nil else { return }
        timer = core.deadline.map { loop.schedule(at: $0) { [weak self] in self?.expired() } }
        guard core.queuedFrames < Self.mostQueued else { return }
        room?.fulfil(())
        room = nil
    }

    private func expired() {
        timer = nil
        guard case .enhanced(var core) = mode else { return }
        let actions = core.expire(at: loop.now)
        mode = .enhanced(core)
        perform(actions)
    }

    // MARK: End

    func reconfigured(_ terms: ChannelTerms) { self.terms = terms }

    /// Ends the channel; the peer's word is not waited for.
    func disconnect() { owner.disconnect(terms.localCID) }

    func ended(_ error: HostError) {
        guard failure == nil else { return }
        failure = error
        timer.map(loop.cancel)
        timer = nil
        channel.user = nil
        for promise in [room, arrival] { promise?.fail(error) }
        (room, arrival) = (nil, nil)
        let told = onEnd
        (onEnd, onReceive) = (nil, nil)
        told?(error)
    }
}
