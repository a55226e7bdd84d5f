import Timing

extension RunLoop {
    /// Waits, in wall time, until `condition` holds; false after two seconds.
    public func wait(for condition: @escaping () -> Bool) async throws -> Bool {
        for _ in 0..<20_000 {
            if condition() { return true }
            try await sleep(for: 100)
        }
        return condition()
    }
}
