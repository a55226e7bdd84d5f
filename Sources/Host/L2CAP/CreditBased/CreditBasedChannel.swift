import Packets
import Timing

/// An L2CAP channel in LE credit-based flow control mode or enhanced credit-based flow control mode. Core Vol 3, Part A, 10.
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
    /// The reason why the channel ended.
    public private(set) var failure: HostError?

    /// Called when the MTU of a side has changed.
    var onReconfigured: () -> Void = {}
    /// Called when the channel has ended.
    var onEnd: (HostError) -> Void = { _ in }

    private let channel: L2CAPChannel
    private let signaling: SignalingChannel
    private let loop: RunLoop
    private var flow: CreditBasedFlow
    private let inbox: SDUInbox
    private var sent: Promise<Void>?
    private let writable: Listeners<() -> Void>.Token
    private let end: Promise<Void>

    init(_ terms: CreditBasedTerms, on channel: L2CAPChannel, signaling: SignalingChannel, loop: RunLoop) {
        spsm = terms.spsm
        (localCID, remoteCID) = (terms.localCID, terms.remoteCID)
        self.channel = channel
        self.signaling = signaling
        self.loop = loop
        inbox = SDUInbox(on: loop)
        flow = CreditBasedFlow(terms)
        end = Promise(on: loop)
        let pump = Reference()
        writable = channel.writable.add { pump.channel?.pump() }
        pump.channel = self
        channel.user = { [unowned self] in perform(flow.received($0)) }
    }

    private final class Reference {
        weak var channel: CreditBasedChannel?
    }

    public var isOpen: Bool { failure == nil }
    /// The longest SDU that the peer accepts.
    public var peerMTU: Int { flow.sendMTU }
    /// The longest payload of a K-frame that the peer accepts.
    public var peerMPS: Int { flow.sendMPS }
    /// The number of K-frames that this side may send.
    public var credits: Int { flow.credits }
    /// The number of K-frames that the peer may still send.
    public var grantedCredits: Int { flow.granted }

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
        pump()
    }

    private func pump() {
        while isOpen, channel.isWritable, let frame = flow.nextFrame() { channel.transmit(frame) }
        guard flow.queuedSDUs == 0 else { return }
        sent?.fulfil(())
        sent = nil
    }

    // MARK: Receiving

    /// Returns the next SDU; the SDUs received before the channel ended are delivered first.
    public func receive(within limit: Microseconds? = nil) async throws -> [UInt8] {
        try await inbox.next(until: limit.map { loop.now + $0 })
    }

    /// Gives the peer credits in addition to the automatic ones. Core Vol 3, Part A, 4.24.
    public func grant(_ credits: UInt16) { perform(flow.grant(credits)) }

    private func perform(_ actions: [CreditBasedFlow.Action]) {
        for action in actions {
            switch action {
            case .deliver(let sdu): inbox.append(sdu)
            case .grant(let count): signaling.withChannels { $0.grant(localCID, count) }
            case .close: signaling.withChannels { [loop] in $0.disconnect(localCID, .violated, at: loop.now) }
            }
        }
    }

    // MARK: Changes

    func credited(_ count: UInt16) {
        perform(flow.credited(count))
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

    /// Ends the channel without waiting for the peer's response. SDUs that wait for credits are discarded.
    public func disconnect() {
        signaling.withChannels { [loop] in $0.disconnect(localCID, at: loop.now) }
    }

    /// Waits until the channel has ended.
    public func ended() async throws { try await end.value() }

    func ended(_ error: HostError) {
        guard isOpen else { return }
        failure = error
        channel.user = nil
        channel.writable.remove(writable)
        inbox.fail(error)
        sent?.fail(error)
        sent = nil
        end.fulfil(())
        onEnd(error)
    }
}

extension CreditBasedChannel: SDUChannel {
    var mtu: Int? { min(flow.sendMTU, Int(flow.settings.mtu)) }
    var isWritable: Bool { isOpen && flow.queuedSDUs == 0 && channel.isWritable }
    var basic: L2CAPChannel? { nil }
    func deliver(to handler: @escaping (RawSpan) -> Void) { onReceive = { handler($0.span.bytes) } }
}
