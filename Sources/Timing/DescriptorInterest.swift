import BBPackets

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Watched events or readiness of a descriptor. The bits are those of `poll` and epoll.
public struct DescriptorInterest: OptionSet, Sendable, Hashable {
    public var rawValue: Int16
    @inlinable public init(rawValue: Int16) { self.rawValue = rawValue }

    @inlinable public static var read: DescriptorInterest { DescriptorInterest(rawValue: Int16(POLLIN)) }
    @inlinable public static var write: DescriptorInterest { DescriptorInterest(rawValue: Int16(POLLOUT)) }
    /// Hang-up, end of input or an error, which reading distinguishes. Always watched.
    @inlinable public static var hangUp: DescriptorInterest {
        DescriptorInterest(rawValue: Int16(POLLHUP | POLLERR | POLLNVAL) | farEndSendsNoMore)
    }

    #if os(Linux)
        /// POLLRDHUP, used only by edge-triggered watches.
        @inlinable static var farEndSendsNoMore: Int16 { 0x2000 }
    #else
        @inlinable static var farEndSendsNoMore: Int16 { 0 }
    #endif
}

/// Trigger of a descriptor watch.
public enum DescriptorTrigger: Sendable {
    /// Called repeatedly while the descriptor is ready.
    case level
    /// Called when the watch starts with a ready descriptor, when it becomes ready, and when more data arrives. Cheaper for sockets.
    ///
    /// The action must continue until a read or write is short or would block, and after a hang-up until a read reports it. To stop
    /// earlier, start the watch again; the action is then called again for the remaining data.
    case edge
}

/// Waiting of a loop in wall time: for descriptors, a deadline, or a wake-up by another thread.
protocol DescriptorWaiting: AnyObject {
    init(_ wakePipe: WakePipe)

    /// Starts a watch; replaces an existing watch of the descriptor.
    func watch(
        _ descriptor: Int32, for interest: DescriptorInterest, triggered trigger: DescriptorTrigger,
        _ action: @escaping (DescriptorInterest) -> Void)
    /// Ends a watch. Call it before the descriptor is closed. The action is not called any more, even if the descriptor was already found
    /// ready.
    func unwatch(_ descriptor: Int32)
    /// Waits until a descriptor is ready, the loop is woken, or the monotonic clock reaches `deadline`; true if there are actions to serve.
    func poll(until deadline: Microseconds?) -> Bool
    /// Calls the actions of the descriptors found ready by the last poll and returns their number.
    func serve() -> Int
}

/// A pipe with which any thread wakes a loop.
final class WakePipe: Sendable {
    let input: Int32
    private let output: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        if pipe(&ends) == 0 {
            for end in ends {
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            }
        }
        (input, output) = (ends[0], ends[1])
    }

    deinit {
        close(input)
        close(output)
    }

    func wake() {
        var octet: UInt8 = 1
        _ = write(output, &octet, 1)
    }

    func drain() {
        var scratch: (UInt64, UInt64) = (0, 0)
        while withUnsafeMutableBytes(of: &scratch, { read(input, $0.baseAddress, $0.count) }) == 16 {}
    }
}
