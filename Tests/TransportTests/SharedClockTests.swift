import BBPackets
import BBTiming
import Foundation
import Testing

@testable import BBTransport

/// Clients, controllers and a simulation as lines of text: what happens, and what the clock answers.
private struct Exchange {
    var clock: SharedClock
    var now = Microseconds.zero
    var machine = Microseconds.seconds(1_000)

    init(ports: Int, limits: VirtualTimeLimits, outlivesClients: Bool) {
        clock = SharedClock(ports: (0..<ports).map { "port \($0)" }, limits: limits, outlivesClients: outlivesClients)
    }

    /// Events: `P hello NAME CLIENTS`, `P idle SECONDS|ever`, `P wake`, `P bye`, `P says` (a packet), `P lost`, `controller P`, `settle NEXT|none`, `at SECONDS`, `machine SECONDS`.
    mutating func play(_ line: String) throws -> String {
        let words = line.split(separator: " ").map(String.init)
        switch words[0] {
        case "controller":
            clock.sent(HCIPacket(.event, [0x0E, 0]), on: try #require(Int(words[1])))
            return ""
        case "at":
            now = Self.time(words[1]) ?? .never
            return ""
        case "machine":
            machine += Self.time(words[1]) ?? .zero
            return ""
        case "settle":
            var actions: [SharedClock.Action] = []
            let step = clock.settle(now: now, next: Self.time(words[1]), machine: machine, &actions)
            return (actions.map(text) + [text(step)]).joined(separator: ", ")
        default: return try client(try #require(Int(words[0])), words[1], words.dropFirst(2)).map(text).joined(separator: ", ")
        }
    }

    private mutating func client(_ port: Int, _ verb: String, _ rest: ArraySlice<String>) throws -> [SharedClock.Action] {
        switch verb {
        case "hello":
            let name = try #require(rest.first)
            return clock.greeted(
                port, TimeHello(name: name == "-" ? "" : name, clients: try #require(rest.last.flatMap { UInt8($0) })), at: now)
        case "future": return clock.greeted(port, TimeHello(version: 2), at: now)
        case "idle": return clock.received(.idle(until: Self.time(try #require(rest.first))), on: port, at: now)
        case "expects": return clock.received(.expect(clients: try #require(rest.first.flatMap { UInt8($0) })), on: port, at: now)
        case "wake": return clock.received(.wake, on: port, at: now)
        case "bye": return clock.received(.bye, on: port, at: now)
        case "time": return clock.received(.time(now), on: port, at: now)
        case "again": return clock.received(.hello(TimeHello()), on: port, at: now)
        case "lost": return clock.lost(port, because: "went away")
        default:
            #expect(verb == "says")
            return clock.received(HCIPacket(.command, [3, 12, 0]), on: port)
        }
    }

    private static func time(_ word: String) -> Microseconds? { Double(word).map { .seconds($0) } }

    private func text(_ action: SharedClock.Action) -> String {
        switch action {
        case .tell(let port, .welcome(_, let now)): "\(port) welcome \(now.seconds)"
        case .tell(let port, .time(let now)): "\(port) time \(now.seconds)"
        case .tell(let port, let message): "\(port) \(message)"
        case .pass(let port, _): "\(port) event"
        case .attach(let port): "attach \(port)"
        case .inject(let port, _): "inject \(port)"
        case .detach(let port): "detach \(port)"
        case .hangUp(let port): "hang up \(port)"
        case .refuse(let port, let text): "refuse \(port): \(text)"
        case .fail(let text): "fail: \(text)"
        }
    }

    private func text(_ step: TimeStep) -> String {
        switch step {
        case .again: "again"
        case .move(let limit): limit == .never ? "move" : "move to \(limit.seconds)"
        case .wait(let until): until.map { "wait \(($0 - machine).seconds)" } ?? "wait"
        }
    }
}

@Suite struct SharedClockTests {
    @Test(arguments: sharedClockStories + hostileClockStories)
    func aStoryGoesAsItIsWritten(_ story: Story) throws {
        var exchange = Exchange(ports: story.ports, limits: story.limits, outlivesClients: story.outlivesClients)
        for line in story.lines.split(separator: "\n").map(String.init) {
            let parts = line.components(separatedBy: " -> ")
            let answer = try exchange.play(parts[0])
            #expect(answer == (parts.count > 1 ? parts[1] : ""), "\(line)")
        }
        #expect(exchange.clock.hasFailed == story.lines.contains("fail:"))
    }

    @Test func randomClientsNeverTrapAndEachTurnEnds() {
        var random = RandomSource(seed: 1)
        for _ in 0..<500 {
            var exchange = Exchange(ports: 3, limits: VirtualTimeLimits(), outlivesClients: false)
            for _ in 0..<60 {
                let port = Int.random(in: 0..<3, using: &random)
                let verbs = [
                    "\(port) idle 1", "\(port) idle ever", "\(port) says", "\(port) wake", "\(port) bye", "controller \(port)", "settle 1",
                    "settle none",
                ]
                let isTaken = exchange.clock.isTaken(port)
                let verb = isTaken ? verbs[Int.random(in: 0..<verbs.count, using: &random)] : "\(port) hello c\(port & 1) 1"
                _ = try? exchange.play(verb)
            }
        }
    }
}
