import BBPackets

/// A value to be delivered later on the same loop. It is fulfilled or failed once; later attempts have no effect.
public final class Promise<Value> {
    private let loop: RunLoop
    public private(set) var result: Result<Value, any Error>?
    private var waiters: [(id: Int, continuation: UnsafeContinuation<Void, any Error>)] = []
    private var nextWaiter = 0

    public init(on loop: RunLoop) {
        self.loop = loop
    }

    public var isSettled: Bool { result != nil }

    public func fulfil(_ value: Value) { settle(.success(value)) }
    public func fail(_ error: any Error) { settle(.failure(error)) }

    /// Waits for the value.
    ///
    /// - Parameter deadline: loop time at which the wait ends with `TimeOut`; the promise itself stays pending.
    /// - Throws: the error of the promise, `TimeOut`, or `CancellationError`.
    public func value(until deadline: Microseconds? = nil) async throws -> Value {
        if let result { return try result.get() }
        let id = nextWaiter
        nextWaiter += 1
        let timer = deadline.map { loop.schedule(at: $0) { self.abandon(id, with: TimeOut()) } }
        defer { if let timer { loop.cancel(timer) } }
        do { try await settled(id) } catch is TimeOut where result != nil {
            // The value has come since the deadline and before the waiting task could run.
        }
        guard let result else { throw CancellationError() }
        return try result.get()
    }

    /// Waits until the promise is settled or the wait `id` is abandoned.
    private func settled(_ id: Int) async throws {
        let bound = LoopBound(self, to: loop)
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                if result != nil {
                    continuation.resume()
                } else if Task.isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else {
                    waiters.append((id, continuation))
                }
            }
        } onCancel: { [loop] in
            let abandon: @Sendable () -> Void = { bound.value.abandon(id, with: CancellationError()) }
            if loop.isOnLoop { abandon() } else { loop.post(abandon) }
        }
    }

    private func settle(_ outcome: Result<Value, any Error>) {
        guard result == nil else { return }
        result = outcome
        let resumed = waiters
        waiters = []
        for waiter in resumed { waiter.continuation.resume() }
    }

    private func abandon(_ id: Int, with error: any Error) {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
        let waiter = waiters.remove(at: index)
        waiter.continuation.resume(throwing: error)
    }
}

/// A wait has reached its deadline.
public struct TimeOut: Error, Equatable, CustomStringConvertible {
    public init() {}
    public var description: String { "timed out" }
}
