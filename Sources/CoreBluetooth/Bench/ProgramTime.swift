#if os(Linux)
    import BBCProgramTime
    import BBPackets
    import BBTiming
    import Foundation

    /// The steady clock of programs in virtual time: `asyncAfter`, timers of run loops and Swift tasks of the thread of a bench, and of what
    /// these start, follow it. Functions of this package take the place of those of Dispatch, which Swift tasks use, too.
    final class ProgramTime: Sendable {
        private let carried: Carried<OpaquePointer>
        private var handle: OpaquePointer { carried.value }
        private let loop: PhoneLoop

        init(_ loop: PhoneLoop) {
            self.loop = loop
            let receiver = program_time_receiver(context: Unmanaged.passUnretained(loop).toOpaque()) { context, delay, item in
                guard let context, let item else { return }
                ProgramTime.add(item, after: delay, on: Unmanaged<PhoneLoop>.fromOpaque(context).takeUnretainedValue())
            }
            carried = Carried(program_time_create(receiver))
            // This thread, until another bench is made on it.
            program_time_release(program_time_enter(handle))
        }

        deinit {
            end()
            program_time_release(handle)
        }

        /// The programs have the clocks of the system again.
        func end() { program_time_end(handle) }

        /// The loop's time is that of the programs.
        func follow() { program_time_set(handle, Int64(loop.now.halfMicroseconds) * 500) }

        /// Calls a program, whose timers and tasks follow this clock.
        func inside<Value>(_ body: () throws -> Value) rethrows -> Value {
            let before = program_time_enter(handle)
            defer { program_time_leave(before) }
            return try body()
        }

        /// Calls Dispatch for the bench itself.
        static func outside<Value>(_ body: () throws -> Value) rethrows -> Value {
            let before = program_time_enter(nil)
            defer { program_time_leave(before) }
            return try body()
        }

        /// An item is due after a delay in nanoseconds; called on any thread.
        private static func add(_ item: UnsafeMutableRawPointer, after delay: Int64, on loop: PhoneLoop) {
            let delay = Microseconds.seconds(min(Double(delay) / 1_000_000_000, CBBench.longest))
            let carried = Carried(item)
            let start: @Sendable () -> Void = { _ = loop.schedule(after: delay) { program_time_start(carried.value) } }
            if loop.isOnLoop { start() } else { loop.post(start) }
        }

        // MARK: What runs

        /// True if timers of run loops are due now.
        func expire() -> Bool { program_time_expire(handle) }

        /// The number of blocks and tasks of the programs that have not ended.
        func items(onMain isMain: Bool) -> Int { program_time_items(handle, isMain) }

        /// Waits until at most a number of them is left, for seconds of wall time.
        func settles(onMain isMain: Bool, left: Int, within limit: TimeInterval) -> Bool {
            program_time_settle(handle, isMain, left, Int64(saturating: limit * 1_000_000_000))
        }
    }
#else
    import BBTiming

    /// Elsewhere the clocks of programs are those of the system.
    final class ProgramTime: Sendable {
        init(_ loop: PhoneLoop) {}
        func end() {}
        func follow() {}
        func inside<Value>(_ body: () throws -> Value) rethrows -> Value { try body() }
        static func outside<Value>(_ body: () throws -> Value) rethrows -> Value { try body() }
        func expire() -> Bool { false }
        func items(onMain isMain: Bool) -> Int { 0 }
        func settles(onMain isMain: Bool, left: Int, within limit: Double) -> Bool { true }
    }
#endif
