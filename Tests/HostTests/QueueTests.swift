import Packets
import Testing
import Timing

@testable import Host

@Suite struct CommandQueueTests {
    private let answer = CommandAnswer(kind: .complete, status: .success, returns: [0])
    private func packet(_ opcode: UInt16) -> HCIPacket { HCIPacket(opcode: opcode, parameters: []) }

    @Test func commandsGoOutAsCreditsAllow() {
        var queue = CommandQueue()
        #expect(queue.submit(id: 1, opcode: 10, packet(10)) == [.transmit(id: 1, packet(10))])
        #expect(queue.submit(id: 2, opcode: 11, packet(11)) == [])
        #expect(queue.submit(id: 3, opcode: 12, packet(12)) == [])
        #expect(queue.answered(opcode: 10, credits: 0, answer) == [.finish(id: 1, answer)])
        #expect(queue.answered(opcode: 0, credits: 2, answer) == [.transmit(id: 2, packet(11)), .transmit(id: 3, packet(12))])
        #expect(queue.answered(opcode: 12, credits: 1, answer) == [.finish(id: 3, answer)])
        #expect(queue.answered(opcode: 11, credits: 1, answer) == [.finish(id: 2, answer)])
        #expect(queue.isIdle && queue.strayAnswers == 0)
    }

    @Test func answersNobodyWaitsForAreCounted() {
        var queue = CommandQueue()
        _ = queue.submit(id: 1, opcode: 10, packet(10))
        #expect(queue.answered(opcode: 99, credits: 1, answer) == [])
        #expect(queue.answered(opcode: 10, credits: 1, answer) == [.finish(id: 1, answer)])
        #expect(queue.answered(opcode: 10, credits: 1, answer) == [])
        #expect(queue.strayAnswers == 2)
    }

    @Test func creditsOfZeroForEverDoNotHangTheQueue() {
        var queue = CommandQueue()
        _ = queue.submit(id: 1, opcode: 10, packet(10))
        _ = queue.submit(id: 2, opcode: 11, packet(11))
        _ = queue.submit(id: 3, opcode: 12, packet(12))
        #expect(queue.answered(opcode: 10, credits: 0, answer) == [.finish(id: 1, answer)])
        #expect(queue.expire(id: 2) == [.transmit(id: 3, packet(12))])
        #expect(queue.expire(id: 3) == [])
        #expect(queue.submit(id: 4, opcode: 13, packet(13)) == [.transmit(id: 4, packet(13))])
    }

    @Test func theSameOpcodeTwiceIsAnsweredInOrder() {
        var queue = CommandQueue()
        _ = queue.answered(opcode: 0, credits: 2, answer)
        _ = queue.submit(id: 1, opcode: 10, packet(10))
        _ = queue.submit(id: 2, opcode: 10, packet(10))
        #expect(queue.answered(opcode: 10, credits: 1, answer) == [.finish(id: 1, answer)])
        #expect(queue.answered(opcode: 10, credits: 1, answer) == [.finish(id: 2, answer)])
    }
}

@Suite struct ACLSchedulerTests {
    private final class Outlet {
        var packets: [HCIPacket] = []
        var handles: [UInt16] { packets.map { UInt16($0.bytes[0]) | UInt16($0.bytes[1] & 0xF) << 8 } }
    }

    private func make(_ outlet: Outlet, total: Int, length: Int = 27, limit: Int = 64) -> ACLScheduler {
        let scheduler = ACLScheduler(limit: limit) { outlet.packets.append($0) }
        scheduler.setPools([.init(fragmentLength: length, total: total)])
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
        scheduler.onWritable = { told.append($0) }
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

@Suite struct ATTRequestQueueTests {
    @Test func oneRequestAtATime() {
        var queue = ATTRequestQueue()
        #expect(queue.submit(id: 1, [0x0A, 3, 0]) == [.startTimer, .send([0x0A, 3, 0])])
        #expect(queue.submit(id: 2, [0x0A, 4, 0]) == [])
        #expect(queue.received([0x0B, 9]) == [.stopTimer, .finish(id: 1, .success([0x0B, 9])), .startTimer, .send([0x0A, 4, 0])])
        let error = HostError.peer(.att(request: 0x0A, handle: 4, .readNotPermitted))
        #expect(queue.received([1, 0x0A, 4, 0, 2]) == [.stopTimer, .finish(id: 2, .failure(error))])
        #expect(queue.received([0x0B]) == [])
    }

    @Test func aResponseToSomethingElseIsAFault() {
        var queue = ATTRequestQueue()
        _ = queue.submit(id: 1, [0x0A, 3, 0])
        let actions = queue.received([0x0D, 9])
        guard case .finish(id: 1, .failure(.peer(.malformed(_)))) = actions.last else {
            Issue.record("\(actions)")
            return
        }
    }

    @Test func afterATimeOutTheBearerIsDead() {
        var queue = ATTRequestQueue()
        _ = queue.submit(id: 1, [0x0A, 3, 0])
        _ = queue.submit(id: 2, [0x0A, 3, 0])
        #expect(queue.expired().count == 2)
        guard case .finish(id: 3, .failure(.peer(.timedOut(_)))) = queue.submit(id: 3, [0x0A, 3, 0]).first else {
            Issue.record("a dead bearer took a request")
            return
        }
        #expect(queue.isDead)
    }
}
