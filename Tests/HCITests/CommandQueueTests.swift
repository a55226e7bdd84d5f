import BBHCI
import BBPackets
import Testing

@Suite struct CommandQueueTests {
    private func answer(_ opcode: UInt16, credits: Int) -> CommandAnswer {
        CommandAnswer(opcode: opcode, credits: credits, kind: .complete, status: .success, returns: [0])
    }
    private func packet(_ opcode: UInt16) -> HCIPacket { HCIPacket(opcode: opcode, parameters: []) }

    @Test func commandsGoOutAsCreditsAllow() {
        var queue = CommandQueue()
        #expect(queue.submit(id: 1, opcode: 10, packet(10)) == [.transmit(id: 1, packet(10))])
        #expect(queue.submit(id: 2, opcode: 11, packet(11)) == [])
        #expect(queue.submit(id: 3, opcode: 12, packet(12)) == [])
        #expect(queue.answered(answer(10, credits: 0)) == [.finish(id: 1, answer(10, credits: 0))])
        #expect(queue.answered(answer(0, credits: 2)) == [.transmit(id: 2, packet(11)), .transmit(id: 3, packet(12))])
        #expect(queue.answered(answer(12, credits: 1)) == [.finish(id: 3, answer(12, credits: 1))])
        #expect(queue.answered(answer(11, credits: 1)) == [.finish(id: 2, answer(11, credits: 1))])
        #expect(queue.isIdle && queue.strayAnswers == 0)
    }

    @Test func answersNobodyWaitsForAreCounted() {
        var queue = CommandQueue()
        _ = queue.submit(id: 1, opcode: 10, packet(10))
        #expect(queue.answered(answer(99, credits: 1)) == [])
        #expect(queue.answered(answer(10, credits: 1)) == [.finish(id: 1, answer(10, credits: 1))])
        #expect(queue.answered(answer(10, credits: 1)) == [])
        #expect(queue.strayAnswers == 2)
    }

    @Test func creditsOfZeroForEverDoNotHangTheQueue() {
        var queue = CommandQueue()
        _ = queue.submit(id: 1, opcode: 10, packet(10))
        _ = queue.submit(id: 2, opcode: 11, packet(11))
        _ = queue.submit(id: 3, opcode: 12, packet(12))
        #expect(queue.answered(answer(10, credits: 0)) == [.finish(id: 1, answer(10, credits: 0))])
        #expect(queue.expire(id: 2) == [.transmit(id: 3, packet(12))])
        #expect(queue.expire(id: 3) == [])
        #expect(queue.submit(id: 4, opcode: 13, packet(13)) == [.transmit(id: 4, packet(13))])
    }

    @Test func theSameOpcodeTwiceIsAnsweredInOrder() {
        var queue = CommandQueue()
        _ = queue.answered(answer(0, credits: 2))
        _ = queue.submit(id: 1, opcode: 10, packet(10))
        _ = queue.submit(id: 2, opcode: 10, packet(10))
        #expect(queue.answered(answer(10, credits: 1)) == [.finish(id: 1, answer(10, credits: 1))])
        #expect(queue.answered(answer(10, credits: 1)) == [.finish(id: 2, answer(10, credits: 1))])
    }
}
