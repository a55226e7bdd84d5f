import Packets

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What a descriptor is watched for, and what it is ready for. The bits are those of `poll`, which are those of epoll, too.
public struct DescriptorInterest: OptionSet, Sendable, Hashable {
    public var rawValue: Int16
    @inlinable public init(rawValue: Int16) { self.rawValue = rawValue }

    @inlinable public static var read: DescriptorInterest { DescriptorInterest(rawValue: Int16(POLLIN)) }
    @inlinable public static var write: DescriptorInterest { DescriptorInterest(rawValue: Int16(POLLOUT)) }
    /// The other end is gone or sends no more, or the descriptor is broken; reading tells which. Always watched for.
    @inlinable public static var hangUp: DescriptorInterest {
        DescriptorInterest(rawValue: Int16(POLLHUP | POLLERR | POLLNVAL) | farEndSendsNoMore)
    }

    #if os(Linux)
        /// POLLRDHUP, which only an edge-triggered watch asks for.
        @inlinable static var farEndSendsNoMore: Int16 { 0x2000 }
    #else
        @inlinable static var farEndSendsNoMore: Int16 { 0 }
    #endif
}

/// When the action of a watched descriptor is called.
public enum DescriptorTrigger: Sendable {
    /// Again and again while it is ready.
    case level
    /// Perhaps only when it becomes ready, when it is ready as the watch begins, and when more comes; cheaper for sockets.
    ///
    /// Who watches so goes on until a read or a write is short or would block, and after a hang-up until a read says so. Who stops before that watches
    /// anew, and is called again with what is left.
    case edge
}

/// What a loop in wall time sleeps on: descriptors, a deadline, and a pipe by which other threads wake it.
protocol DescriptorWaiting: AnyObject {
    init(_ wakePipe: WakePipe)

    /// A watch takes the place of another of the same descriptor.
    func watch(
        _ descriptor: Int32, for interest: DescriptorInterest, triggered trigger: DescriptorTrigger,
        _ action: @escaping (DescriptorInterest) -> Void)
    /// Comes before the descriptor is closed. Its action is not called any more, even if it was found ready.
    func unwatch(_ descriptor: Int32)
    /// Sleeps until a descriptor is ready, the loop is woken, or the monotonic clock reaches `deadline`; true when there is something to serve.
    func poll(until deadline: Microseconds?) -> Bool
    /// Calls the actions of what the last poll found ready, and says how many.
    func serve() -> Int
}

/// A pipe by which any thread wakes a loop that sleeps on descriptors.
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
