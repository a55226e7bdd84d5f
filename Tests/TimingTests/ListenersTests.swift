import BBTiming
import Testing

@Suite struct ListenersTests {
    private final class Log {
        var lines: [String] = []
    }

    @Test func everybodyIsToldInOrder() {
        let listeners = Listeners<(Int) -> Void>()
        let log = Log()
        #expect(listeners.isEmpty)
        let first = listeners.add { log.lines.append("first \($0)") }
        listeners.add { log.lines.append("second \($0)") }
        listeners.tell { $0(1) }
        listeners.remove(first)
        listeners.remove(first)
        listeners.tell { $0(2) }
        listeners.removeAll()
        listeners.tell { $0(3) }
        #expect(log.lines == ["first 1", "second 1", "second 2"])
    }

    @Test func changesWhileOthersAreToldCountFromTheNextEventOn() {
        let listeners = Listeners<() -> Void>()
        let log = Log()
        var own: Listeners<() -> Void>.Token?
        own = listeners.add {
            log.lines.append("once")
            if let token = own { listeners.remove(token) }
            listeners.add { log.lines.append("added") }
        }
        listeners.tell { $0() }
        #expect(log.lines == ["once"])
        listeners.tell { $0() }
        #expect(log.lines == ["once", "added"])
    }

    @Test func aSpanIsToldAsItIs() {
        let listeners = Listeners<(RawSpan) -> Void>()
        let log = Log()
        for _ in 0..<2 { listeners.add { log.lines.append("\($0.byteCount)") } }
        let octets: [UInt8] = [1, 2, 3]
        listeners.tell { $0(octets.span.bytes) }
        #expect(log.lines == ["3", "3"])
    }
}
