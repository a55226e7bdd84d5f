#if os(Linux)
    import BBCSystemCalls
    import Glibc
    import BBPackets

    /// Descriptor watches registered with epoll, so that a wait does not pass the whole set.
    final class DescriptorEpoll: DescriptorWaiting {
        private struct Watch {
            /// Distinguishes events of this watch from late events of an earlier watch on the same descriptor.
            var serial: UInt32
            /// Constant readiness of a descriptor that epoll does not support.
            var constant: DescriptorInterest
            var action: (DescriptorInterest) -> Void
        }

        private let wakePipe: WakePipe
        private let epoll: Int32
        private let events: UnsafeMutablePointer<epoll_event>
        /// Number of events from the last wait.
        private var found = 0
        /// Watches by descriptor.
        private var watches: [Watch?] = []
        private var count = 0
        private var lastSerial: UInt32 = 0
        /// Descriptors that epoll does not support: plain files, which are always ready, and invalid descriptors.
        private var refused: [Int32] = []
        /// True if `epoll_pwait2` with nanosecond timeouts is available, since Linux 5.11.
        private var isFine: Bool

        private static let mostEvents = 64
        private static let wakeTag = UInt64.max

        convenience init(_ wakePipe: WakePipe) { self.init(wakePipe, isFine: true) }

        /// - Parameter isFine: false to avoid `epoll_pwait2`.
        init(_ wakePipe: WakePipe, isFine: Bool) {
            self.wakePipe = wakePipe
            self.isFine = isFine
            epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
            events = .allocate(capacity: Self.mostEvents)
            var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: Self.wakeTag))
            epoll_ctl(epoll, EPOLL_CTL_ADD, wakePipe.input, &event)
        }

        deinit {
            events.deallocate()
            close(epoll)
        }

        func watch(
            _ descriptor: Int32, for interest: DescriptorInterest, triggered trigger: DescriptorTrigger,
            _ action: @escaping (DescriptorInterest) -> Void
        ) {
            guard descriptor >= 0 else { return }
            let index = Int(descriptor)
            if index >= watches.count { watches.append(contentsOf: repeatElement(nil, count: index + 1 - watches.count)) }
            if watches[index] == nil { count += 1 }
            lastSerial &+= 1
            var watch = Watch(serial: lastSerial, constant: [], action: action)
            if !enter(descriptor, interest, trigger) {
                watch.constant = errno == EBADF ? .hangUp : interest.intersection([.read, .write])
            }
            watches[index] = watch
            refused.removeAll { $0 == descriptor }
            if !watch.constant.isEmpty { refused.append(descriptor) }
        }

        /// Adds or changes a watch in the kernel; false if the descriptor is not supported.
        private func enter(_ descriptor: Int32, _ interest: DescriptorInterest, _ trigger: DescriptorTrigger) -> Bool {
            var mask = UInt32(UInt16(bitPattern: interest.rawValue))
            if trigger == .edge {
                mask |= EPOLLET.rawValue
                if interest.contains(.read) { mask |= EPOLLRDHUP.rawValue }
            }
            let tag = UInt64(lastSerial) << 32 | UInt64(UInt32(bitPattern: descriptor))
            var event = epoll_event(events: mask, data: epoll_data_t(u64: tag))
            if epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 { return true }
            return errno == EEXIST && epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) == 0
        }

        func unwatch(_ descriptor: Int32) {
            guard watches.indices.contains(Int(descriptor)), watches[Int(descriptor)] != nil else { return }
            watches[Int(descriptor)] = nil
            count -= 1
            refused.removeAll { $0 == descriptor }
            var event = epoll_event()
            epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event)
        }

        func poll(until deadline: Microseconds?) -> Bool {
            found = 0
            if deadline == .zero, count == 0 { return false }
            found = max(0, Int(wait(until: refused.isEmpty ? deadline : .zero)))
            return found > 0 || !refused.isEmpty
        }

        func serve() -> Int {
            var served = 0
            for index in 0..<found {
                let (tag, readiness) = (events[index].data.u64, events[index].events)
                let descriptor = Int(truncatingIfNeeded: tag & 0xFFFF_FFFF)
                if tag == Self.wakeTag {
                    wakePipe.drain()
                } else if let watch = watches[descriptor], watch.serial == UInt32(truncatingIfNeeded: tag >> 32) {
                    watch.action(DescriptorInterest(rawValue: Int16(truncatingIfNeeded: readiness)))
                    served += 1
                }
            }
            return refused.isEmpty ? served : served + serveRefused()
        }

        /// Calls the actions of descriptors that epoll refuses, and returns their number. An action may end another watch.
        private func serveRefused() -> Int {
            let found = refused.compactMap { descriptor in watches[Int(descriptor)].map { (descriptor, $0) } }
            var served = 0
            for (descriptor, watch) in found where watches[Int(descriptor)]?.serial == watch.serial {
                watch.action(watch.constant)
                served += 1
            }
            return served
        }

        private func wait(until deadline: Microseconds?) -> Int32 {
            guard let deadline else { return epoll_wait_plainly(epoll, events, Int32(Self.mostEvents), -1) }
            guard deadline > .zero else { return epoll_wait_plainly(epoll, events, Int32(Self.mostEvents), 0) }
            let left = max(0, (deadline - MonotonicClock.now()).rawValue)
            if isFine {
                let found = epoll_wait_nanoseconds(epoll, events, Int32(Self.mostEvents), left * 1_000)
                if found >= 0 || errno == EINTR { return found }
                isFine = false
            }
            return waitCoarsely(left)
        }

        /// Waits with `epoll_wait`, whose milliseconds are too coarse for air time; the last part of the wait uses `poll` on the whole set.
        private func waitCoarsely(_ left: Int64) -> Int32 {
            if left >= 3_000 { return epoll_wait_plainly(epoll, events, Int32(Self.mostEvents), Int32(clamping: left / 1_000 - 1)) }
            guard poll_nanoseconds(epoll, left * 1_000) > 0 else { return 0 }
            return epoll_wait_plainly(epoll, events, Int32(Self.mostEvents), 0)
        }
    }
#endif
