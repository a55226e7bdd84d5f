import BBPackets
import BBTiming

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension CaptureTime {
    /// Date of a loop's time zero: the system's date in wall time, a constant in virtual time.
    public static func epoch(of loop: RunLoop) -> CaptureTime {
        guard loop.mode == .wall else { return .virtualEpoch }
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let now = CaptureTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
        return now + (.zero - (MonotonicClock.now() - loop.origin))
    }
}
