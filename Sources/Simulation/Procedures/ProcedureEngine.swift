import BBPackets
import DequeModule

/// Runs the control procedures of one link: local procedures one after another, the peer's as they arrive.
///
/// It routes PDUs, keeps instants and timeouts, and resolves collisions. It has no I/O and no clock: it returns the actions to take, in
/// order.
struct ProcedureEngine<Layer: ControlLayer> {
    /// An action for the link.
    enum Output {
        case send(Layer.PDU)
        /// Send a PDU with the instant of a change; its first transmission has to be reported to `announces(noEarlierThan:)`.
        case announce(Layer.PDU)
        /// The link state has changed.
        case changed(Layer.Change)
        case report(Layer.Report)
        case disconnect(ErrorCode)
    }

    private struct Running {
        let number: Int
        let initiator: ProcedureInitiator
        var procedure: any Procedure<Layer>
        /// Deadline of the procedure response timeout.
        var deadline: Microseconds?
    }

    private struct PendingChange {
        var instant: Int
        var change: Layer.Change
        /// Number of the procedure that scheduled the change.
        var number: Int
        /// True until the PDU that names the instant is sent.
        var isUnannounced = false
    }

    private var running: [Running] = []
    private var waiting = Deque<any Procedure<Layer>>()
    private var pending: [PendingChange] = []
    /// PDUs of the peer that are deferred until the exclusive procedure is over.
    private var deferred = Deque<(message: Layer.Message, opcode: Layer.Opcode)>()
    private var outputs: [Output] = []
    private var lastNumber = 0
    private let instantOffset: Int
    private let faults: ProcedureFaults
    /// Deadline that a rejected procedure has left, as an injected fault.
    private var leftDeadline: Microseconds?

    /// Maximum number of concurrent procedures of the peer.
    static var capacity: Int { 16 }

    /// - Parameters:
    ///   - instantOffset: events after its instant at which a change is applied; 0 unless a fault is injected.
    ///   - faults: injected faults.
    init(instantOffset: Int = 0, faults: ProcedureFaults = []) { (self.instantOffset, self.faults) = (instantOffset, faults) }

    // MARK: Queries

    /// Next deadline at which the link must call `timedOut`.
    var deadline: Microseconds? {
        let next = running.lazy.compactMap(\.deadline).min()
        return leftDeadline.map { min($0, next ?? $0) } ?? next
    }
    /// Instant of the next change.
    var nextInstant: Int? { pending.lazy.map(\.instant).min() }
    /// True while data PDUs must wait.
    var holdsData: Bool { running.contains { $0.procedure.holdsData } }
    /// Error code with which the link ends if data arrives now; nil if data is allowed.
    var violation: ErrorCode? { running.isEmpty ? nil : running.lazy.compactMap { $0.procedure.violation }.first }
    /// Parameters that the running procedures may put into use.
    var pendingParameters: [Layer.Pending] { running.compactMap { $0.procedure.pendingParameters } }
    /// True if the peer may have something to send at any time.
    var isAwaitingPeer: Bool { running.contains { $0.procedure.isAwaitingPeer || isTerminating($0) } }
    /// True if the local device is ending the link.
    var isTerminating: Bool { running.contains { $0.initiator == .local && isTerminating($0) } }
    /// True if either device is ending the link.
    var isEnding: Bool { running.contains { isTerminating($0) } }
    /// True if no procedure, change or PDU is running or pending.
    var isIdle: Bool { running.isEmpty && waiting.isEmpty && pending.isEmpty && deferred.isEmpty }

    /// True if a local procedure of this kind is running or queued.
    func isBusy(with kind: Layer.Kind) -> Bool {
        running.contains { $0.initiator == .local && $0.procedure.kind == kind } || waiting.contains { $0.kind == kind }
    }

    private func isTerminating(_ running: Running) -> Bool { Layer.collisions.terminating.contains(running.procedure.kind) }

    // MARK: Events

    /// Starts a local procedure, after those requested earlier.
    mutating func request(_ procedure: some Procedure<Layer>, at now: Microseconds, _ context: inout Layer.Context) -> [Output] {
        if !Layer.collisions.terminating.contains(procedure.kind) {
            waiting.append(procedure)
            startWaiting(at: now, &context)
        } else if !isTerminating {
            for index in running.indices where running[index].initiator == .local { running[index].deadline = nil }
            _ = begin(procedure, .local, .start, at: now, &context)
        }
        return takeOutputs()
    }

    mutating func received(
        _ message: Layer.Message, _ opcode: Layer.Opcode, at now: Microseconds, _ context: inout Layer.Context
    ) -> [Output] {
        take(message, opcode, at: now, &context)
        return takeOutputs()
    }

    /// Handles a PDU that cannot be decoded.
    mutating func receivedUnknown(_ opcode: Layer.Opcode, _ context: Layer.Context) -> [Output] {
        guard !running.contains(where: { $0.initiator == .remote && isTerminating($0) }) else { return [] }
        if let violation { outputs.append(.disconnect(violation)) } else { answerUnknown(opcode, context) }
        return takeOutputs()
    }

    /// Passes a reply of the host to the procedure that awaits it.
    ///
    /// - Returns: nil if no procedure awaits a reply from the host.
    mutating func hostReplied(_ reply: Layer.HostReply, at now: Microseconds, _ context: inout Layer.Context) -> [Output]? {
        offer(.hostReplied(reply), to: nil, at: now, &context) ? takeOutputs() : nil
    }

    mutating func acknowledged(_ opcode: Layer.Opcode, at now: Microseconds, _ context: inout Layer.Context) -> [Output] {
        tellAll(.acknowledged(opcode), at: now, &context)
    }

    mutating func acknowledgementSent(at now: Microseconds, _ context: inout Layer.Context) -> [Output] {
        tellAll(.acknowledgementSent, at: now, &context)
    }

    /// Postpones the change whose PDU is about to be sent for the first time, if its instant is too early by now.
    ///
    /// - Parameter instant: the earliest instant that the PDU may name.
    /// - Returns: the number of events by which the instant is later.
    mutating func announces(noEarlierThan instant: Int) -> Int {
        guard let index = pending.firstIndex(where: \.isUnannounced) else { return 0 }
        pending[index].isUnannounced = false
        let delay = max(0, instant - (pending[index].instant - instantOffset))
        pending[index].instant += delay
        return delay
    }

    /// Takes the instant of a change as it is, because its PDU passes a fault that delays or replaces it.
    mutating func announced() -> [Output] {
        _ = announces(noEarlierThan: 0)
        return []
    }

    /// Applies the first change that is due by `instant`; nil if none is due.
    mutating func reachInstant(_ instant: Int, at now: Microseconds, _ context: inout Layer.Context) -> [Output]? {
        let indices = pending.indices.filter { !pending[$0].isUnannounced && pending[$0].instant <= instant }
        guard let first = indices.min(by: { pending[$0].instant < pending[$1].instant }) else { return nil }
        let due = pending.remove(at: first)
        let isChanged = apply(due.change, at: due.instant, &context)
        if let index = running.firstIndex(where: { $0.number == due.number }) {
            _ = give(.instantReached(isChanged: isChanged), to: index, at: now, &context)
        }
        return takeOutputs()
    }

    /// Handles an expired procedure response timeout. Core Vol 6, Part B, 5.2.
    mutating func timedOut(at now: Microseconds, _ context: inout Layer.Context) -> [Output] {
        guard let index = running.firstIndex(where: { $0.deadline.map { $0 <= now } ?? false }) else {
            return leftDeadline.map { $0 <= now } ?? false ? [.disconnect(.lmpResponseTimeout)] : []
        }
        running[index].deadline = nil
        if !give(.timedOut, to: index, at: now, &context) { outputs.append(.disconnect(.lmpResponseTimeout)) }
        return takeOutputs()
    }

    /// Removes everything after the link has ended.
    mutating func removeAll() {
        running.removeAll()
        waiting.removeAll()
        pending.removeAll()
        deferred.removeAll()
        leftDeadline = nil
    }

    // MARK: Routing

    private mutating func take(_ message: Layer.Message, _ opcode: Layer.Opcode, at now: Microseconds, _ context: inout Layer.Context) {
        guard !running.contains(where: { $0.initiator == .remote && isTerminating($0) }) else { return }
        let initiator = Layer.initiator(of: message, context)
        let refusal = Layer.refusal(in: message)
        let event = refusal.map { ProcedureEvent<Layer>.refused($0) } ?? .message(message)
        if refusal != nil { spoilRejection(at: now) }
        if let exclusive {
            if give(event, to: exclusive, at: now, &context) { return }
            if refusal == nil, !faults.contains(.answersBesideEncryption), keeps(message, opcode, from: exclusive, context) { return }
        }
        if !offer(event, to: initiator, at: now, &context), refusal == nil { respond(to: message, opcode, at: now, &context) }
    }

    /// Defers a PDU that the exclusive procedure does not await, or ends the link because of it. False if the PDU itself ends the link.
    private mutating func keeps(
        _ message: Layer.Message, _ opcode: Layer.Opcode, from exclusive: Int, _ context: Layer.Context
    ) -> Bool {
        if case .begin(let procedure) = Layer.response(to: message, context), Layer.collisions.terminating.contains(procedure.kind) {
            return false
        }
        if let violation = running[exclusive].procedure.violation {
            outputs.append(.disconnect(violation))
        } else if deferred.count < Self.capacity {
            deferred.append((message, opcode))
        } else {
            answerUnknown(opcode, context)
        }
        return true
    }

    /// Handles the deferred PDUs after the exclusive procedure is over.
    private mutating func takeDeferred(at now: Microseconds, _ context: inout Layer.Context) {
        while exclusive == nil, let next = deferred.popFirst() { take(next.message, next.opcode, at: now, &context) }
    }

    /// Offers an event to the first procedure that awaits it, local procedures first.
    ///
    /// - Parameter initiator: restricts the offer to procedures of this initiator; nil for both.
    private mutating func offer(
        _ event: ProcedureEvent<Layer>, to initiator: ProcedureInitiator?, at now: Microseconds, _ context: inout Layer.Context
    ) -> Bool {
        for side in [.local, .remote] as [ProcedureInitiator] where initiator.map({ $0 == side }) ?? true {
            for index in running.indices where running[index].initiator == side {
                if give(event, to: index, at: now, &context) { return true }
            }
        }
        return false
    }

    private mutating func tellAll(
        _ event: ProcedureEvent<Layer>, at now: Microseconds, _ context: inout Layer.Context
    ) -> [Output] {
        guard !running.isEmpty else { return [] }
        for number in running.map(\.number) {
            guard let index = running.firstIndex(where: { $0.number == number }) else { continue }
            _ = give(event, to: index, at: now, &context)
        }
        return takeOutputs()
    }

    private mutating func respond(
        to message: Layer.Message, _ opcode: Layer.Opcode, at now: Microseconds, _ context: inout Layer.Context
    ) {
        switch Layer.response(to: message, context) {
        case .unknown: answerUnknown(opcode, context)
        case .reject(let reason): reject(opcode, reason, context)
        case .begin where faults.contains(.ignoresRequestsBeforeInstants) && !pending.isEmpty: break
        case .begin(let procedure):
            if let reason = collision(of: procedure.kind, context) { return reject(opcode, reason, context) }
            guard running.count < Self.capacity, begin(procedure, .remote, .message(message), at: now, &context) else {
                return answerUnknown(opcode, context)
            }
        }
    }

    private mutating func reject(_ opcode: Layer.Opcode, _ reason: ErrorCode, _ context: Layer.Context) {
        outputs.append(.send(Layer.rejection(of: opcode, reason, context)))
    }

    private mutating func answerUnknown(_ opcode: Layer.Opcode, _ context: Layer.Context) {
        if let pdu = Layer.unknown(opcode, context) { outputs.append(.send(pdu)) }
    }

    // MARK: Collisions

    /// Error code for a procedure of the peer that collides with a running one. In a collision with a local procedure, the device that
    /// prevails rejects; the other serves the peer's procedure, and its own is rejected.
    private func collision(of kind: Layer.Kind, _ context: Layer.Context) -> ErrorCode? {
        guard !Layer.collisions.indicated.contains(kind), !faults.contains(.rejectsNoCollision) else { return nil }
        let prevails = Layer.prevails(context)
        for side in [.local, .remote] as [ProcedureInitiator] where side == .remote || prevails {
            for other in running where other.initiator == side {
                if let reason = Layer.collisions.reason(against: kind, beside: other.procedure.kind) { return reason }
            }
        }
        return nil
    }

    /// Index of the running exclusive procedure.
    private var exclusive: Int? {
        guard !running.isEmpty, !Layer.collisions.exclusive.isEmpty else { return nil }
        return running.firstIndex { Layer.collisions.exclusive.contains($0.procedure.kind) }
    }

    /// True if a local procedure may start: one at a time, and not beside an incompatible one of the peer.
    private func mayStart(_ kind: Layer.Kind) -> Bool {
        if Layer.collisions.exclusive.contains(kind) { return running.isEmpty || faults.contains(.encryptsBesideOthers) }
        return running.allSatisfy { item in
            guard !Layer.collisions.exclusive.contains(item.procedure.kind) else { return faults.contains(.startsBesideEncryption) }
            return item.initiator == .remote
                && (faults.contains(.startsBesideServed) || Layer.collisions.reason(against: kind, beside: item.procedure.kind) == nil)
        }
    }

    /// Injects the faults about rejections.
    private mutating func spoilRejection(at now: Microseconds) {
        if faults.contains(.rejectionClearsInstants) { pending.removeAll() }
        if faults.contains(.rejectionLeavesTimeout) { leftDeadline = now + Layer.responseTimeout }
    }

    // MARK: Running

    private mutating func startWaiting(at now: Microseconds, _ context: inout Layer.Context) {
        while let next = waiting.first, mayStart(next.kind) {
            waiting.removeFirst()
            _ = begin(next, .local, .start, at: now, &context)
        }
    }

    /// Returns false if the procedure does not start with this event.
    private mutating func begin(
        _ procedure: any Procedure<Layer>, _ initiator: ProcedureInitiator, _ event: ProcedureEvent<Layer>, at now: Microseconds,
        _ context: inout Layer.Context
    ) -> Bool {
        lastNumber += 1
        running.append(Running(number: lastNumber, initiator: initiator, procedure: procedure))
        let hasBegun = give(event, to: running.count - 1, at: now, &context)
        if !hasBegun { running.removeLast() }
        return hasBegun
    }

    /// Returns false if the procedure does not await the event.
    private mutating func give(
        _ event: ProcedureEvent<Layer>, to index: Int, at now: Microseconds, _ context: inout Layer.Context
    ) -> Bool {
        guard let actions = running[index].procedure.handle(event, context) else { return false }
        let number = running[index].number
        for action in actions {
            switch action {
            case .send(let pdu): outputs.append(.send(pdu))
            case .announce(let pdu, let change, let instant):
                outputs.append(.announce(pdu))
                pending.append(PendingChange(instant: instant + instantOffset, change: change, number: number, isUnannounced: true))
            case .schedule(let change, let instant):
                pending.append(PendingChange(instant: instant + instantOffset, change: change, number: number))
            case .change(let change): _ = apply(change, at: nil, &context)
            case .report(let report): outputs.append(.report(report))
            case .continueWith(let next): continueWith(number, as: next, at: now, &context)
            case .finish: running.removeAll { $0.number == number }
            case .disconnect(let reason): outputs.append(.disconnect(reason))
            }
        }
        watch(number, at: now, context)
        takeDeferred(at: now, &context)
        startWaiting(at: now, &context)
        return true
    }

    /// Replaces a running procedure with another for the same initiator.
    private mutating func continueWith(
        _ number: Int, as next: any Procedure<Layer>, at now: Microseconds, _ context: inout Layer.Context
    ) {
        guard let index = running.firstIndex(where: { $0.number == number }) else { return }
        running[index].procedure = next
        _ = give(.start, to: index, at: now, &context)
    }

    private mutating func apply(_ change: Layer.Change, at instant: Int?, _ context: inout Layer.Context) -> Bool {
        let (isChanged, reports) = Layer.apply(change, at: instant, to: &context)
        outputs.append(.changed(change))
        for report in reports { outputs.append(.report(report)) }
        return isChanged
    }

    /// Restarts the response timeout after a step of a procedure. While the link is being terminated, only the termination procedure is
    /// timed.
    private mutating func watch(_ number: Int, at now: Microseconds, _ context: Layer.Context) {
        if faults.contains(.sharesTimeout) {
            for other in running.indices where running[other].deadline != nil { running[other].deadline = now + Layer.responseTimeout }
        }
        guard let index = running.firstIndex(where: { $0.number == number }) else { return }
        let item = running[index]
        let isTimed = item.procedure.isAwaitingPeer && (item.initiator == .remote || isTerminating(item) || !isTerminating)
        running[index].deadline = isTimed ? now + item.procedure.timeout(context) : nil
    }

    private mutating func takeOutputs() -> [Output] {
        guard !outputs.isEmpty else { return [] }
        defer { outputs.removeAll(keepingCapacity: true) }
        return outputs
    }
}
