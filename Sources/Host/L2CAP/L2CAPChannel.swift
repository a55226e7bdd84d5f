import HCI
import Packets
import Timing

/// One L2CAP channel of a connection. Core Vol 3, Part A, 2.
///
/// Each channel has a queue of its own, and the channels of a connection take turns: one that is full holds up no other.
public final class L2CAPChannel {
    /// The identifier of this side's end.
    public let cid: UInt16
    /// That of the peer's end, where PDUs go; a fixed channel has the same one at both ends.
    public internal(set) var remoteCID: UInt16
    /// Takes what comes in, in place of the layer that the host has put on the channel; nil gives it back. The span is valid during the call.
    public var handler: ((RawSpan) -> Void)?
    /// Told when there is room again after a send was turned away.
    public let writable = Listeners<() -> Void>()
    /// Why nothing can be sent any more.
    public private(set) var failure: HostError? { didSet { isOpen = failure == nil } }
    public private(set) var isOpen = true

    /// The layer above.
    var user: ((RawSpan) -> Void)?
    private let slot: Int
    private let lane: Int
    private let observers: Listeners<PDUObserver>
    private let context: HostContext
    private var room: Promise<Void>?

    /// - Parameters:
    ///   - slot: the connection's place in the scheduler.
    ///   - lane: the channel's queue there.
    init(_ cid: UInt16, slot: Int, lane: Int, observers: Listeners<PDUObserver>, context: HostContext) {
        self.cid = cid
        remoteCID = cid
        self.slot = slot
        self.lane = lane
        self.observers = observers
        self.context = context
    }

    /// Whether another PDU finds room in the queue; if not, `writable` will tell.
    public var isWritable: Bool { isOpen && context.scheduler.hasRoom(slot, lane: lane) }
    /// ACL fragments that wait in the channel's queue.
    public var queuedFragments: Int { isOpen ? context.scheduler.waiting(slot, lane: lane) : 0 }

    /// What goes wrong on purpose.
    var quirks: ChannelQuirks { context.quirks.channels }

    // MARK: Sending

    /// Sends a PDU, whatever it holds; false if the queue is full or the channel closed.
    @discardableResult
    public func trySend(_ payload: [UInt8]) -> Bool {
        guard isWritable else { return false }
        transmit(payload)
        return true
    }

    /// Sends a PDU, waiting for room.
    public func send(_ payload: [UInt8]) async throws {
        try await waitForRoom()
        transmit(payload)
    }

    func waitForRoom() async throws {
        while true {
            if let failure { throw failure }
            if context.scheduler.hasRoom(slot, lane: lane) { return }
            let promise = room ?? Promise(on: context.loop)
            room = promise
            try await promise.value()
        }
    }

    /// Sends whatever the queue's length: for answers, which the peer's own flow control bounds.
    func transmit(_ payload: [UInt8]) {
        guard let replacements = context.rewrites(of: payload, cid: cid) else { return transmitAsIs(payload) }
        for replacement in replacements { transmitAsIs(replacement) }
    }

    private func transmitAsIs(_ payload: [UInt8]) {
        guard isOpen else { return }
        if !observers.isEmpty { observers.tell { $0(.sent, remoteCID, payload.span.bytes) } }
        context.scheduler.enqueue(slot, lane: lane, cid: remoteCID, body: payload.span.bytes)
    }

    /// The same for an attribute's value, without an array in between.
    func transmit(opcode: UInt8, attribute: UInt16, _ value: RawSpan) {
        if observers.isEmpty, context.quirks.rewrites.isEmpty {
            guard isOpen else { return }
            context.scheduler.enqueue(slot, lane: lane, cid: remoteCID, head: InlineHead(opcode: opcode, handle: attribute), body: value)
        } else {
            transmit([opcode, UInt8(truncatingIfNeeded: attribute), UInt8(attribute >> 8)] + value.octets)
        }
    }

    // MARK: From below

    /// False if nobody listens.
    func receive(_ payload: RawSpan) -> Bool {
        guard !context.quirks.receivedRewrites.isEmpty, let others = context.rewrites(ofReceived: payload.octets, cid: cid) else {
            return deliver(payload)
        }
        return others.reduce(true) { deliver($1.span.bytes) && $0 }
    }

    private func deliver(_ payload: RawSpan) -> Bool {
        // Not `handler ?? user`: that would wrap the closure, and allocate for each PDU.
        if let handler {
            handler(payload)
        } else if let user {
            user(payload)
        } else {
            return false
        }
        return true
    }

    func becameWritable() {
        room?.fulfil(())
        room = nil
        writable.tell { $0() }
    }

    func close(_ error: HostError) {
        guard isOpen else { return }
        failure = error
        user = nil
        room?.fail(error)
        room = nil
    }
}
