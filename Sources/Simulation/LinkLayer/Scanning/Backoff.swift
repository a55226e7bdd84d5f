import BBTiming

/// Backoff of active scanners, which avoids collisions of their requests. Core Vol 6, Part B, 4.4.3.2.
struct Backoff {
    private var upperLimit = 1
    private var count = 1
    private var successes = 0
    private var failures = 0

    /// Called for each advertisement that may be answered; returns true if this one should be.
    mutating func mayRequest() -> Bool {
        count -= 1
        return count <= 0
    }

    mutating func requestSucceeded(_ random: inout RandomSource) {
        failures = 0
        successes += 1
        if successes == 2 {
            successes = 0
            upperLimit = max(1, upperLimit / 2)
        }
        draw(&random)
    }

    mutating func requestFailed(_ random: inout RandomSource) {
        successes = 0
        failures += 1
        if failures == 2 {
            failures = 0
            upperLimit = min(256, upperLimit * 2)
        }
        draw(&random)
    }

    private mutating func draw(_ random: inout RandomSource) {
        count = Int.random(in: 1...upperLimit, using: &random)
    }
}
