import DequeModule
import Packets

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

/// One thread's order of things: actor jobs, timers and foreign events, against a virtual or the wall clock.
///
/// As an executor it drains every ready job before time moves. In virtual mode time then jumps to the next deadline; in wall mode the loop waits for it,
/// and while it is late, `now` stays at the deadline being served, so that what runs on the loop keeps its own arithmetic.
///
/// Everything but `post(_:)` belongs to the thread that made the loop, which is the one that runs it. What lives on the loop need not be `Sendable`: the
/// compiler keeps it from other threads, and its closures may be handed to the loop, since they are handed over and run by the same thread.
///
/// `@unchecked Sendable`: whatever takes or calls a closure checks the thread; only `mailbox`, which is `Sendable`, is used from others.
public final class RunLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    public enum Mode: Sendable {
        case virtual
        case wall
    }

    public let mode: Mode
    /// Time since the loop was made.
    public private(set) var now: Microseconds = .zero
    /// How many jobs and timers have run.
    public private(set) var steps = 0
    /// How much of what was started has not ended.
    public internal(set) var activityCount = 0
    /// How many deadlines are set.
    public var deadlineCount: Int { timers.count }

    private var ready = Deque<UnownedJob>()
    /// `@exclusivity(unchecked)`: the list calls nobody back and hands out every action it lets go of, so no access is ever within another.
    @exclusivity(unchecked) private var timers = DeadlineList()
    private let mailbox: Mailbox
    private let descriptors: SystemDescriptors?
    private let thread = pthread_self()
    private var isRunning = false
    private var foreignEnqueues = 0
    /// The monotonic clock when the loop was made: its time zero in wall mode.
    public let origin = MonotonicClock.now()

    public init(mode: Mode = .virtual) {
        self.mode = mode
        let wakePipe = mode == .wall ? WakePipe() : nil
        descriptors = wakePipe.map { SystemDescriptors($0) }
        mailbox = Mailbox { wakePipe?.wake() }
    }

    // MARK: Scheduling

    /// Runs `action` on the loop when `deadline` has come; a deadline in the past means as soon as the ready jobs are done.
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

    /// Keeps `action` for deadlines that are set again and again with `set(_:at:)`, until `discard(_:)`.
    public func keep(_ action: @escaping () -> Void) -> Timer {
        checkIsolated()
        return timers.keep(action)
    }

    /// Sets the deadline of a kept action, in place of one set before.
    public func set(_ timer: Timer, at deadline: Microseconds) {
        checkIsolated()
        timers.set(timer, at: max(deadline, now))
    }

    /// Takes the deadline of a kept action away.
    public func unset(_ timer: Timer) {
        checkIsolated()
        timers.unset(timer)
    }

    public func isSet(_ timer: Timer) -> Bool { timers.isSet(timer) }

    /// Lets go of a kept action.
    public func discard(_ timer: Timer) {
        checkIsolated()
        _ = timers.discard(timer)
    }

    /// Brings an event from any thread onto the loop.
    public func post(_ action: @escaping @Sendable () -> Void) {
        mailbox.put(action)
    }

    /// Calls `action` on the loop whenever `descriptor` is ready, until `unwatch(_:)`. Only in wall mode.
    ///
    /// The action must read or write what made the descriptor ready: `trigger` says how much of it. A plain file is always ready.
    public func watch(
        _ descriptor: Int32, for interest: DescriptorInterest, triggered trigger: DescriptorTrigger = .level,
        _ action: @escaping (DescriptorInterest) -> Void
    ) {
        checkIsolated()
        descriptors?.watch(descriptor, for: interest, triggered: trigger, action)
    }

    /// Ends a watch; before the descriptor is closed.
    public func unwatch(_ descriptor: Int32) {
        checkIsolated()
        descriptors?.unwatch(descriptor)
    }

    /// Waits until `deadline`; a cancelled wait ends at once and leaves no timer behind.
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

    /// Starts `body` on the loop, beside the caller. It does not begin before the caller waits for something.
    public func start<Value>(_ body: @escaping () async throws -> Value) -> Activity<Value> { Activity(on: self, body) }

    /// Runs `body` and whatever it starts until it returns.
    ///
    /// - Throws: what `body` throws, or `RunLoopError` when the run can never end or was entered from outside.
    public func run<Value>(_ body: @escaping () async throws -> Value) throws -> Value {
        guard isOnLoop else { throw RunLoopError.runByOtherThread }
        guard !isRunning else { throw RunLoopError.alreadyRunning }
        isRunning = true
        defer { isRunning = false }
        let activity = start(body)
        let progress = activity.progress
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

    /// Lets go of every deadline, kept action and letter; nothing of them runs any more.
    ///
    /// What lives on a loop holds it, and is held by its actions: without this end such a world would stay in memory.
    public func end() {
        checkIsolated()
        // Only then do the actions go, for what goes with them may still call the loop.
        let gone = (timers, mailbox.takeAll())
        timers = DeadlineList()
        withExtendedLifetime(gone) {}
    }

    /// One turn: all ready jobs, then foreign events, then the next deadline. False when nothing can ever happen again.
    private func turn() -> Bool {
        if runReadyJobs() { return true }
        switch mode {
        case .virtual: return turnVirtual()
        case .wall: return turnWall()
        }
    }

    private func turnVirtual() -> Bool {
        if mailbox.isFilled, takeMail() { return true }
        guard let (deadline, action) = timers.popEarliest() else { return false }
        now = deadline
        steps &+= 1
        action()
        return true
    }

    private func turnWall() -> Bool {
        // With no deadline and no mail nothing asks for the time until a descriptor is ready.
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

    /// Calls what is due, some of it at least, and takes the mail; true when more is due already.
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

    /// `now` follows the wall clock, unless a deadline that has passed still waits to be served.
    private func catchUp(with wall: Microseconds) {
        if timers.earliest.map({ $0 > wall }) ?? true { now = max(now, wall) }
    }

    /// Calls the actions of descriptors that are ready, after what has become due before: else `now` would stay at the deadline before that, and what comes from outside
    /// would be timed from there.
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

    /// Whether the caller is on the loop's thread.
    public var isOnLoop: Bool { pthread_equal(thread, pthread_self()) != 0 }

    public func checkIsolated() {
        precondition(isOnLoop, "called from outside the run loop")
    }

    public func isIsolatingCurrentContext() -> Bool? { isOnLoop }
}

/// Why a run could not end.
public enum RunLoopError: Error, Equatable, CustomStringConvertible {
    /// Nothing is ready, nothing is due, and the body has not returned.
    case stalled(at: Microseconds)
    /// Jobs reached a virtual run from other threads: its order would no longer be its own.
    case enteredFromOutside(jobs: Int)
    case alreadyRunning
    /// A loop is run by the thread that made it.
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
