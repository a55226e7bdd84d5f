import Cases
import Packets
import Timing

/// When the last step ended, as the packets' own stamps tell it: windows are measured from here.
///
/// In virtual time all of this is one instant, the loop's `now`. On a wall clock the bench comes to a packet a little after its stamp, and a command
/// takes effect somewhere between its sending and its answer. What follows it may come no earlier than counted from the one, no later than counted
/// from the other.
struct TimeReference: Sendable {
    private(set) var earliest: Microseconds
    private(set) var latest: Microseconds
    /// Whose answer to a command it is, if it is one.
    private(set) var commanded: Side?
    /// Where each end's observations begin that it sent after the last command took effect.
    private(set) var sentAfter: [Side: Int] = [:]

    init(_ time: Microseconds) {
        earliest = time
        latest = time
    }

    /// An answered command.
    init(_ reply: Endpoint.Reply, of side: Side) {
        earliest = reply.sentAt
        latest = reply.answeredAt
        commanded = side
        sentAfter[side] = reply.index
    }

    /// A packet has come, or the end of a span. A packet that was there already takes no time.
    mutating func pass(to time: Microseconds) {
        earliest = max(earliest, time)
        latest = max(latest, time)
        commanded = nil
    }

    /// What the side sends from `index` on, it sent after the command.
    mutating func order(_ side: Side, from index: Int) { sentAfter[side] = index }
}

/// The limits of a window, in the loop's time.
struct WindowLimits: Sendable {
    /// What the limits are measured from, for messages.
    var origin: TimeReference
    /// Stamps outside of these do not count.
    var notBefore: Microseconds = .zero
    var notAfter: Microseconds = .never
    /// How long the bench waits before it says that nothing came.
    var waitUntil: Microseconds
    /// Added to both limits so far, because the machine was late within the window.
    private(set) var granted = Microseconds.zero

    init(origin: TimeReference, notBefore: Microseconds = .zero, notAfter: Microseconds = .never, waitUntil: Microseconds) {
        self.origin = origin
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.waitUntil = waitUntil
    }

    /// Prolongs the window by delays of the machine within it, so that a subject has all of its time.
    ///
    /// - Parameters:
    ///   - delays: all delays within the window, this prolongation's included.
    ///   - slack: prolongs every window anyway.
    ///   - last: no window ends later.
    /// - Returns: false where nothing is left to grant.
    mutating func prolong(by delays: Microseconds, slack: Microseconds, last: Microseconds) -> Bool {
        guard delays > slack, delays > granted, waitUntil < last else { return false }
        let more = min(delays - granted, last - waitUntil)
        if notAfter != .never { notAfter = notAfter + more }
        waitUntil = waitUntil + more
        granted = granted + more
        return true
    }

    /// What is wrong with a stamp outside of the window.
    func violation(at time: Microseconds) -> Mismatch? {
        if time < notBefore {
            let limit = (notBefore - origin.earliest).text
            return Mismatch(path: "", expected: "it no earlier than after \(limit)", actual: "it after \((time - origin.earliest).text)")
        }
        guard time > notAfter else { return nil }
        let limit = (notAfter - origin.latest).text
        return Mismatch(path: "", expected: "it no later than after \(limit)", actual: "it after \((time - origin.latest).text)")
    }
}

extension CaseRun {
    /// The limits of a window that begins now. The end of a window in which something must come is put off by the run's slack; and the bench waits for
    /// as long again, as a packet stamped in time may still be on its way through the machine.
    ///
    /// - Parameter isForbidden: the window is one in which nothing must come: it is not prolonged.
    func limits(of window: Window?, _ step: Step, _ scope: Scope, isForbidden: Bool = false) throws -> WindowLimits {
        let reference = scope.reference
        var limits = WindowLimits(origin: reference, waitUntil: deadline(of: step))
        if let after = window?.notBefore { limits.notBefore = reference.earliest + (try duration(after, at: step.side)) }
        if let within = window?.within {
            let end = reference.latest + (try duration(within, at: step.side))
            limits.notAfter = min(isForbidden ? end : end + bench.slack, caseDeadline)
            limits.waitUntil = min(limits.notAfter + bench.slack, caseDeadline)
        }
        return limits
    }

    /// Where a step that forbids or counts packets begins to look. What a real device had sent before a command took effect may arrive after the
    /// command's answer, when another device gave it: the observed one then answers a command of its own, and what it sends is in order.
    func start(_ since: String?, _ side: Side, _ scope: inout Scope) async throws -> Int {
        let searchStart = try searchStart(since, scope)
        guard since == nil else { return searchStart }
        if let first = scope.reference.sentAfter[side] { return max(searchStart, first) }
        guard bench.isForeign, scope.reference.commanded != nil, let end = bench.end(side),
            let opcode = PDUCodec.opcode(of: "Read_BD_ADDR"),
            let reply = try await end.command(opcode: opcode, parameters: [], until: loop.now + .seconds(1))
        else { return searchStart }
        scope.reference.order(side, from: reply.index)
        return max(searchStart, reply.index)
    }
}
