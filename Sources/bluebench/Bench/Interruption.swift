import BBTiming

extension Promise where Value == Void {
    /// Runs `body` until it ends, or until this promise is settled, which cancels `body` and waits for its end.
    ///
    /// - Returns: the value of `body`; nil if the promise was settled first.
    /// - Throws: the error of `body`, or that of the promise.
    func interrupts<Output>(_ body: @escaping () async throws -> Output, on loop: RunLoop) async throws -> Output? {
        let either = Promise<Void>(on: loop)
        let work = loop.start {
            defer { either.fulfil(()) }
            return try await body()
        }
        let wait = loop.start { [self] in
            defer { either.fulfil(()) }
            try await value()
        }
        _ = try? await either.value()
        wait.cancel()
        work.cancel()
        await work.ended()
        await wait.ended()
        if case .failure(let error)? = result { throw error }
        return isSettled ? nil : try await work.value()
    }
}
