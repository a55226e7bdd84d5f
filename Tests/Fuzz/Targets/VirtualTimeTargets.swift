import BBPackets
import BBTiming
import Foundation

@testable import BBTransport

extension FuzzTarget {
    /// Octets of clients for a virtual-time server with two ports, beside packets of the controllers: time never goes back, only members
    /// get something, a controller is attached before it is used, and nothing happens after a failure.
    static let virtualTimeServers = FuzzTarget(
        name: "virtual-time-server", layer: { $0.kind == 1 ? .hciEvents : nil }, seeds: { conversations },
        run: { input in
            let frames = Frames(input)
            var clock = ClockTrial()
            for frame in frames.list { try clock.take(frame) }
            try clock.settle(steps: 8)
        })

    private static let hello = TimeMessage.hello(TimeHello(name: "a", clients: 2)).octets
    private static let reset: [UInt8] = [1, 3, 0x0C, 0]

    private static let conversations: [[UInt8]] = {
        func stream(_ port: Int, _ octets: [UInt8], pause: Int = 3) -> Frames.Frame {
            Frames.Frame(action: .init(end: port, kind: 0, pause: pause), packet: octets)
        }
        func event(_ port: Int) -> Frames.Frame { Frames.Frame(action: .init(end: port, kind: 1), packet: [0x0E, 4, 1, 3, 0x0C, 0]) }
        let step = Frames.Frame(action: .init(end: 0, kind: 2, pause: 4), packet: [9])
        let idle = TimeMessage.idle(until: 5_000).octets
        let alone = TimeMessage.hello(TimeHello()).octets
        return [
            [stream(0, alone + reset + idle), step, event(0), step, stream(0, TimeMessage.wake.octets), step],
            [
                stream(0, hello), stream(1, TimeMessage.hello(TimeHello(name: "b", clients: 2)).octets), stream(0, idle), stream(1, idle),
                step,
            ],
            [stream(0, alone + TimeMessage.expect(clients: 2).octets + idle), step, stream(1, alone + idle), step, step],
            [stream(0, alone + TimeMessage.idle(until: nil).octets), event(0), step, stream(0, TimeMessage.bye.octets), step],
            [stream(0, TimeMessage.welcome(version: 1, now: 7).octets), stream(1, TimeMessage.fault("f").octets + reset)],
        ].map { Frames($0).octets() }
    }()

    /// Octets of a virtual-time server for our client: the pipe ends with a reason, and time never goes back.
    static let virtualTimeClients = FuzzTarget(
        name: "virtual-time-client", layer: { _ in nil }, seeds: { servers },
        run: { input in try ClientTrial().run(Frames(input).list.flatMap(\.packet)) })

    private static let servers: [[UInt8]] = {
        let (welcome, event) = (TimeMessage.welcome(version: 1, now: 1_000).octets, [0x04, 0x0E, 4, 1, 3, 0x0C, 0] as [UInt8])
        return [
            [welcome, event, TimeMessage.time(2_000).octets], [welcome, TimeMessage.time(.never).octets, event],
            [welcome, TimeMessage.fault("no").octets], [event, welcome, TimeMessage.idle(until: nil).octets],
            [welcome, TimeMessage.time(500).octets, event, TimeMessage.time(400).octets],
        ].map { pieces in Frames(pieces.map { Frames.Frame(action: .init(end: 0), packet: $0) }).octets() }
    }()
}

/// A shared clock with two ports, driven as `VirtualTimeServer` drives it.
private struct ClockTrial {
    private var clock = SharedClock(ports: ["one", "two"])
    private var framers = [TimeFramer(), TimeFramer()]
    private var isMember = [false, false]
    private var isAttached = [false, false]
    private var now = Microseconds.zero
    private var machine = Microseconds.zero
    private var next: Microseconds?

    mutating func take(_ frame: Frames.Frame) throws {
        let port = frame.action.end
        switch frame.action.kind {
        case 0: try receive(frame.packet, at: port)
        case 1: clock.sent(HCIPacket(.event, frame.packet), on: port)
        case 2:
            next = frame.packet.first.map { now + Microseconds(Int64($0) * 1_000) }
            try settle(steps: 4)
        default:
            if isMember[port] { try perform(clock.lost(port, because: "went")) }
            (isMember[port], framers[port]) = (false, TimeFramer())
        }
        machine = machine + frame.action.pause
    }

    private mutating func receive(_ octets: [UInt8], at port: Int) throws {
        try octets.withUnsafeBytes { all in
            var rest = all
            while true {
                let item: TimeFramer.Item?
                do { item = try framers[port].next(of: &rest) } catch {
                    if isMember[port] { try perform(clock.lost(port, because: "broke the protocol: \(error)")) }
                    return hangUp(port)
                }
                guard let item else { return }
                try take(item, at: port)
            }
        }
    }

    private mutating func hangUp(_ port: Int) { (isMember[port], framers[port]) = (false, TimeFramer()) }

    private mutating func take(_ item: TimeFramer.Item, at port: Int) throws {
        if case .message(let message) = item {
            try promise(message.octets.count <= TimeMessage.headerLength + TimeMessage.longestPayload, "a message of too many octets")
        }
        if isMember[port] {
            switch item {
            case .packet(let packet): try perform(clock.received(packet, on: port))
            case .message(let message): try perform(clock.received(message, on: port, at: now))
            }
        } else if case .message(.hello(let hello)) = item, !clock.hasFailed {
            isMember[port] = true
            try perform(clock.greeted(port, hello, at: now))
        } else {
            hangUp(port)
        }
    }

    mutating func settle(steps: Int) throws {
        for _ in 0..<steps {
            var actions: [SharedClock.Action] = []
            let step = clock.settle(now: now, next: next, machine: machine, &actions)
            try perform(actions)
            switch step {
            case .again: continue
            case .wait: return
            case .move(let limit):
                try promise(limit >= now || limit == .never, "time goes from \(now.rawValue) to \(limit.rawValue)")
                let deadline = min(limit, next ?? .never)
                guard deadline < .never else { return }
                now = max(now, deadline)
                if next.map({ $0 <= now }) == true { next = nil }
            }
        }
    }

    private mutating func perform(_ actions: [SharedClock.Action]) throws {
        for action in actions {
            switch action {
            case .tell(let port, let message):
                try promise(isMember[port], "port \(port) is told \(message), and has no client")
                if case .time(let time) = message { try promise(time == now, "told \(time.rawValue) at \(now.rawValue)") }
            case .pass(let port, _): try promise(isMember[port], "a packet for port \(port), which has no client")
            case .attach(let port):
                try promise(!isAttached[port], "port \(port) is attached twice")
                isAttached[port] = true
            case .inject(let port, _): try promise(isAttached[port], "a packet for the controller of port \(port), which has none")
            case .detach(let port):
                try promise(isAttached[port], "port \(port) is detached twice")
                isAttached[port] = false
            case .hangUp(let port): hangUp(port)
            case .refuse(let port, _):
                try promise(!isAttached[port], "port \(port) is refused, and has a controller")
                hangUp(port)
            case .fail: for port in 0...1 { hangUp(port) }
            }
        }
    }
}

/// Our client at a socket whose other end is the input.
private final class ClientTrial: HCITransportSink {
    private let loop = BBTiming.RunLoop(mode: .virtual, watchesDescriptors: true)
    private var closed: Promise<Void>?
    private var latest = Microseconds.zero
    private var hasGoneBack = false
    private static let listener = Listener()

    func received(_ packet: HCIPacket, at time: Microseconds) {
        if time < latest { hasGoneBack = true }
        latest = time
    }

    func closed(_ reason: TransportError) { closed?.fulfil(()) }

    func run(_ octets: [UInt8]) throws {
        let client = try VirtualTimeClient(.unix(path: Self.listener.path), on: loop)
        defer { client.close() }
        let peer = accept(Self.listener.descriptor, nil, nil)
        try promise(peer >= 0, "nobody has called")
        defer { close(peer) }
        try promise(write(peer, octets, octets.count) == octets.count, "the socket is full")
        shutdown(peer, Int32(SHUT_WR))
        let promised = Promise<Void>(on: loop)
        closed = promised
        try client.open(self)
        loop.schedule(after: .milliseconds(2)) {}
        // Time that moves to its end leaves nothing to wait for.
        do { try loop.run { try await promised.value() } } catch RunLoopError.stalled {}
        try promise(!hasGoneBack, "time has gone back")
        loop.end()
    }

    private final class Listener: Sendable {
        let path = ScratchFile(".socket").path
        let descriptor: Int32

        init() {
            descriptor = socket(AF_UNIX, streamSocket, 0)
            unlink(path)
            _ = SocketAddress.unix(path: path).withSystemAddresses(passive: true) { _, system, length in
                bind(descriptor, system, length) == 0 ? .success(0) : .failure(SystemError(code: errno))
            }
            listen(descriptor, 8)
        }
    }
}
