import BBHCI
import BBPackets
import BBTiming

/// An L2CAP channel of a connection. Core Vol 3, Part A, 2.
///
/// Each channel has its own queue, and the channels of a connection take turns: a full channel does not block the others.
public final class L2CAPChannel {
    /// This side's CID.
    public let cid: UInt16
    /// The peer's CID, to which PDUs are sent; equal to `cid` for a fixed channel.
    public internal(set) var remoteCID: UInt16
    /// Receives PDUs instead of the layer above; nil restores that layer. The span is valid during the call.
    public var handler: ((RawSpan) -> Void)?
    /// Called when there is room again after a refused send.
    public let writable = Listeners<() -> Void>()
    /// The reason why the channel is closed.
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
    ///   - slot: the connection's index in the scheduler.
    ///   - lane: the index of the channel's queue in the scheduler.
    init(_ cid: UInt16, slot: Int, lane: Int, observers: Listeners<PDUObserver>, context: HostContext) {
        self.cid = cid
        remoteCID = cid
        self.slot = slot
        self.lane = lane
        self.observers = observers
        self.context = context
    }

    /// True if the queue has room for another PDU; if not, `writable` reports it later.
    public var isWritable: Bool { isOpen && context.scheduler.hasRoom(slot, lane: lane) }
    /// The number of ACL fragments in the channel's queue.
    public var queuedFragments: Int { isOpen ? context.scheduler.waiting(slot, lane: lane) : 0 }

    /// Injected faults.
    var quirks: ChannelQuirks { context.quirks.channels }

    // MARK: Sending

    /// Sends a PDU with any contents; returns false if the queue is full or the channel closed.
    @discardableResult
    public func trySend(_ payload: [UInt8]) -> Bool {
        guard isWritable else { return false }
        transmit(payload)
        return true
    }

    /// Sends a PDU after waiting for room.
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

    /// Sends regardless of the queue's length, for responses, which the peer's flow control limits.
    func transmit(_ payload: [UInt8]) {
        guard !context.quirks.rewrites.isEmpty, let replacements = context.rewrites(of: payload, cid: cid) else {
            return transmitAsIs(payload)
        }
        for replacement in replacements {
            guard replacement.delay > .zero else {
                transmitAsIs(replacement.bytes)
                continue
            }
            context.loop.schedule(after: replacement.delay) { [weak self] in self?.transmitAsIs(replacement.bytes) }
        }
    }

    private func transmitAsIs(_ payload: [UInt8]) {
        guard isOpen else { return }
        if !observers.isEmpty { observers.tell { $0(.sent, remoteCID, payload.span.bytes) } }
        context.scheduler.enqueue(slot, lane: lane, cid: remoteCID, body: payload.span.bytes)
    }

    /// Sends an attribute's value without an intermediate array.
    func transmit(opcode: UInt8, attribute: UInt16, _ value: RawSpan) {
        if observers.isEmpty, context.quirks.rewrites.isEmpty {
            guard isOpen else { return }
            context.scheduler.enqueue(slot, lane: lane, cid: remoteCID, head: InlineHead(opcode: opcode, handle: attribute), body: value)
        } else {
            transmit([opcode, UInt8(truncatingIfNeeded: attribute), UInt8(attribute >> 8)] + value.octets)
        }
    }

    /// Sends a K-frame without an intermediate array.
    ///
    /// - Parameter sduLength: the length of the SDU that begins with the frame.
    func transmit(sduLength: UInt16?, _ payload: RawSpan) {
        let head = sduLength.map { InlineHead(sduLength: $0) } ?? InlineHead()
        if observers.isEmpty, context.quirks.rewrites.isEmpty {
            guard isOpen else { return }
            context.scheduler.enqueue(slot, lane: lane, cid: remoteCID, head: head, body: payload)
        } else {
            let length = sduLength.map { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] } ?? []
            transmit(length + payload.octets)
        }
    }

    /// Discards the PDUs in the channel's queue.
    func discardQueued() {
        if isOpen { context.scheduler.discard(slot, lane: lane) }
    }

    // MARK: Events

    /// Delivers a PDU; returns false if there is no receiver.
    func receive(_ payload: RawSpan) -> Bool {
        guard !context.quirks.receivedRewrites.isEmpty, let others = context.rewrites(ofReceived: payload.octets, cid: cid) else {
            return deliver(payload)
        }
        return others.reduce(true) { deliver($1.bytes.span.bytes) && $0 }
    }

    private func deliver(_ payload: RawSpan) -> Bool {
        // `handler ?? user` would wrap the closure and allocate for each PDU.
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

extension L2CAPChannel: SDUChannel {
    var mtu: Int? { nil }
    var basic: L2CAPChannel? { self }
    func deliver(to handler: @escaping (RawSpan) -> Void) { user = handler }
    func disconnect() {}
}
