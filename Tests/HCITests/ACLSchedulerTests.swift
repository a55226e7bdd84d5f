import BBHCI
import BBPackets
import Testing

@Suite struct ACLSchedulerTests {
    private final class Outlet {
        var packets: [HCIPacket] = []
        var handles: [UInt16] { packets.compactMap { $0.aclHeader?.handle.rawValue } }
    }

    private func make(_ outlet: Outlet, total: Int, length: Int = 27, limit: Int = 64) -> ACLScheduler {
        let scheduler = ACLScheduler(limit: limit) { outlet.packets.append($0) }
        scheduler.setPools([ACLBuffers(fragmentLength: length, total: total)])
        return scheduler
    }

    private func send(_ scheduler: ACLScheduler, _ slot: Int, _ payload: [UInt8]) {
        scheduler.enqueue(slot, cid: 4, body: payload.span.bytes)
    }

    @Test func linksTakeTurns() {
        let outlet = Outlet()
        let scheduler = make(outlet, total: 2)
        let a = scheduler.open(handle: 1, pool: 0)
        let b = scheduler.open(handle: 2, pool: 0)
        let c = scheduler.open(handle: 3, pool: 0)
        for _ in 0..<10 { send(scheduler, a, [1]) }
        for _ in 0..<2 { send(scheduler, b, [2]) }
        for _ in 0..<2 { send(scheduler, c, [3]) }
        for handle: UInt16 in [1, 1, 2, 3, 1, 2, 3, 1, 1] { scheduler.completed(handle: handle, count: 1) }
        #expect(outlet.handles == [1, 1, 2, 3, 1, 2, 3, 1, 1, 1, 1])
    }

    /// PDUs by lane and length, queued while the controller's only buffer is in use, and the lanes in the order of the fragments.
    static let lanes: [(name: String, pdus: [(lane: Int, length: Int)], fragments: [Int])] = [
        ("one lane", [(0, 1), (0, 1)], [0, 0]),
        ("lanes take turns", [(1, 1), (1, 1), (1, 1), (2, 1), (3, 1), (3, 1)], [1, 2, 3, 1, 3, 1]),
        ("the fragments of a PDU stay together", [(1, 60), (2, 1), (1, 1), (2, 40)], [1, 1, 1, 2, 1, 2, 2]),
        ("an unused lane has no turn", [(5, 1), (0, 1), (5, 1)], [5, 0, 5]),
    ]

    @Test(arguments: lanes) func channelsOfALinkTakeTurns(name: String, pdus: [(lane: Int, length: Int)], fragments: [Int]) {
        let outlet = Outlet()
        let scheduler = make(outlet, total: 1)
        let slot = scheduler.open(handle: 1, pool: 0)
        send(scheduler, slot, [0])
        for (lane, length) in pdus {
            let payload = [UInt8](repeating: UInt8(lane), count: length)
            scheduler.enqueue(slot, lane: lane, cid: 4, body: payload.span.bytes)
        }
        #expect(scheduler.waiting(slot) == fragments.count)
        for _ in fragments { scheduler.completed(handle: 1, count: 1) }
        #expect(outlet.packets.dropFirst().map { Int($0.bytes.last ?? 0) } == fragments)
        #expect(scheduler.waiting(slot) == 0)
    }

    @Test func aFullLaneTurnsNoOtherAway() {
        let outlet = Outlet()
        let scheduler = make(outlet, total: 1, limit: 4)
        let slot = scheduler.open(handle: 1, pool: 0)
        var told: [Int] = []
        scheduler.onWritable = { _, lane in told.append(lane) }
        while scheduler.hasRoom(slot, lane: 1) { scheduler.enqueue(slot, lane: 1, cid: 4, body: [UInt8]([1]).span.bytes) }
        #expect(scheduler.hasRoom(slot, lane: 2) && scheduler.waiting(slot, lane: 1) == 4)
        for _ in 0..<2 { scheduler.completed(handle: 1, count: 1) }
        #expect(told == [1])
    }

    /// The queue of a closed channel is dropped, except for the rest of a PDU whose beginning the controller has.
    @Test func aDiscardedLaneEndsWithAWholePDU() {
        let outlet = Outlet()
        let scheduler = make(outlet, total: 1)
        let slot = scheduler.open(handle: 1, pool: 0)
        for lane in [1, 1, 2] {
            let payload = [UInt8](repeating: UInt8(lane), count: 60)
            scheduler.enqueue(slot, lane: lane, cid: 4, body: payload.span.bytes)
        }
        #expect(scheduler.waiting(slot) == 8)
        scheduler.discard(slot, lane: 1)
        scheduler.discard(slot, lane: 9)
        #expect(scheduler.waiting(slot, lane: 1) == 2 && scheduler.waiting(slot) == 5)
        for _ in 0..<6 { scheduler.completed(handle: 1, count: 1) }
        #expect(outlet.packets.map { Int($0.bytes.last ?? 0) } == [1, 1, 1, 2, 2, 2])
    }

    /// Lanes that are filled together take turns from the first PDU on; otherwise the first lane has the free buffers.
    @Test(arguments: [(true, [1, 2, 3, 1, 2, 3]), (false, [1, 1, 2, 3, 2, 3])])
    func lanesFilledTogether(_ isTogether: Bool, _ order: [Int]) {
        let outlet = Outlet()
        let scheduler = make(outlet, total: 2)
        let slot = scheduler.open(handle: 1, pool: 0)
        let fill = {
            for lane in 1...3 { for _ in 0..<2 { scheduler.enqueue(slot, lane: lane, cid: 4, body: [UInt8(lane)].span.bytes) } }
        }
        if isTogether { scheduler.together(fill) } else { fill() }
        for _ in 0..<4 { scheduler.completed(handle: 1, count: 1) }
        #expect(outlet.packets.map { Int($0.bytes.last ?? 0) } == order)
    }

    @Test func longPDUsAreCutToTheBuffers() {
        let outlet = Outlet()
        let scheduler = make(outlet, total: 10)
        let slot = scheduler.open(handle: 0x0EFF, pool: 0)
        send(scheduler, slot, [UInt8](0..<60))
        #expect(outlet.packets.map(\.bytes.count) == [31, 31, 14])
        #expect(outlet.packets.map { $0.bytes[1] >> 4 } == [0, 1, 1])
        #expect(outlet.packets.flatMap { $0.bytes[4...] } == [60, 0, 4, 0] + (0..<60))
        #expect(outlet.packets.map { Int($0.bytes[2]) } == [27, 27, 10])
    }

    @Test func creditsThatCannotBeAreNotBelieved() {
        let outlet = Outlet()
        let scheduler = make(outlet, total: 2)
        let slot = scheduler.open(handle: 1, pool: 0)
        scheduler.completed(handle: 1, count: 0xFFFF)
        scheduler.completed(handle: 7, count: 3)
        for _ in 0..<5 { send(scheduler, slot, [1]) }
        #expect(outlet.packets.count == 2)
        scheduler.completed(handle: 1, count: 100)
        #expect(outlet.packets.count == 4)
        #expect(scheduler.strayCredits == 0xFFFF + 3 + 98)
    }

    @Test func aDisconnectedLinkGivesItsBuffersBack() {
        let outlet = Outlet()
        let scheduler = make(outlet, total: 2)
        let a = scheduler.open(handle: 1, pool: 0)
        let b = scheduler.open(handle: 2, pool: 0)
        for _ in 0..<3 { send(scheduler, a, [1]) }
        send(scheduler, b, [2])
        #expect(outlet.handles == [1, 1])
        scheduler.close(handle: 1)
        #expect(outlet.handles == [1, 1, 2])
        scheduler.completed(handle: 1, count: 2)
        #expect(scheduler.pools[0].free == 1)
    }

    @Test func aFullQueueTellsWhenThereIsRoom() {
        let outlet = Outlet()
        let scheduler = make(outlet, total: 1, limit: 4)
        var told: [Int] = []
        scheduler.onWritable = { slot, _ in told.append(slot) }
        let slot = scheduler.open(handle: 1, pool: 0)
        while scheduler.hasRoom(slot) { send(scheduler, slot, [1]) }
        #expect(scheduler.waiting(slot) == 4)
        scheduler.completed(handle: 1, count: 1)
        #expect(told == [])
        scheduler.completed(handle: 1, count: 1)
        #expect(told == [slot])
        scheduler.completed(handle: 1, count: 1)
        #expect(told == [slot])
    }
}
