#if os(Linux)
    import Glibc

    /// The program at the other end of a device node's socket. Bypasses the preload library: reads and writes the program's memory directly
    /// and shortens its sleeps.
    ///
    /// The library can do the same with messages, but needs a round trip for each memory access. It also sleeps after every system call for
    /// the timer slack of the process, 50 us by default.
    final class ClientProcess {
        /// A write to the client's memory.
        struct Write {
            var address: UInt64
            var octets: [UInt8]
        }

        private let memory: Int32

        /// Returns nil if the system does not allow access to the process.
        init?(_ identifier: pid_t) {
            memory = open("/proc/\(identifier)/mem", O_RDWR | O_CLOEXEC)
            guard memory >= 0 else { return nil }
            Self.shortenSleeps(of: identifier)
        }

        deinit { close(memory) }

        /// Sets the timer slack of the program to the minimum, if the system allows it. Threads started later inherit it.
        private static func shortenSleeps(of identifier: pid_t) {
            let descriptor = open("/proc/\(identifier)/timerslack_ns", O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return }
            defer { close(descriptor) }
            var digit = UInt8(ascii: "1")
            _ = Glibc.write(descriptor, &digit, 1)
        }

        /// Returns nil if the address is invalid or the process has been replaced.
        func read(_ address: UInt64, _ count: Int) -> [UInt8]? {
            guard let offset = off_t(exactly: address) else { return nil }
            let octets = [UInt8](unsafeUninitializedCapacity: count) { room, filled in
                filled = max(0, pread(memory, room.baseAddress, count, offset))
            }
            return octets.count == count ? octets : nil
        }

        /// Returns false if not everything was written; writing everything again does no harm.
        func write(_ writes: [Write]) -> Bool {
            writes.allSatisfy { write in
                guard let offset = off_t(exactly: write.address) else { return false }
                return write.octets.isEmpty || pwrite(memory, write.octets, write.octets.count, offset) == write.octets.count
            }
        }
    }
#endif
