import BBPackets
import Testing

@testable import BBTiming

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Each implementation of waiting for descriptors.
@Suite struct DescriptorTests {
    enum Way: CaseIterable, CustomTestStringConvertible {
        case poll
        #if os(Linux)
            case epoll
            /// A kernel without nanosecond timeouts.
            case epollByMilliseconds
        #endif

        var testDescription: String { "\(self)" }
        /// True if an edge-triggered watch is called for new events only.
        var knowsEdges: Bool { self != .poll }

        func make(_ wakePipe: WakePipe) -> any DescriptorWaiting {
            switch self {
            case .poll: DescriptorPoll(wakePipe)
            #if os(Linux)
                case .epoll: DescriptorEpoll(wakePipe)
                case .epollByMilliseconds: DescriptorEpoll(wakePipe, isFine: false)
            #endif
            }
        }
    }

    /// Watched descriptors, and the calls of their actions.
    private final class Bench {
        let wakePipe = WakePipe()
        let waiting: any DescriptorWaiting
        var seen: [String] = []
        private var open: [Int32] = []

        init(_ way: Way) { waiting = way.make(wakePipe) }

        deinit { for descriptor in open { systemClose(descriptor) } }

        /// Both ends of a non-blocking stream socket.
        func pair() throws -> (Int32, Int32) {
            var ends: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, streamSocket, 0, &ends) == 0)
            for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
            open += ends
            return (ends[0], ends[1])
        }

        func close(_ descriptor: Int32) {
            open.removeAll { $0 == descriptor }
            systemClose(descriptor)
        }

        func keep(_ descriptor: Int32) { open.append(descriptor) }

        func watch(_ descriptor: Int32, _ name: String, for interest: DescriptorInterest = .read, _ trigger: DescriptorTrigger = .level) {
            waiting.watch(descriptor, for: interest, triggered: trigger) { [unowned self] in seen.append("\(name)\(words($0))") }
        }

        /// Waits for an event that must arrive, and serves it.
        func turn() -> Int { turn(until: MonotonicClock.now() + .seconds(300)) }

        func turn(until deadline: Microseconds) -> Int { waiting.poll(until: deadline) ? waiting.serve() : -1 }

        /// Serves events that have already arrived.
        func look() -> Int { waiting.poll(until: .zero) ? waiting.serve() : 0 }

        private func words(_ readiness: DescriptorInterest) -> String {
            [(DescriptorInterest.read, "r"), (.write, "w"), (.hangUp, "h")].filter { !readiness.isDisjoint(with: $0.0) }.map(\.1).joined()
        }
    }

    @Test(arguments: Way.allCases, [DescriptorTrigger.level, .edge])
    func whatCameBeforeTheWatchIsToldAndNewsAgain(way: Way, trigger: DescriptorTrigger) throws {
        let bench = Bench(way)
        let (near, far) = try bench.pair()
        send(far, 1)
        bench.watch(near, "a", for: .read, trigger)
        #expect(bench.turn() == 1)
        let isSilent = way.knowsEdges && trigger == .edge
        #expect(bench.look() == (isSilent ? 0 : 1), "what was told and not read")
        send(far, 1)
        #expect(bench.turn() == 1, "more has come")
        bench.watch(near, "b", for: .read, trigger)
        #expect(bench.turn() == 1, "a new watch is told of what was left")
        #expect(bench.seen == (isSilent ? ["ar", "ar", "br"] : ["ar", "ar", "ar", "br"]))
        #expect(receive(near) == 2)
        #expect(bench.look() == 0)
    }

    @Test(arguments: Way.allCases, [DescriptorTrigger.level, .edge])
    func aHangUpIsToldWithTheDataBeforeIt(way: Way, trigger: DescriptorTrigger) throws {
        let bench = Bench(way)
        let (near, far) = try bench.pair()
        bench.watch(near, "a", for: .read, trigger)
        send(far, 3)
        shutdown(far, Int32(SHUT_WR))
        #expect(bench.turn() == 1)
        #expect(bench.seen == [way.knowsEdges && trigger == .edge ? "arh" : "ar"])
        #expect(receive(near) == 3)
        bench.close(far)
        #expect(bench.turn() == 1)
        #expect(bench.seen.last == "arh")
        #expect(receive(near) == 0)
    }

    @Test(arguments: Way.allCases, [DescriptorTrigger.level, .edge])
    func roomToWriteIsToldOnceThereIsSome(way: Way, trigger: DescriptorTrigger) throws {
        let bench = Bench(way)
        let (near, far) = try bench.pair()
        let filling = [UInt8](repeating: 7, count: 4096)
        while write(near, filling, filling.count) > 0 {}
        bench.watch(near, "a", for: [.read, .write], trigger)
        #expect(bench.look() == 0)
        while receive(far) > 0 {}
        #expect(bench.turn() == 1)
        bench.watch(near, "b", for: .read, trigger)
        #expect(bench.look() == 0)
        #expect(bench.seen == ["aw"])
    }

    @Test(arguments: Way.allCases) func anActionMayEndOrReplaceTheWatchOfAnotherThatIsReady(way: Way) throws {
        let bench = Bench(way)
        let pairs = [try bench.pair(), try bench.pair(), try bench.pair()]
        let waiting = bench.waiting
        for (index, pair) in pairs.enumerated() {
            waiting.watch(pair.0, for: .read, triggered: .edge) { _ in
                bench.seen.append("first")
                _ = receive(pair.0)
                waiting.unwatch(pairs[(index + 1) % 3].0)
                bench.watch(pairs[(index + 2) % 3].0, "new", for: .read, .edge)
            }
            send(pair.1, 1)
        }
        #expect(bench.turn() == 1, "one has silenced both others")
        #expect(bench.turn() == 1, "the new watch is told of what it has missed")
        #expect(bench.seen == ["first", "newr"])
        // They refer to each other.
        for pair in pairs { waiting.unwatch(pair.0) }
    }

    @Test(arguments: Way.allCases, [true, false])
    func aNumberThatIsUsedAgainIsAnotherDescriptor(way: Way, isEndedFirst: Bool) throws {
        let bench = Bench(way)
        let (near, far) = try bench.pair()
        let (other, otherFar) = try bench.pair()
        bench.watch(near, "old", for: .read, .edge)
        send(far, 1)
        if isEndedFirst { bench.waiting.unwatch(near) }
        // Closes the descriptor, too: no other thread can get its number in between.
        try #require(dup2(other, near) == near)
        bench.watch(near, "new", for: .read, .edge)
        #expect(bench.look() == 0)
        send(otherFar, 1)
        #expect(bench.turn() == 1)
        #expect(bench.seen == ["newr"])
    }

    @Test(arguments: Way.allCases) func aPlainFileIsAlwaysReadyAndNoDescriptorIsAHangUp(way: Way) throws {
        let bench = Bench(way)
        let file = open(#filePath, O_RDONLY)
        try #require(file >= 0)
        bench.keep(file)
        let (near, far) = try bench.pair()
        bench.watch(file, "file")
        bench.watch(near, "a")
        #expect(bench.turn() == 1)
        #expect(bench.look() == 1)
        send(far, 1)
        #expect(bench.turn() == 2, "it keeps nobody else from being served")
        #expect(bench.seen.sorted() == ["ar", "filer", "filer", "filer"])
        bench.waiting.unwatch(file)
        #expect(bench.turn() == 1)
        bench.waiting.unwatch(near)
        #expect(bench.look() == 0)
        bench.seen = []
        let none = dup(file)
        systemClose(none)
        bench.watch(none, "none")
        #expect(bench.turn() == 1)
        #expect(bench.seen == ["noneh"])
    }

    @Test(arguments: Way.allCases) func aWaitEndsByAWakeAndNotBeforeItsDeadline(way: Way) throws {
        let bench = Bench(way)
        let (near, _) = try bench.pair()
        bench.watch(near, "a")
        bench.wakePipe.wake()
        #expect(bench.turn() <= 0, "nothing to serve")
        #expect(bench.look() == 0, "woken once")
        for delay: Microseconds in [300, 2_900, 7_400] {
            let deadline = MonotonicClock.now() + delay
            var waits = 0
            while MonotonicClock.now() < deadline {
                #expect(bench.turn(until: deadline) <= 0)
                waits += 1
            }
            // Whole milliseconds, then the rest; a clock with a finer resolution than the deadline may need one more wait.
            #expect(waits <= 3, "a wait that ends early is no wait")
        }
        #expect(bench.seen.isEmpty)
    }

    private func send(_ descriptor: Int32, _ count: Int) {
        let octets = [UInt8](repeating: 7, count: count)
        #expect(write(descriptor, octets, count) == count)
    }

    /// Number of octets available, up to a maximum; negative if none.
    private func receive(_ descriptor: Int32) -> Int {
        var octets = [UInt8](repeating: 0, count: 1 << 16)
        return read(descriptor, &octets, octets.count)
    }
}

#if canImport(Glibc)
    private let streamSocket = Int32(SOCK_STREAM.rawValue)
#else
    private let streamSocket = SOCK_STREAM
#endif

/// `close` of the C library, which a method of the bench hides.
private func systemClose(_ descriptor: Int32) { _ = close(descriptor) }
