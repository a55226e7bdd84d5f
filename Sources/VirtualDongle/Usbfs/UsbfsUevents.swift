#if os(Linux)
    import Glibc

    /// Sends udev events of added and removed dongles to programs under umockdev's preload library.
    ///
    /// The library replaces each netlink socket with a socket `event<number>` in the tree. Messages sent there have libudev's format: a
    /// header with hashes used by listeners as a filter, then the properties of the device.
    struct UsbfsUevents {
        enum Action: String {
            case add
            case remove
        }

        let root: String
        private static let headerLength: UInt32 = 40

        func send(_ action: Action, _ place: UsbfsTree.Place) {
            let message = Self.message(action, place)
            for path in listeners { deliver(message, to: path) }
        }

        private var listeners: [String] {
            guard let folder = opendir(root) else { return [] }
            defer { closedir(folder) }
            var paths: [String] = []
            while let entry = readdir(folder) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                    pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name.hasPrefix("event") { paths.append(root + "/" + name) }
            }
            return paths
        }

        /// Ignores a listener that has exited: its socket is left behind.
        private func deliver(_ message: [UInt8], to path: String) {
            let raw = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            let descriptor = socket(AF_UNIX, raw, 0)
            guard descriptor >= 0 else { return }
            defer { close(descriptor) }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let octets = Array(path.utf8)
            guard octets.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: octets) }
            let length = socklen_t(MemoryLayout<sockaddr_un>.size)
            _ = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { sendto(descriptor, message, message.count, 0, $0, length) }
            }
        }

        static func message(_ action: Action, _ place: UsbfsTree.Place) -> [UInt8] {
            let lines = [
                "ACTION=\(action.rawValue)", "DEVPATH=/devices/\(place.name)", "SUBSYSTEM=usb", "SEQNUM=\(place.deviceNumber)",
                "DEVNAME=/dev/\(place.node)", "DEVTYPE=usb_device", "MAJOR=189", "MINOR=\(place.minor)", "BUSNUM=001",
                "DEVNUM=\(place.deviceNumber)",
            ]
            let properties: [UInt8] = lines.flatMap { Array($0.utf8) + [0] }
            var header: [UInt8] = Array("libudev".utf8) + [0]
            header += big(0xFEED_CAFE)
            header += little(headerLength) + little(headerLength) + little(UInt32(properties.count))
            header += big(murmur("usb")) + big(murmur("usb_device")) + big(0) + big(0)
            return header + properties
        }

        private static func little(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) } }
        private static func big(_ value: UInt32) -> [UInt8] { little(value).reversed() }

        /// MurmurHash2 with seed 0, used by libudev filters.
        static func murmur(_ text: String) -> UInt32 {
            let factor: UInt32 = 0x5BD1_E995
            let octets = Array(text.utf8)
            var hash = UInt32(octets.count)
            for start in stride(from: 0, to: octets.count & ~3, by: 4) {
                var word = UInt32(truncatingIfNeeded: octets.little(start, 4)) &* factor
                word = (word ^ word >> 24) &* factor
                hash = hash &* factor ^ word
            }
            let rest = octets.count & 3
            if rest > 0 { hash = (hash ^ UInt32(truncatingIfNeeded: octets.little(octets.count - rest, rest))) &* factor }
            hash = (hash ^ hash >> 13) &* factor
            return hash ^ hash >> 15
        }
    }
#endif
