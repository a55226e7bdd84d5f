import BBCases
import BBPackets
import BBTiming

/// The end of the last step by the timestamps of packets, from which windows are measured.
///
/// In virtual time the earliest and the latest time are the loop's `now`. In real time the bench receives a packet after its timestamp, and
/// a command takes effect between its sending and its answer. The lower limits of later packets are measured from the earliest time, the
/// upper limits from the latest.
struct TimeReference: Sendable {
    private(set) var earliest: Microseconds
    private(set) var latest: Microseconds
    /// The side that answered a command, if the step was a command.
    private(set) var commanded: Side?
    /// The positions in the log after which observations of a side were sent after the last command took effect.
    private(set) var sentAfter: [Side: Int] = [:]

    init(_ time: Microseconds) {
        earliest = time
        latest = time
    }

    /// Creates the reference of an answered command.
    init(_ reply: Endpoint.Reply, of side: Side) {
        earliest = reply.sentAt
        latest = reply.answeredAt
        commanded = side
        sentAfter[side] = reply.index
    }

    /// Advances to a packet or to the end of a period. A packet received earlier changes nothing.
    mutating func pass(to time: Microseconds) {
        earliest = max(earliest, time)
        latest = max(latest, time)
        commanded = nil
    }

    /// Records that observations of the side from `index` on were sent after the command.
    mutating func order(_ side: Side, from index: Int) { sentAfter[side] = index }
}

/// The limits of a window in the loop's time.
struct WindowLimits: Sendable {
    /// The reference of the limits, for messages.
    var origin: TimeReference
    /// The limits of valid timestamps.
    var notBefore: Microseconds = .zero
    var notAfter: Microseconds = .never
    /// The time until which the bench waits for a packet.
    var waitUntil: Microseconds
    /// True if the case ends before the window.
    var isCut = false
    /// The extension of both limits so far because of the machine's delays.
    private(set) var granted = Microseconds.zero

    init(origin: TimeReference, notBefore: Microseconds = .zero, notAfter: Microseconds = .never, waitUntil: Microseconds) {
        self.origin = origin
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.waitUntil = waitUntil
    }

    /// Extends the window by the machine's delays in it, so that the subject has its full time.
    ///
    /// - Parameters:
    ///   - delays: the sum of all delays in the window, including this extension.
    ///   - slack: the tolerance that every window already has.
    ///   - last: the latest end of the window.
    /// - Returns: false if there is nothing to extend.
    mutating func prolong(by delays: Microseconds, slack: Microseconds, last: Microseconds) -> Bool {
        guard delays > slack, delays > granted, waitUntil < last else { return false }
        let more = min(delays - granted, last - waitUntil)
        if notAfter != .never { notAfter = notAfter + more }
        waitUntil = waitUntil + more
        granted = granted + more
        return true
    }

    /// Returns the mismatch of a timestamp outside the window.
    func violation(at time: Microseconds) -> Mismatch? {
        if time < notBefore {
            let limit = (notBefore - origin.earliest).text
            return Mismatch(expected: "it no earlier than after \(limit)", actual: "it after \((time - origin.earliest).text)")
        }
        guard time > notAfter else { return nil }
        let limit = (notAfter - origin.latest).text
        return Mismatch(expected: "it no later than after \(limit)", actual: "it after \((time - origin.latest).text)")
    }
}

extension CaseRun {
    /// Returns the limits of a window that starts now. The end of a window for an expected packet is extended by the run's slack; the bench
    /// waits for the slack again, because a packet with a valid timestamp may still be in transit.
    ///
    /// - Parameter isForbidden: true for a window in which nothing may occur: it is not extended.
    func limits(of window: Window?, _ step: Step, _ scope: Scope, isForbidden: Bool = false) throws -> WindowLimits {
        let reference = scope.reference
        var limits = WindowLimits(origin: reference, waitUntil: deadline(of: step))
        if let after = window?.notBefore { limits.notBefore = reference.earliest + (try duration(after, at: step.side, scope)) }
        if let within = window?.within {
            let end = reference.latest + (try duration(within, at: step.side, scope))
            limits.isCut = end > caseDeadline
            limits.notAfter = min(isForbidden ? end : end + bench.slack, caseDeadline)
            limits.waitUntil = min(limits.notAfter + bench.slack, caseDeadline)
        }
        return limits
    }

    /// Returns the position at which a step that forbids or counts packets starts. Packets that a real device sent before a command took
    /// effect may arrive after the answer of another device: the observed device is then sent a command, and packets after its answer are
    /// in order.
    func start(_ since: String?, _ side: Side, _ scope: inout Scope) async throws -> Int {
        let searchStart = try searchStart(since, scope)
        guard since == nil else { return searchStart }
        if let first = scope.reference.sentAfter[side] { return max(searchStart, first) }
        guard bench.isForeign, scope.reference.commanded != nil, let end = bench.end(side),
            let reply = try await end.command(opcode: HCICommands.ReadBDADDR.opcode, parameters: [], until: loop.now + .seconds(1))
        else { return searchStart }
        scope.reference.order(side, from: reply.index)
        return max(searchStart, reply.index)
    }
}
