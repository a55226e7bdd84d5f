import BBL2CAP
import BBPackets
import BBTiming

/// The data of a connection-oriented channel in the agreed mode. Core Vol 3, Part A, 8.
final class ClassicDataChannel {
    private enum Mode {
        case basic
        case enhanced(EnhancedRetransmission)
        case streaming(StreamingMode)
    }

    /// The number of queued I-frames at which a sender waits.
    private static let mostQueued = 64

    private(set) var terms: ChannelTerms
    /// Receives each SDU on arrival; the SDUs that are already queued are delivered immediately. Nil returns to `receive`.
    var onReceive: (([UInt8]) -> Void)? {
        get { inbox.handler }
        set { inbox.handler = newValue }
    }
    /// Called once when the channel ends; at once if it has ended.
    var onEnd: ((HostError) -> Void)? { didSet { if let failure, let onEnd { onEnd(failure) } } }
    /// The reason why the channel ended.
    private(set) var failure: HostError?

    /// A layer above may send on it directly in basic mode.
    private let channel: L2CAPChannel
    private unowned let owner: ClassicChannels
    let loop: RunLoop
    private var mode: Mode
    private var timer: Timer?
    private let inbox: SDUInbox
    private var room: Promise<Void>?

    init(_ agreed: ChannelTerms, on channel: L2CAPChannel, of owner: ClassicChannels, loop: RunLoop) {
        var terms = agreed
        terms.quirks = channel.quirks
        self.terms = terms
        self.channel = channel
        self.owner = owner
        self.loop = loop
        inbox = SDUInbox(on: loop)
        mode =
            switch terms.mode {
            case .basic: .basic
            case .enhancedRetransmission: .enhanced(EnhancedRetransmission(terms))
            case .streaming: .streaming(StreamingMode(terms))
            }
        channel.user = { [unowned self] in received($0.octets) }
    }

    // MARK: Sending

    /// Sends an SDU after waiting for room on the link and in the peer's window.
    ///
    /// - Throws: `HostError.misuse(.tooLong)`, or the reason why the channel ended.
    func send(_ sdu: [UInt8]) async throws {
        if let failure { throw failure }
        guard sdu.count <= Int(terms.sendMTU) else { throw HostError.misuse(.tooLong(octets: sdu.count, limit: Int(terms.sendMTU))) }
        try await waitForRoom()
        transmit(sdu)
    }

    /// True if there is room on the link and in the peer's window for another SDU.
    var isWritable: Bool {
        guard failure == nil, channel.isWritable else { return false }
        if case .enhanced(let core) = mode { return core.queuedFrames < Self.mostQueued }
        return true
    }

    /// Sends an SDU immediately; returns false if there is no room.
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

    /// Sends regardless of the queue's length, for traffic that another flow control limits.
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

    /// Sets or clears the busy condition of this side in enhanced retransmission mode. Core Vol 3, Part A, 8.6.4.
    func setBusy(_ isBusy: Bool) {
        guard case .enhanced(var core) = mode, failure == nil else { return }
        let actions = core.setBusy(isBusy, at: loop.now)
        mode = .enhanced(core)
        perform(actions)
    }

    // MARK: Receiving

    /// Returns the next SDU; the SDUs received before the channel ended are delivered first.
    ///
    /// - Parameter deadline: the loop's time at which the wait ends with `HostError.environment(.timedOut(.sdu))`.
    func receive(until deadline: Microseconds? = nil) async throws -> [UInt8] { try await inbox.next(until: deadline) }

    private func received(_ pdu: [UInt8]) {
        switch mode {
        case .basic:
            // The PDU exceeds the MTU of this side. Core Vol 3, Part A, 5.1.
            guard pdu.count <= Int(terms.receiveMTU) else { return owner.disconnect(terms.localCID) }
            inbox.append(pdu)
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

    // MARK: Actions

    private func perform(_ actions: [StreamingMode.Action]) {
        for action in actions {
            switch action {
            case .send(let pdu): channel.transmit(pdu)
            case .deliver(let sdu): inbox.append(sdu)
            }
        }
    }

    private func perform(_ actions: [EnhancedRetransmission.Action]) {
        watch()
        for action in actions {
            switch action {
            case .send(let pdu): channel.transmit(pdu)
            case .deliver(let sdu): inbox.append(sdu)
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

    // MARK: Closing

    func reconfigured(_ terms: ChannelTerms) { self.terms = terms }

    /// Ends the channel without waiting for the peer's response.
    func disconnect() { owner.disconnect(terms.localCID) }

    func ended(_ error: HostError) {
        guard failure == nil else { return }
        failure = error
        timer.map(loop.cancel)
        timer = nil
        channel.user = nil
        inbox.fail(error)
        room?.fail(error)
        room = nil
        let told = onEnd
        (onEnd, onReceive) = (nil, nil)
        told?(error)
    }
}

extension ClassicDataChannel: SDUChannel {
    var mtu: Int? { Int(min(terms.sendMTU, terms.receiveMTU)) }
    var basic: L2CAPChannel? { if case .basic = mode { channel } else { nil } }
    func deliver(to handler: @escaping (RawSpan) -> Void) { onReceive = { handler($0.span.bytes) } }
}
