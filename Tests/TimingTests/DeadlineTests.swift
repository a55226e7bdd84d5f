import BBPackets
import BBTiming
import Testing

/// Many deadlines, set, moved and removed in random order, compared with a list sorted by deadline and order of setting.
@Suite struct DeadlineTests {
    private struct Expected {
        var deadline: Microseconds
        var order: Int
        var name: Int
    }

    @Test(arguments: [(count: 6, span: 4), (count: 40, span: 3), (count: 300, span: 1_000), (count: 300, span: 20)])
    func actionsRunByDeadlineThenByOrderOfSetting(count: Int, span: Int) throws {
        let loop = RunLoop()
        var random = RandomSource(seed: UInt64(count + span), label: "deadlines")
        var ran: [Int] = []
        var expected: [Expected] = []
        var timers: [Timer] = (0..<count / 2).map { name in loop.keep { ran.append(name) } }
        let kept = timers.count
        for order in 0..<count * 4 {
            let deadline = Microseconds(Int(random.next() % UInt64(span)))
            let choice = Int(random.next() % UInt64(timers.count))
            switch random.next() % 4 {
            case 0:
                timers.append(loop.schedule(at: deadline) { [name = timers.count] in ran.append(name) })
                expected.append(Expected(deadline: deadline, order: order, name: timers.count - 1))
            case 1:
                if choice < kept { loop.unset(timers[choice]) } else { loop.cancel(timers[choice]) }
                expected.removeAll { $0.name == choice }
                #expect(!loop.isSet(timers[choice]))
            default:
                let name = choice % kept
                loop.set(timers[name], at: deadline)
                expected.removeAll { $0.name == name }
                expected.append(Expected(deadline: deadline, order: order, name: name))
            }
        }
        expected.sort { ($0.deadline, $0.order) < ($1.deadline, $1.order) }
        try loop.run { try await loop.sleep(until: Microseconds(span)) }
        #expect(ran == expected.map(\.name))
    }
}
