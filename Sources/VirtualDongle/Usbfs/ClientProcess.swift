#if os(Linux)
    import Glibc

    /// The program at the other end of a device node's socket, reached around the preload library: its memory is read and written directly, and its
    /// sleeps are short.
    ///
    /// The library can do all of it by messages, but takes a round trip for each piece of memory, and sleeps after every system call for as long as the
    /// process lets timers be late: 50 us when nobody says otherwise.
    final class ClientProcess {
        /// A piece of the client's memory to write.
        struct Write {
            var address: UInt64
            var octets: [UInt8]
        }

        private let memory: Int32

        /// Nil when the system does not let this process reach into the other.
        init?(_ identifier: pid_t) {
            memory = open("/proc/\(identifier)/mem", O_RDWR | O_CLOEXEC)
            guard memory >= 0 else { return nil }
            Self.shortenSleeps(of: identifier)
        }

        deinit { close(memory) }

        /// Lets timers of the program be exact, as far as the system allows that. Threads that start later inherit it.
        private static func shortenSleeps(of identifier: pid_t) {
            let descriptor = open("/proc/\(identifier)/timerslack_ns", O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return }
            defer { close(descriptor) }
            var digit = UInt8(ascii: "1")
            _ = Glibc.write(descriptor, &digit, 1)
        }

        /// Nil when the address is wrong, or the program is another by now.
        func read(_ address: UInt64, _ count: Int) -> [UInt8]? {
            guard let offset = off_t(exactly: address) else { return nil }
            let octets = [UInt8](unsafeUninitializedCapacity: count) { room, filled in
                filled = max(0, pread(memory, room.baseAddress, count, offset))
            }
            return octets.count == count ? octets : nil
        }

        /// False when not everything was written; to write all of it again does no harm.
        func write(_ writes: [Write]) -> Bool {
            writes.allSatisfy { write in
                guard let offset = off_t(exactly: write.address) else { return false }
                return write.octets.isEmpty || pwrite(memory, write.octets, write.octets.count, offset) == write.octets.count
            }
        }
    }
#endif
