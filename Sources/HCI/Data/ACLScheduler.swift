import BBPackets
import DequeModule

/// Sends ACL fragments to the controller as its buffers allow, round-robin over links. Core Vol 4, Part E, 4.1.
///
/// A link has lanes, one queue per channel, which take turns PDU by PDU: the fragments of a PDU stay together. Links of the same kind share
/// its buffers. The buffers of a disconnected link are freed even if they were never reported as completed.
public final class ACLScheduler {
    private struct Lane {
        var fragments = Deque<[UInt8]>()
        /// A PDU was rejected, so the owner must be notified of free space.
        var owesWritable = false
    }

    private struct Queue {
        var handle: UInt16
        var pool: Int
        var lanes = [Lane()]
        /// The lane that was served last.
        var lane = 0
        /// Fragments in all lanes.
        var waiting = 0
        var inFlight = 0
        var isUsed = true

        mutating func append(_ fragment: [UInt8], to lane: Int) {
            while lanes.count <= lane { lanes.append(Lane()) }
            lanes[lane].fragments.append(fragment)
            waiting += 1
        }

        /// The next fragment: of the current PDU, or of the next lane.
        mutating func popFirst() -> [UInt8]? {
            guard waiting > 0 else { return nil }
            if !continues(lane) {
                repeat { lane = lane + 1 < lanes.count ? lane + 1 : 0 } while lanes[lane].fragments.isEmpty
            }
            waiting -= 1
            return lanes[lane].fragments.popFirst()
        }

        mutating func discard(_ lane: Int) {
            guard lanes.indices.contains(lane) else { return }
            let before = lanes[lane].fragments.count
            let kept = lanes[lane].fragments.prefix { ACLHeader($0.span.bytes)?.boundary == .continuing }.count
            lanes[lane].fragments.removeLast(before - kept)
            lanes[lane].owesWritable = false
            waiting -= before - kept
        }

        private func continues(_ lane: Int) -> Bool {
            guard let next = lanes[lane].fragments.first else { return false }
            return ACLHeader(next.span.bytes)?.boundary == .continuing
        }
    }

    /// Maximum number of queued fragments per lane before `enqueue` rejects PDUs.
    public let limit: Int
    public private(set) var pools: [ACLBuffers] = []
    private var queues: [Queue] = []
    /// Slots by connection handle; -1 if there is none.
    private var slots = [Int16](repeating: -1, count: 0x1000)
    /// Number of completed packets reported in excess, which only a faulty controller does.
    public private(set) var strayCredits = 0
    /// The part of `strayCredits` that was reported for existing links.
    public private(set) var excessCredits = 0
    public private(set) var fragmentsSent = 0
    private var buffers: PacketPool
    private var isCollecting = false
    /// Sends a fragment to the controller.
    public var transmit: (HCIPacket) -> Void
    /// Called with a slot and a lane that has free space again.
    public var onWritable: (_ slot: Int, _ lane: Int) -> Void = { _, _ in }

    public init(limit: Int = 64, transmit: @escaping (HCIPacket) -> Void = { _ in }) {
        self.limit = limit
        buffers = PacketPool(2 * limit)
        self.transmit = transmit
    }

    public func setPools(_ pools: [ACLBuffers]) {
        self.pools = pools
    }

    public func slot(of handle: UInt16) -> Int? {
        let slot = slots[Int(handle & 0xFFF)]
        return slot < 0 ? nil : Int(slot)
    }

    public func open(handle: UInt16, pool: Int) -> Int {
        close(handle: handle)
        let queue = Queue(handle: handle & 0xFFF, pool: min(pool, max(0, pools.count - 1)))
        let slot: Int
        if let unused = queues.firstIndex(where: { !$0.isUsed }) {
            slot = unused
            queues[slot] = queue
        } else {
            slot = queues.count
            queues.append(queue)
        }
        slots[Int(handle & 0xFFF)] = Int16(slot)
        return slot
    }

    public func close(handle: UInt16) {
        guard let slot = slot(of: handle) else { return }
        slots[Int(handle & 0xFFF)] = -1
        let queue = queues[slot]
        queues[slot].isUsed = false
        queues[slot].lanes.removeAll()
        queues[slot].waiting = 0
        queues[slot].inFlight = 0
        guard pools.indices.contains(queue.pool) else { return }
        pools[queue.pool].giveBack(queue.inFlight)
        pump(queue.pool)
    }

    public func closeAll() {
        for queue in queues where queue.isUsed { slots[Int(queue.handle)] = -1 }
        queues.removeAll()
        for index in pools.indices { pools[index].giveBackAll() }
    }

    /// Queued fragments of a link.
    public func waiting(_ slot: Int) -> Int { queues[slot].waiting }
    /// Queued fragments of one lane.
    public func waiting(_ slot: Int, lane: Int) -> Int {
        queues[slot].lanes.indices.contains(lane) ? queues[slot].lanes[lane].fragments.count : 0
    }
    /// Fragments of all connections that wait for a buffer, and packets that no event has reported as completed.
    public var totals: (waiting: Int, inFlight: Int) {
        queues.filter(\.isUsed).reduce((0, 0)) { ($0.0 + $1.waiting, $0.1 + $1.inFlight) }
    }

    /// Fragments of a link not yet reported as completed.
    public func inFlight(_ slot: Int) -> Int { queues[slot].inFlight }

    /// True if a lane accepts another PDU; otherwise `onWritable` is called later.
    public func hasRoom(_ slot: Int, lane: Int = 0) -> Bool {
        guard queues[slot].lanes.indices.contains(lane), queues[slot].lanes[lane].fragments.count >= limit else { return true }
        queues[slot].lanes[lane].owesWritable = true
        return false
    }

    /// Queues an L2CAP PDU made of `head` and `body`, fragmented to the controller's buffers.
    public func enqueue(_ slot: Int, lane: Int = 0, cid: UInt16, head: InlineHead = InlineHead(), body: RawSpan) {
        guard pools.indices.contains(queues[slot].pool) else { return }
        let fragmentLength = pools[queues[slot].pool].fragmentLength
        let handle = queues[slot].handle
        let length = head.count + body.byteCount
        if length + L2CAPHeader.octets <= fragmentLength {
            queues[slot].append(wholePDU(handle, cid, length, head, body), to: lane)
        } else {
            enqueueInPieces(slot, lane, fragmentLength, wholePDU(handle, cid, length, head, body))
        }
        pump(queues[slot].pool)
    }

    /// Queues an ACL packet unchanged, even with an invalid header.
    public func enqueueRaw(_ slot: Int, packet: [UInt8]) {
        queues[slot].append(packet, to: 0)
        pump(queues[slot].pool)
    }

    /// Discards the queued PDUs of a lane, except for the rest of one whose first fragment the controller has.
    public func discard(_ slot: Int, lane: Int) {
        guard queues.indices.contains(slot) else { return }
        queues[slot].discard(lane)
    }

    /// Collects the PDUs that `body` queues, so that lanes take turns from the first of them on.
    public func together(_ body: () -> Void) {
        isCollecting = true
        body()
        isCollecting = false
        for pool in pools.indices { pump(pool) }
    }

    /// Handles Number_Of_Completed_Packets for one handle.
    public func completed(handle: UInt16, count: Int) {
        guard let slot = slot(of: handle) else {
            strayCredits += count
            return
        }
        let returned = min(count, queues[slot].inFlight)
        strayCredits += count - returned
        excessCredits += count - returned
        queues[slot].inFlight -= returned
        let pool = queues[slot].pool
        guard pools.indices.contains(pool) else { return }
        pools[pool].giveBack(returned)
        pump(pool)
    }

    private func wholePDU(_ handle: UInt16, _ cid: UInt16, _ length: Int, _ head: InlineHead, _ body: RawSpan) -> [UInt8] {
        buffers.make { packet in
            ACLHeader(
                handle: ConnectionHandle(handle), boundary: .firstNonFlushable,
                length: UInt16(truncatingIfNeeded: length + L2CAPHeader.octets)
            ).encode(into: &packet)
            L2CAPHeader(length: UInt16(truncatingIfNeeded: length), channel: cid).encode(into: &packet)
            head.write(to: &packet)
            packet.bytes(body)
        }
    }

    private func enqueueInPieces(_ slot: Int, _ lane: Int, _ fragmentLength: Int, _ pdu: [UInt8]) {
        let handle = ConnectionHandle(queues[slot].handle)
        var position = ACLHeader.octets
        var boundary = ACLHeader.Boundary.firstNonFlushable
        while position < pdu.count {
            let end = min(pdu.count, position + max(1, fragmentLength))
            let fragment = buffers.make { packet in
                ACLHeader(
                    handle: handle, boundary: boundary, length: UInt16(truncatingIfNeeded: end - position)
                ).encode(into: &packet)
                packet.bytes(pdu[position..<end])
            }
            queues[slot].append(fragment, to: lane)
            boundary = .continuing
            position = end
        }
    }

    /// Sends as much as the free buffers allow, then notifies owners of free space.
    private func pump(_ pool: Int) {
        guard pools.indices.contains(pool), !isCollecting else { return }
        while pools[pool].free > 0, let slot = nextSlot(of: pool), let fragment = queues[slot].popFirst() {
            pools[pool].lastServed = slot
            pools[pool].take()
            queues[slot].inFlight += 1
            fragmentsSent += 1
            transmit(HCIPacket(.acl, fragment))
        }
        // An owner may do anything, including closing all links.
        var slot = 0
        while slot < queues.count {
            tellRoom(slot)
            slot += 1
        }
    }

    private func tellRoom(_ slot: Int) {
        var lane = 0
        while slot < queues.count, lane < queues[slot].lanes.count {
            if queues[slot].lanes[lane].owesWritable, queues[slot].lanes[lane].fragments.count <= limit / 2 {
                queues[slot].lanes[lane].owesWritable = false
                onWritable(slot, lane)
            }
            lane += 1
        }
    }

    /// The next link with queued data, after the one served last.
    private func nextSlot(of pool: Int) -> Int? {
        let count = queues.count
        var slot = pools[pool].lastServed
        for _ in 0..<count {
            slot += 1
            if slot >= count { slot = 0 }
            if queues[slot].pool == pool, queues[slot].waiting > 0 { return slot }
        }
        return nil
    }
}
