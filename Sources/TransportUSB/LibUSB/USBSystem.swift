#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Information about a USB device that libusb does not provide; from /sys on Linux.
enum USBSystem {
    static func folder(bus: Int, ports: [Int]) -> String {
        "/sys/bus/usb/devices/\(bus)-" + ports.map(String.init).joined(separator: ".")
    }

    static func attribute(_ name: String, bus: Int, ports: [Int]) -> String? {
        text(of: folder(bus: bus, ports: ports) + "/" + name)
    }

    /// The first line of a file.
    static func text(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var octets = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &octets, octets.count)
        guard count > 0 else { return nil }
        return String(String(decoding: octets.prefix(count), as: UTF8.self).prefix { !$0.isNewline })
    }

    /// Kernel driver of the first interface.
    static func driver(bus: Int, ports: [Int]) -> String? {
        var octets = [CChar](repeating: 0, count: 1024)
        let count = readlink(folder(bus: bus, ports: ports) + ":1.0/driver", &octets, octets.count)
        guard count > 0 else { return nil }
        return String(decoding: octets.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self).split(separator: "/").last.map(
            String.init)
    }

    /// The program that has claimed the device, if the system reports it.
    static func holder(bus: Int, ports: [Int]) -> String? {
        if let driver = driver(bus: bus, ports: ports), driver != "usbfs" { return "the kernel driver \(driver)" }
        guard let number = attribute("devnum", bus: bus, ports: ports).flatMap({ Int($0) }) else { return nil }
        let programs = programs(holding: "/dev/bus/usb/\(padded(bus))/\(padded(number))")
        return programs.isEmpty ? "another program (its name is hidden from this user)" : programs.joined(separator: ", ")
    }

    private static func padded(_ number: Int) -> String { String(repeating: "0", count: max(0, 3 - String(number).count)) + String(number) }

    /// Other programs that have a device node open. Linux shows programs of other users to root only.
    private static func programs(holding node: String) -> [String] {
        var wanted = stat()
        guard stat(node, &wanted) == 0 else { return [] }
        return entries(of: "/proc").compactMap { Int32($0) }.filter { $0 != getpid() }.sorted().compactMap { process in
            let folder = "/proc/\(process)/fd"
            let holds = entries(of: folder).contains { name in
                var found = stat()
                return stat("\(folder)/\(name)", &found) == 0 && found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino
            }
            return holds ? "\(text(of: "/proc/\(process)/comm") ?? "a program"), process \(process)" : nil
        }
    }

    private static func entries(of path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}
