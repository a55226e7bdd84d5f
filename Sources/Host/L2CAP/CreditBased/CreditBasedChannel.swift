import BBPackets
import BBTiming

/// An L2CAP channel in LE credit-based flow control mode or enhanced credit-based flow control mode. Core Vol 3, Part A, 10.
///
/// An SDU that nobody has taken keeps its credits: a peer whose data is not read has to stop.
public final class CreditBasedChannel {
    public let spsm: UInt16
    /// The channel's CIDs at this side and at the peer.
    public let localCID: UInt16
    public let remoteCID: UInt16
    /// Receives each SDU on arrival; the SDUs that are already queued are delivered immediately. Nil returns to `receive`.
    public var onReceive: (([UInt8]) -> Void)? {
        get { inbox.handler }
        set { inbox.handler = newValue }
    }
    /// Receives each SDU on arrival without an array, instead of `onReceive`; the SDUs that are already queued are delivered immediately.
    /// The span is valid during the call.
    public var onSDU: ((RawSpan) -> Void)? { didSet { drain() } }
    /// Called when an SDU waits for `take`.
    public var onArrival: (() -> Void)? {
        get { inbox.arrived }
        set { inbox.arrived = newValue }
    }
    /// Called when `trySend` has room again after `full`.
    public let writable = Listeners<() -> Void>()
    /// Called once, with the reason, when the channel has ended.
    public let closed = Listeners<(HostError) -> Void>()
    /// The reason why the channel ended.
    public private(set) var failure: HostError?

    /// Called when the MTU of a side has changed.
    var onReconfigured: () -> Void = {}

    private let channel: L2CAPChannel
    private let signaling: any CreditBasedLink
    private let loop: RunLoop
    private var flow: CreditBasedFlow
    private let inbox: SDUInbox
    private var sent: Promise<Void>?
    private let room: Listeners<() -> Void>.Token
    private let end: Promise<Void>
    /// A frame is being handed down; what that causes must not begin another.
    private var isPumping = false
    private var owesRoom = false
    private var closing: Timer?

    init(_ terms: CreditBasedTerms, on channel: L2CAPChannel, signaling: any CreditBasedLink, loop: RunLoop) {
        spsm = terms.spsm
        (localCID, remoteCID) = (terms.localCID, terms.remoteCID)
        self.channel = channel
        self.signaling = signaling
        self.loop = loop
        inbox = SDUInbox(on: loop)
        flow = CreditBasedFlow(terms)
        end = Promise(on: loop)
        let pump = Reference()
        room = channel.writable.add { pump.channel?.pump() }
        pump.channel = self
        inbox.taken = { [unowned self] in read($0) }
        channel.user = { [unowned self] in received($0) }
        if terms.settings.grantsFirstCreditsLater {
            // The peer knows the channel after the response.
            loop.schedule(after: .zero) { [weak self] in
                if let self, isOpen { tellPeer(flow.replenish()) }
            }
        }
    }

    private final class Reference {
        weak var channel: CreditBasedChannel?
    }

    public var isOpen: Bool { failure == nil }
    /// The longest SDU that the peer accepts.
    public var peerMTU: Int { flow.sendMTU }
    /// The longest payload of a K-frame that the peer accepts.
    public var peerMPS: Int { flow.sendMPS }
    /// The longest SDU of which every K-frame is full, or the peer's MTU if one frame holds more.
    public var fullSDU: Int { flow.fullSDU }
    /// The number of K-frames that this side may send.
    public var credits: Int { flow.credits }
    /// The number of K-frames that the peer may still send.
    public var grantedCredits: Int { flow.granted }
    /// True if an SDU waits for `take` or `receive`.
    public var hasWaiting: Bool { !inbox.isEmpty }
    /// The number of SDUs that are not completely sent.
    public var queuedSDUs: Int { flow.queuedSDUs }

    // MARK: Sending

    /// Sends an SDU; waits until its last K-frame is queued, which needs credits from the peer and room on the link.
    ///
    /// - Throws: `HostError.misuse(.tooLong)`, or the reason why the channel ended.
    public func send(_ sdu: [UInt8]) async throws {
        if let failure { throw failure }
        guard sdu.count <= flow.sendMTU else { throw HostError.misuse(.tooLong(octets: sdu.count, limit: flow.sendMTU)) }
        transmit(sdu)
        try await waitForRoom()
    }

    /// Sends an SDU without waiting and without an array for each K-frame. After `full`, `writable` reports room.
    public func trySend(_ sdu: RawSpan) -> SendResult {
        guard isOpen else { return .disconnected }
        guard sdu.byteCount <= flow.sendMTU else { return .tooLong }
        guard flow.queuedSDUs == 0, flow.credits > 0, !isPumping, channel.isWritable else {
            owesRoom = true
            return .full
        }
        isPumping = true
        var position: Int?
        repeat {
            guard let range = flow.directFrame(of: sdu.byteCount, after: position) else { break }
            channel.transmit(sduLength: position == nil ? UInt16(sdu.byteCount) : nil, sdu.extracting(range))
            position = range.upperBound
        } while position ?? 0 < sdu.byteCount && isOpen && channel.isWritable
        isPumping = false
        if isOpen, let position, position < sdu.byteCount { flow.keep(sdu, after: position) }
        tellRoomLater()
        return .sent
    }

    /// Waits until every queued SDU is on its way.
    func waitForRoom() async throws {
        if let failure { throw failure }
        while flow.queuedSDUs > 0 {
            if let failure { throw failure }
            let promise = sent ?? Promise<Void>(on: loop)
            sent = promise
            try await promise.value()
        }
    }

    func transmit(_ sdu: [UInt8]) {
        guard isOpen else { return }
        flow.send(sdu)
        sendFrames()
        tellRoomLater()
    }

    /// Reports room to an owner that was refused, but not from within the call of another one that sends.
    private func tellRoomLater() {
        if owesRoom { loop.schedule(after: .zero) { [weak self] in self?.pump() } }
    }

    private func sendFrames() {
        guard !isPumping else { return }
        isPumping = true
        while isOpen, flow.queuedSDUs > 0, channel.isWritable, let frame = flow.nextFrame() {
            channel.transmit(sduLength: frame.length, frame.sdu.span.bytes.extracting(frame.range))
        }
        isPumping = false
        guard isOpen, flow.queuedSDUs == 0 else { return }
        sent?.fulfil(())
        sent = nil
    }

    private func pump() {
        guard !isPumping else { return }
        sendFrames()
        guard owesRoom, isOpen, flow.queuedSDUs == 0, flow.credits > 0, channel.isWritable else { return }
        owesRoom = false
        writable.tell { $0() }
    }

    // MARK: Receiving

    /// Returns the next SDU; the SDUs received before the channel ended are delivered first.
    public func receive(within limit: Microseconds? = nil) async throws -> [UInt8] {
        try await inbox.next(until: limit.map { loop.now + $0 })
    }

    /// Takes the next SDU, if one waits.
    public func take() -> [UInt8]? { inbox.take() }

    /// Gives the peer credits in addition to the automatic ones. Core Vol 3, Part A, 4.24.
    public func grant(_ credits: UInt16) { tellPeer(flow.grant(credits)) }

    private func tellPeer(_ credits: UInt16) {
        guard credits > 0 else { return }
        signaling.withChannels { $0.grant(localCID, credits) }
    }

    private func received(_ frame: RawSpan) {
        switch flow.received(frame) {
        case .part: tellPeer(flow.replenish())
        case .whole: deliver(frame.extracting(CreditBasedFlow.lengthOctets...))
        case .completed:
            let sdu = flow.takeSDU()
            guard let onSDU, inbox.isEmpty else { return inbox.append(sdu, frames: flow.completedFrames) }
            let frames = flow.completedFrames
            onSDU(sdu.span.bytes)
            flow.reuse(sdu)
            read(frames)
        case .fault(let fault): signaling.withChannels { [loop] in $0.disconnect(localCID, .creditBasedViolated(fault), at: loop.now) }
        }
    }

    private func deliver(_ sdu: RawSpan) {
        guard let onSDU, inbox.isEmpty else { return inbox.append(sdu.octets, frames: 1) }
        onSDU(sdu)
        read(1)
    }

    /// Hands the SDUs that came before `onSDU` was set to it; each returns its credits.
    private func drain() { while let onSDU, let sdu = inbox.take() { onSDU(sdu.span.bytes) } }

    private func read(_ frames: Int) {
        flow.read(frames)
        if isOpen { tellPeer(flow.replenish()) }
    }

    // MARK: Changes

    func credited(_ count: UInt16) {
        if let fault = flow.credited(count) {
            return signaling.withChannels { [loop] in $0.disconnect(localCID, .creditBasedViolated(fault), at: loop.now) }
        }
        pump()
    }

    func reconfigured(mtu: UInt16, mps: UInt16) {
        flow.reconfigured(mtu: mtu, mps: mps)
        onReconfigured()
    }

    func tookEffect(mtu: UInt16, mps: UInt16) {
        flow.accept(mtu: mtu, mps: mps)
        onReconfigured()
    }

    // MARK: Closing

    /// Ends the channel without waiting for the peer's response. Data that the controller does not have yet is discarded.
    public func disconnect() {
        signaling.withChannels { [loop] in $0.disconnect(localCID, at: loop.now) }
    }

    /// Ends the channel once all queued data has gone to the controller, but after the limit in any case: a peer that gives no credits
    /// does not keep it open. `ended` waits for it.
    public func close(within limit: Microseconds = .seconds(5)) {
        guard isOpen, closing == nil else { return }
        finish(until: loop.now + limit)
    }

    private func finish(until deadline: Microseconds) {
        closing = nil
        guard isOpen else { return }
        guard loop.now < deadline, flow.queuedSDUs > 0 || channel.queuedFragments > 0 else { return disconnect() }
        closing = loop.schedule(at: min(deadline, loop.now + Self.closingStep)) { [weak self] in self?.finish(until: deadline) }
    }

    private static let closingStep = Microseconds.milliseconds(5)

    /// Waits until the channel has ended.
    public func ended() async throws { try await end.value() }

    func ended(_ error: HostError) {
        guard isOpen else { return }
        failure = error
        closing.map(loop.cancel)
        closing = nil
        channel.user = nil
        channel.writable.remove(room)
        channel.discardQueued()
        inbox.fail(error)
        sent?.fail(error)
        sent = nil
        end.fulfil(())
        closed.tell { $0(error) }
        (onSDU, onArrival, onReceive) = (nil, nil, nil)
        writable.removeAll()
        closed.removeAll()
    }
}

extension CreditBasedChannel: SDUChannel {
    var mtu: Int? { min(flow.sendMTU, Int(flow.settings.mtu)) }
    var isWritable: Bool { isOpen && flow.queuedSDUs == 0 && channel.isWritable }
    var basic: L2CAPChannel? { nil }
    func announceRoom() { owesRoom = true }
    func deliver(to handler: @escaping (RawSpan) -> Void) { onSDU = handler }
}
