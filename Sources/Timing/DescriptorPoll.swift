import BBPackets

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Descriptor watches on top of `poll`, which every system has. Edge-triggered watches are called while the level is ready.
final class DescriptorPoll: DescriptorWaiting {
    private struct Watch {
        var action: (DescriptorInterest) -> Void
        var serial: UInt64
    }

    private let wakePipe: WakePipe
    /// Entry 0 is the wake pipe.
    private var entries: [pollfd]
    private var watches: [Watch?] = [nil]
    private var nextSerial: UInt64 = 0
    /// Number of descriptors found ready by the last poll, without the wake pipe.
    private var found = 0

    init(_ wakePipe: WakePipe) {
        self.wakePipe = wakePipe
        entries = [pollfd(fd: wakePipe.input, events: Int16(POLLIN), revents: 0)]
    }

    func watch(
        _ descriptor: Int32, for interest: DescriptorInterest, triggered trigger: DescriptorTrigger,
        _ action: @escaping (DescriptorInterest) -> Void
    ) {
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

    func poll(until deadline: Microseconds?) -> Bool {
        found = 0
        if deadline == .zero, entries.count == 1 { return false }
        found = Int(systemPoll(&entries, until: deadline))
        guard found > 0, entries[0].revents != 0 else { return found > 0 }
        wakePipe.drain()
        found -= 1
        return found > 0
    }

    func serve() -> Int {
        guard found == 1 else { return serveAll() }
        var index = entries.count - 1
        while index > 0, entries[index].revents == 0 { index -= 1 }
        watches[index]?.action(DescriptorInterest(rawValue: entries[index].revents))
        return 1
    }

    /// Calls the actions of ready descriptors, and returns their number. An action may end another watch, or start one in its place.
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

/// Waits with `poll`, whose milliseconds are too coarse for air time; the last part of the wait uses `pselect`.
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
