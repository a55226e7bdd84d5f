#if os(Linux)
    import Glibc

    /// A folder that replaces /sys and /dev for a program under umockdev's preload library, with everything that libusb and libudev read
    /// about a dongle.
    struct UsbfsTree {
        let root: String
        static let busNumber = 1

        /// Names of one dongle in the tree.
        struct Place {
            var index: Int
            /// Number assigned by the bus at each plugging in. Device 1 is the root hub.
            var deviceNumber: Int
            var port: Int { index + 1 }
            var name: String { "\(UsbfsTree.busNumber)-\(port)" }
            var node: String { "bus/usb/001/" + padded(deviceNumber) }
            var system: String { "sys/devices/\(name)" }
            var minor: Int { deviceNumber - 1 }

            private func padded(_ number: Int) -> String { String(repeating: "0", count: 3 - String(number).count) + String(number) }
        }

        /// The folder cannot be written.
        struct Failure: Error, CustomStringConvertible {
            var description: String
        }

        func nodePath(_ place: Place) -> String { "\(root)/dev/\(place.node)" }
        /// The preload library concatenates its folder, `ioctl` and the path of the device.
        func socketPath(_ place: Place) -> String { "\(root)/ioctl//dev/\(place.node)" }

        /// Creates the device node, a FIFO. Programs do not look for it before the dongle is plugged in.
        func makeNode(_ place: Place) throws(Failure) {
            try makeFolder("dev/bus/usb/001")
            try makeFolder("ioctl/dev/bus/usb/001")
            guard mkfifo(nodePath(place), 0o600) == 0 else { throw failure("make", place.node) }
        }

        /// Plugs in a dongle whose node is already served: writes its attributes and then adds it to the bus.
        func plug(_ place: Place, _ descriptors: DongleDescriptors) throws(Failure) {
            let name = place.name
            try makeFolder(place.system)
            let identity = [descriptors.vendorID, descriptors.productID].map { Self.hexadecimal($0) }
            let attributes: [(String, [UInt8])] = [
                ("busnum", text("\(Self.busNumber)")), ("devnum", text("\(place.deviceNumber)")), ("devpath", text("\(place.port)")),
                ("speed", text(descriptors.isHighSpeed ? "480" : "12")), ("bConfigurationValue", text("1")),
                ("idVendor", text(identity[0])),
                ("idProduct", text(identity[1])),
                ("dev", text("189:\(place.minor)")), ("power/control", text("on")),
                ("descriptors", descriptors.device + descriptors.configuration),
                (
                    "uevent",
                    text(
                        "MAJOR=189\nMINOR=\(place.minor)\nDEVNAME=\(place.node)\nDEVTYPE=usb_device\nBUSNUM=001\nDEVNUM=\(place.deviceNumber)"
                    )
                ),
            ]
            try makeFolder("\(place.system)/power")
            for (attribute, octets) in attributes + strings(descriptors) { try write(octets, to: "\(place.system)/\(attribute)") }
            try link("\(place.system)/subsystem", to: "../../bus/usb")
            try makeFolder("sys/dev/char")
            try link("sys/dev/char/189:\(place.minor)", to: "../../devices/\(name)")
            try makeFolder("dev/.node")
            try link("dev/.node/" + place.node.split(separator: "/").joined(separator: "_"), to: "189:\(place.minor)")
            try makeFolder("run/udev/data")
            try write(text("I:1"), to: "run/udev/data/c189:\(place.minor)")
            try makeFolder("sys/bus/usb/devices")
            try link("sys/bus/usb/devices/\(name)", to: "../../../devices/\(name)")
        }

        /// String descriptors as read by the kernel.
        private func strings(_ descriptors: DongleDescriptors) -> [(String, [UInt8])] {
            guard descriptors.hasStrings else { return [] }
            let names = [("manufacturer", text(descriptors.manufacturer)), ("product", text(descriptors.product))]
            return names + (descriptors.hasSerialNumber ? [("serial", text(descriptors.serialNumber))] : [])
        }

        /// True if the power control file allows the kernel to suspend the dongle.
        func allowsSuspension(_ place: Place) -> Bool {
            let descriptor = open("\(root)/\(place.system)/power/control", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return false }
            defer { close(descriptor) }
            var octets = [UInt8](repeating: 0, count: 8)
            let count = read(descriptor, &octets, octets.count)
            return count >= 4 && octets.starts(with: Array("auto".utf8))
        }

        /// Removes a dongle from the tree; programs that have it open keep it.
        func unplug(_ place: Place) {
            unlink("\(root)/sys/bus/usb/devices/\(place.name)")
            unlink("\(root)/sys/dev/char/189:\(place.minor)")
            unlink("\(root)/dev/.node/" + place.node.split(separator: "/").joined(separator: "_"))
            unlink("\(root)/run/udev/data/c189:\(place.minor)")
            unlink(nodePath(place))
        }

        private func text(_ line: String) -> [UInt8] { Array(line.utf8) + [10] }

        static func hexadecimal(_ number: UInt16) -> String {
            let text = String(number, radix: 16)
            return String(repeating: "0", count: 4 - text.count) + text
        }

        private func failure(_ what: String, _ path: String) -> Failure {
            Failure(description: "cannot \(what) \(root)/\(path): \(String(cString: strerror(errno)))")
        }

        private func makeFolder(_ path: String) throws(Failure) {
            var partial = root
            mkdir(partial, 0o755)
            for part in path.split(separator: "/") {
                partial += "/" + part
                guard mkdir(partial, 0o755) == 0 || errno == EEXIST else { throw failure("make", path) }
            }
        }

        private func write(_ octets: [UInt8], to path: String) throws(Failure) {
            let descriptor = open("\(root)/\(path)", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
            guard descriptor >= 0 else { throw failure("write", path) }
            defer { close(descriptor) }
            guard Glibc.write(descriptor, octets, octets.count) == octets.count else { throw failure("write", path) }
        }

        private func link(_ path: String, to target: String) throws(Failure) {
            unlink("\(root)/\(path)")
            guard symlink(target, "\(root)/\(path)") == 0 else { throw failure("link", path) }
        }
    }
#endif
