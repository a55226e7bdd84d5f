import BBPackets
import DequeModule

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

#if os(Linux)
    private typealias SystemDescriptors = DescriptorEpoll
#else
    private typealias SystemDescriptors = DescriptorPoll
#endif

/// A single-threaded event loop for actor jobs, timers and external events, in virtual or wall time.
///
/// As an executor it runs all ready jobs before time advances. In virtual mode time then jumps to the next deadline. In wall mode the loop
/// waits for it; while the loop is late, `now` stays at the deadline being served, so that time arithmetic on the loop stays exact.
///
/// All methods except `post(_:)` belong to the thread that created the loop, which is also the one that runs it. Objects on the loop need
/// not be `Sendable`: the compiler keeps them from other threads, and their closures are passed to the loop and called on the same thread.
///
/// `@unchecked Sendable`: every method that takes or calls a closure checks the thread; only `mailbox`, which is `Sendable`, is used from
/// other threads.
public final class RunLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    public enum Mode: Sendable {
        case virtual
        case wall
    }

    public let mode: Mode
    /// Time since the loop was created.
    public private(set) var now: Microseconds = .zero
    /// Number of jobs and timers that have run.
    public private(set) var steps = 0
    /// Number of activities that have not ended.
    public internal(set) var activityCount = 0
    /// Number of pending deadlines.
    public var deadlineCount: Int { timers.count }

    private var ready = Deque<UnownedJob>()
    /// `@exclusivity(unchecked)`: the list never calls out, and it returns removed actions instead of releasing them, so accesses never
    /// overlap.
    @exclusivity(unchecked) private var timers = DeadlineList()
    private let mailbox: Mailbox
    private let descriptors: SystemDescriptors?
    /// Decides when virtual time advances, if other programs share it.
    public var gate: (any TimeGate)?
    /// The number of steps of virtual time since descriptors were last polled.
    private var blindSteps = 0
    private let thread = pthread_self()
    private var isRunning = false
    private var foreignEnqueues = 0
    /// Monotonic time at which the loop was created: time zero in wall mode.
    public let origin = MonotonicClock.now()

    /// - Parameter watchesDescriptors: makes `watch(_:for:triggered:_:)` work in virtual mode; it always works in wall mode.
    public init(mode: Mode = .virtual, watchesDescriptors: Bool = false) {
        self.mode = mode
        let wakePipe = mode == .wall || watchesDescriptors ? WakePipe() : nil
        descriptors = wakePipe.map { SystemDescriptors($0) }
        mailbox = Mailbox { wakePipe?.wake() }
    }

    // MARK: Scheduling

    /// Runs `action` on the loop at `deadline`; a past deadline means right after the ready jobs.
    @discardableResult
    public func schedule(at deadline: Microseconds, _ action: @escaping () -> Void) -> Timer {
        checkIsolated()
        return timers.insert(at: max(deadline, now), action)
    }

    @discardableResult
    public func schedule(after delay: Microseconds, _ action: @escaping () -> Void) -> Timer {
        schedule(at: now + delay, action)
    }

    public func cancel(_ timer: Timer) {
        checkIsolated()
        _ = timers.remove(timer)
    }

    /// Keeps `action` for repeated deadlines with `set(_:at:)`, until `discard(_:)`.
    public func keep(_ action: @escaping () -> Void) -> Timer {
        checkIsolated()
        return timers.keep(action)
    }

    /// Sets the deadline of a kept action and replaces an earlier one.
    public func set(_ timer: Timer, at deadline: Microseconds) {
        checkIsolated()
        timers.set(timer, at: max(deadline, now))
    }

    /// Clears the deadline of a kept action.
    public func unset(_ timer: Timer) {
        checkIsolated()
        timers.unset(timer)
    }

    public func isSet(_ timer: Timer) -> Bool { timers.isSet(timer) }

    /// Removes a kept action.
    public func discard(_ timer: Timer) {
        checkIsolated()
        _ = timers.discard(timer)
    }

    /// Runs an action on the loop, from any thread.
    public func post(_ action: @escaping @Sendable () -> Void) {
        mailbox.put(action)
    }

    /// True if `watch(_:for:triggered:_:)` works on this loop.
    public var watchesDescriptors: Bool { descriptors != nil }

    /// Calls `action` on the loop when `descriptor` is ready, until `unwatch(_:)`. Ignored on a loop that watches no descriptors.
    ///
    /// The action must read or write the descriptor; `trigger` defines how far. A plain file is always ready.
    public func watch(
        _ descriptor: Int32, for interest: DescriptorInterest, triggered trigger: DescriptorTrigger = .level,
        _ action: @escaping (DescriptorInterest) -> Void
    ) {
        checkIsolated()
        descriptors?.watch(descriptor, for: interest, triggered: trigger, action)
    }

    /// Ends a watch. Call it before the descriptor is closed.
    public func unwatch(_ descriptor: Int32) {
        checkIsolated()
        descriptors?.unwatch(descriptor)
    }

    /// Waits until `deadline`. A cancelled wait ends at once and leaves no timer behind.
    public func sleep(until deadline: Microseconds) async throws(CancellationError) {
        let wait = Promise<Void>(on: self)
        let timer = schedule(at: deadline) { wait.fulfil(()) }
        do {
            try await wait.value()
        } catch {
            cancel(timer)
            throw CancellationError()
        }
    }

    public func sleep(for delay: Microseconds) async throws(CancellationError) {
        try await sleep(until: now + delay)
    }

    // MARK: Running

    /// Starts `body` on the loop concurrently with the caller. It does not start before the caller waits.
    public func start<Value>(_ body: @escaping () async throws -> Value) -> Activity<Value> { Activity(on: self, body) }

    /// Runs `body` and all activities that it starts, until it returns.
    ///
    /// - Throws: the error of `body`, or `RunLoopError` if the run cannot end or was entered from outside.
    public func run<Value>(_ body: @escaping () async throws -> Value) throws -> Value {
        guard isOnLoop else { throw RunLoopError.runByOtherThread }
        guard !isRunning else { throw RunLoopError.alreadyRunning }
        isRunning = true
        defer { isRunning = false }
        let activity = start(body)
        let progress = activity.progress
        if gate != nil { lookAtDescriptors() }
        while !progress.isOver {
            if !turn() {
                activity.cancel()
                while runReadyJobs() {}
                throw RunLoopError.stalled(at: now)
            }
            if mode == .virtual, foreignEnqueues > 0 { throw RunLoopError.enteredFromOutside(jobs: foreignEnqueues) }
        }
        while runReadyJobs() {}
        guard let result = activity.result else { throw RunLoopError.stalled(at: now) }
        return try result.get()
    }

    /// Removes all deadlines, kept actions and posted actions; none of them runs any more.
    ///
    /// Objects on a loop retain it and are retained by its actions. Without this call, such a reference cycle would never be released.
    public func end() {
        checkIsolated()
        // Actions are released last, because releasing them may call the loop.
        let gone = (timers, mailbox.takeAll(), gate)
        gate = nil
        timers = DeadlineList()
        withExtendedLifetime(gone) {}
    }

    /// One iteration: all ready jobs, then posted actions, then the next deadline. False if nothing can ever happen again.
    private func turn() -> Bool {
        if runReadyJobs() { return true }
        switch mode {
        case .virtual: return turnVirtual()
        case .wall: return turnWall()
        }
    }

    private func turnVirtual() -> Bool {
        if mailbox.isFilled, takeMail() { return true }
        if let gate, timers.earliest.map({ $0 > now }) ?? true { return turn(through: gate) }
        return serveEarliest()
    }

    private func serveEarliest() -> Bool {
        guard let (deadline, action) = timers.popEarliest() else { return false }
        now = deadline
        steps &+= 1
        action()
        return true
    }

    private func turn(through gate: any TimeGate) -> Bool {
        switch gate.settle(next: timers.earliest) {
        case .again: return true
        case .wait(let limit):
            wait(until: limit)
            return true
        case .move(let limit):
            blindSteps += 1
            if blindSteps >= 1_024 { lookAtDescriptors() }
            if let next = timers.earliest, next <= limit { return serveEarliest() }
            guard limit < .never else { return false }
            now = max(now, limit)
            return true
        }
    }

    /// Waits for descriptors and mail, at most until a time of the monotonic clock.
    private func wait(until limit: Microseconds?) {
        guard let descriptors, mailbox.beginSleep() else { return }
        let isReady = descriptors.poll(until: limit)
        mailbox.endSleep()
        blindSteps = 0
        if isReady { steps &+= descriptors.serve() }
    }

    private func lookAtDescriptors() {
        blindSteps = 0
        if let descriptors, descriptors.poll(until: .zero) { steps &+= descriptors.serve() }
    }

    private func turnWall() -> Bool {
        // Without deadlines and posted actions, the clock is not needed until a descriptor is ready.
        let isLate = timers.earliest != nil || mailbox.isFilled ? serveWhatIsDue() : false
        guard let descriptors else { return true }
        if isLate || !ready.isEmpty {
            if descriptors.poll(until: .zero) { serve(descriptors) }
        } else if mailbox.beginSleep() {
            let isReady = descriptors.poll(until: timers.earliest.map { $0 + origin })
            mailbox.endSleep()
            if isReady { serve(descriptors) }
        }
        return true
    }

    /// Runs due actions, at least one, and takes posted actions; true if more is already due.
    private func serveWhatIsDue() -> Bool {
        let wall = MonotonicClock.now() - origin
        var fired = 0
        while fired < 64, let deadline = timers.earliest, deadline <= wall, ready.isEmpty, let (due, action) = timers.popEarliest() {
            now = max(now, due)
            steps &+= 1
            fired += 1
            action()
        }
        catchUp(with: wall)
        _ = takeMail()
        return timers.earliest.map { $0 <= wall } ?? false
    }

    /// Advances `now` to the wall clock, unless a past deadline has not been served.
    private func catchUp(with wall: Microseconds) {
        if timers.earliest.map({ $0 > wall }) ?? true { now = max(now, wall) }
    }

    /// Calls the actions of ready descriptors after everything that was due before. Otherwise `now` would still be at an earlier deadline,
    /// and external events would be timed from there.
    private func serve(_ descriptors: SystemDescriptors) {
        _ = serveWhatIsDue()
        steps &+= descriptors.serve()
    }

    private func takeMail() -> Bool {
        let mail = mailbox.takeAll()
        for action in mail {
            steps &+= 1
            action()
        }
        return !mail.isEmpty
    }

    private func runReadyJobs() -> Bool {
        guard !ready.isEmpty else { return false }
        let serial = asUnownedSerialExecutor()
        let preferred = asUnownedTaskExecutor()
        while let job = ready.popFirst() {
            steps &+= 1
            job.runSynchronously(isolatedTo: serial, taskExecutor: preferred)
        }
        return true
    }

    // MARK: Executor

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isOnLoop {
            ready.append(job)
        } else {
            mailbox.put { [self] in
                if mode == .virtual { foreignEnqueues += 1 }
                ready.append(job)
            }
        }
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// True on the loop's thread.
    public var isOnLoop: Bool { pthread_equal(thread, pthread_self()) != 0 }

    public func checkIsolated() {
        precondition(isOnLoop, "called from outside the run loop")
    }

    public func isIsolatingCurrentContext() -> Bool? { isOnLoop }
}

/// Reason why a run could not complete.
public enum RunLoopError: Error, Equatable, CustomStringConvertible {
    /// Nothing is ready or due, and the body has not returned.
    case stalled(at: Microseconds)
    /// Jobs entered a virtual run from other threads, so that its order would not be reproducible.
    case enteredFromOutside(jobs: Int)
    case alreadyRunning
    /// The run was started on a thread other than the one that created the loop.
    case runByOtherThread

    public var description: String {
        switch self {
        case .stalled(let time): "the run stalled at \(time.seconds) s: nothing is ready and no timer is set"
        case .enteredFromOutside(let jobs): "\(jobs) jobs reached the virtual run from another thread"
        case .alreadyRunning: "the run loop is already running"
        case .runByOtherThread: "the run loop belongs to the thread that made it"
        }
    }
}
