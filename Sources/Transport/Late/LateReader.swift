import BBPackets
import BBTiming

/// The reading of a pipe by a busy machine: what has come meanwhile is handed on together.
public struct LateReading: Sendable, Hashable {
    /// Milliseconds from the first unread packet to the reading. A range is of random times, and of random numbers of packets.
    public var delay: ClosedRange<Int>
    /// True for all packets in one turn of the loop, between which no task runs; false for a turn each, at the same time.
    public var isJoined: Bool

    public init(_ delay: ClosedRange<Int>, isJoined: Bool = true) { (self.delay, self.isJoined) = (delay, isJoined) }

    /// The longest delay of the answer to a command: a controller has one second for it. Core Vol 4, Part E, 4.4.
    static let mostForAnswers = Microseconds.milliseconds(500)
}

/// Holds the packets of one direction until they are read.
public final class LateReader {
    private let reading: LateReading
    private let loop: RunLoop
    private let number: (ClosedRange<Int>) -> Int
    private let handOn: (HCIPacket) -> Void
    private var held: [HCIPacket] = []
    /// The numbers of packets for the next turns: those that have been read.
    private var turns: [Int] = []
    private var nextTurn: Timer?
    /// The next reading.
    private var timer: Timer?
    private var due = Microseconds.never

    /// - Parameters:
    ///   - number: a random number of a range.
    ///   - handOn: takes the packets in their order.
    public init(
        _ reading: LateReading, on loop: RunLoop, number: @escaping (ClosedRange<Int>) -> Int, handOn: @escaping (HCIPacket) -> Void
    ) {
        (self.reading, self.loop, self.number, self.handOn) = (reading, loop, number, handOn)
    }

    deinit { stopTimers() }

    public func add(_ packet: HCIPacket) {
        held.append(packet)
        if unread == 1 { read(at: loop.now + .milliseconds(number(reading.delay))) }
        if packet.isAnswer { read(at: loop.now + LateReading.mostForAnswers) }
    }

    /// Hands on everything at once.
    public func flush() {
        stopTimers()
        hand(held.count)
    }

    /// Discards everything.
    public func discard() {
        stopTimers()
        held.removeAll()
    }

    private var unread: Int { held.count - turns.reduce(0, +) }

    /// Reads at a time, unless it is to read before.
    private func read(at time: Microseconds) {
        guard timer == nil || time < due else { return }
        if let timer { loop.cancel(timer) }
        due = time
        timer = loop.schedule(at: time) { [unowned self] in read() }
    }

    /// Divides the unread packets among turns, with the same random numbers for both kinds of reading.
    private func read() {
        timer = nil
        while unread > 0 {
            let count = reading.delay.count > 1 ? number(1...unread) : unread
            turns += reading.isJoined ? [count] : [Int](repeating: 1, count: count)
        }
        if nextTurn == nil { takeTurn() }
    }

    private func takeTurn() {
        nextTurn = nil
        guard !turns.isEmpty else { return }
        let count = turns.removeFirst()
        if !turns.isEmpty { nextTurn = loop.schedule(after: .zero) { [unowned self] in takeTurn() } }
        hand(count)
    }

    private func hand(_ count: Int) {
        let part = held.prefix(count)
        held.removeFirst(count)
        for packet in part { handOn(packet) }
    }

    private func stopTimers() {
        for timer in [timer, nextTurn] { timer.map(loop.cancel) }
        (timer, nextTurn, turns) = (nil, nil, [])
    }
}

extension HCIPacket {
    /// True for Command_Complete and Command_Status.
    fileprivate var isAnswer: Bool { eventCode == HCIEvents.CommandComplete.code || eventCode == HCIEvents.CommandStatus.code }
}
