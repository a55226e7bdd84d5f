import Packets

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What a descriptor is watched for, and what it is ready for.
public struct DescriptorInterest: OptionSet, Sendable, Hashable {
    public var rawValue: Int16
    public init(rawValue: Int16) { self.rawValue = rawValue }

    public static let read = DescriptorInterest(rawValue: Int16(POLLIN))
    public static let write = DescriptorInterest(rawValue: Int16(POLLOUT))
    /// The other end is gone or the descriptor is broken; reading tells which. Always watched for.
    public static let hangUp = DescriptorInterest(rawValue: Int16(POLLHUP | POLLERR | POLLNVAL))
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

/// The descriptors that a loop in wall time sleeps on.
final class DescriptorPoll {
    private struct Watch {
        var action: (DescriptorInterest) -> Void
        var serial: UInt64
    }

    private let wakePipe: WakePipe
    /// Entry 0 is the pipe.
    private var entries: [pollfd]
    private var watches: [Watch?] = [nil]
    private var nextSerial: UInt64 = 0
    /// How many descriptors the last poll found ready, the pipe not counted.
    private var found = 0

    init(_ wakePipe: WakePipe) {
        self.wakePipe = wakePipe
        entries = [pollfd(fd: wakePipe.input, events: Int16(POLLIN), revents: 0)]
    }

    func watch(_ descriptor: Int32, for interest: DescriptorInterest, _ action: @escaping (DescriptorInterest) -> Void) {
        unwatch(descriptor)
        entries.append(pollfd(fd: descriptor, events: interest.rawValue, revents: 0))
        watches.append(Watch(action: action, serial: nextSerial))
        nextSerial += 1
    }

    func unwatch(_ descriptor: Int32) {
        guard let index = entries.indices.dropFirst().first(where: { entries[$0].fd == descriptor }) else { return }
        entries.remove(at: index)
        watches.remove(at: index)
    }

    /// Sleeps until a descriptor is ready, the loop is woken, or the monotonic clock reaches `deadline`; true when a descriptor is ready.
    func poll(until deadline: Microseconds?) -> Bool {
        found = 0
        if deadline == .zero, entries.count == 1 { return false }
        found = Int(systemPoll(&entries, until: deadline))
        guard found > 0, entries[0].revents != 0 else { return found > 0 }
        wakePipe.drain()
        found -= 1
        return found > 0
    }

    /// Calls the actions of what the last poll found ready.
    func serve() -> Int {
        guard found == 1 else { return serveAll() }
        var index = entries.count - 1
        while index > 0, entries[index].revents == 0 { index -= 1 }
        watches[index]?.action(DescriptorInterest(rawValue: entries[index].revents))
        return 1
    }

    /// One action may end the watch of another that is ready, too, or begin a new one in its place.
    private func serveAll() -> Int {
        let found = entries.indices.dropFirst().compactMap { index in
            entries[index].revents == 0 ? nil : watches[index].map { ($0, DescriptorInterest(rawValue: entries[index].revents)) }
        }
        var served = 0
        for (watch, readiness) in found where watches.contains(where: { $0?.serial == watch.serial }) {
            watch.action(readiness)
            served += 1
        }
        return served
    }
}

/// `poll` counts milliseconds, too coarse for air time: the last stretch before a deadline is slept with `pselect`.
private func systemPoll(_ entries: inout [pollfd], until deadline: Microseconds?) -> Int32 {
    guard let deadline else { return poll(&entries, nfds_t(entries.count), -1) }
    guard deadline > .zero else { return poll(&entries, nfds_t(entries.count), 0) }
    let left = max(0, (deadline - MonotonicClock.now()).rawValue)
    if left >= 3_000 { return poll(&entries, nfds_t(entries.count), Int32(clamping: left / 1_000 - 1)) }
    var reading = fd_set()
    var writing = fd_set()
    var highest: Int32 = -1
    for entry in entries where entry.fd >= 0 && Int(entry.fd) < 8 * MemoryLayout<fd_set>.size {
        if entry.events & Int16(POLLIN) != 0 { mark(entry.fd, in: &reading) }
        if entry.events & Int16(POLLOUT) != 0 { mark(entry.fd, in: &writing) }
        highest = max(highest, entry.fd)
    }
    var time = timespec(tv_sec: 0, tv_nsec: Int(left) * 1_000)
    guard pselect(highest + 1, &reading, &writing, nil, &time, nil) > 0 else { return 0 }
    return poll(&entries, nfds_t(entries.count), 0)
}

private func mark(_ descriptor: Int32, in set: inout fd_set) {
    withUnsafeMutableBytes(of: &set) { $0[Int(descriptor) / 8] |= 1 << UInt8(descriptor % 8) }
}
