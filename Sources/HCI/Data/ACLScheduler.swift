import DequeModule
import Packets

/// Hands ACL fragments to the controller as its buffers allow, one link after another. Core Vol 4, Part E, 4.1.
///
/// A link has lanes, a queue for each of its channels. They take turns PDU by PDU: the fragments of a PDU stay together. Links of one kind share
/// that kind's buffers. A link that has disconnected gives its buffers back, whether or not they were ever reported.
public final class ACLScheduler {
    private struct Lane {
        var fragments = Deque<[UInt8]>()
        /// A send was turned away, so the owner is told when there is room again.
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

        /// The rest of the PDU that was begun, or else the next lane's.
        mutating func popFirst() -> [UInt8]? {
            guard waiting > 0 else { return nil }
            if !continues(lane) {
                repeat { lane = lane + 1 < lanes.count ? lane + 1 : 0 } while lanes[lane].fragments.isEmpty
            }
            waiting -= 1
            return lanes[lane].fragments.popFirst()
        }

        private func continues(_ lane: Int) -> Bool {
            guard let next = lanes[lane].fragments.first else { return false }
            return ACLHeader(next.span.bytes)?.boundary == .continuing
        }
    }

    /// Fragments that wait per lane before `enqueue` turns more away.
    public let limit: Int
    public private(set) var pools: [ACLBuffers] = []
    private var queues: [Queue] = []
    /// Slots by connection handle; -1 where there is none.
    private var slots = [Int16](repeating: -1, count: 0x1000)
    /// Credits that could not belong to any packet, which only a faulty controller reports.
    public private(set) var strayCredits = 0
    /// Of them, those for links that were up.
    public private(set) var excessCredits = 0
    public private(set) var fragmentsSent = 0
    private var buffers: PacketPool
    private let transmit: (HCIPacket) -> Void
    /// Called with a slot and a lane when that has room again.
    public var onWritable: (_ slot: Int, _ lane: Int) -> Void = { _, _ in }

    public init(limit: Int = 64, transmit: @escaping (HCIPacket) -> Void) {
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

    /// Fragments of a link that wait here.
    public func waiting(_ slot: Int) -> Int { queues[slot].waiting }
    /// Fragments of one lane that wait here.
    public func waiting(_ slot: Int, lane: Int) -> Int {
        queues[slot].lanes.indices.contains(lane) ? queues[slot].lanes[lane].fragments.count : 0
    }
    /// Fragments of a link that the controller has not yet reported as completed.
    public func inFlight(_ slot: Int) -> Int { queues[slot].inFlight }

    /// Whether a lane takes another PDU; if not, `onWritable` will tell.
    public func hasRoom(_ slot: Int, lane: Int = 0) -> Bool {
        guard queues[slot].lanes.indices.contains(lane), queues[slot].lanes[lane].fragments.count >= limit else { return true }
        queues[slot].lanes[lane].owesWritable = true
        return false
    }

    /// Queues an L2CAP PDU made of `head` and `body`, cut to the controller's buffers.
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

    /// Queues an ACL packet as it is: its header may say anything.
    public func enqueueRaw(_ slot: Int, packet: [UInt8]) {
        queues[slot].append(packet, to: 0)
        pump(queues[slot].pool)
    }

    /// Number_Of_Completed_Packets for one handle.
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

    /// Sends what the free buffers allow, then tells owners about room.
    private func pump(_ pool: Int) {
        guard pools.indices.contains(pool) else { return }
        while pools[pool].free > 0, let slot = nextSlot(of: pool), let fragment = queues[slot].popFirst() {
            pools[pool].lastServed = slot
            pools[pool].take()
            queues[slot].inFlight += 1
            fragmentsSent += 1
            transmit(HCIPacket(.acl, fragment))
        }
        // An owner may do anything, even end every link.
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

    /// The next link with something to send, after the one that was served last.
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
