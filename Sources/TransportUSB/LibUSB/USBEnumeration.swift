import CLibUSB
import Transport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The dongles on this machine.
public enum USBEnumeration {
    /// Every dongle, in the order of bus and port, with what keeps the bench from using it.
    ///
    /// - Throws: `unreachable` when the system has no USB.
    public static func dongles() throws(TransportError) -> [USBDongleDescription] {
        let library = try USBLibrary()
        return withDevices(library) { devices in devices.compactMap { describe($0, forced: nil) } }.sorted(by: precedes)
    }

    private static func precedes(_ a: USBDongleDescription, _ b: USBDongleDescription) -> Bool {
        a.bus != b.bus ? a.bus < b.bus : a.ports.lexicographicallyPrecedes(b.ports)
    }

    static func withDevices<Value>(_ library: USBLibrary, _ body: ([OpaquePointer]) -> Value) -> Value {
        var list: UnsafeMutablePointer<OpaquePointer?>?
        let count = libusb_get_device_list(library.context, &list)
        defer { if let list { libusb_free_device_list(list, 1) } }
        let devices = (0..<max(0, count)).compactMap { list?[$0] }
        return body(devices)
    }

    /// The one device that a selector names, with a reference of its own.
    ///
    /// - Throws: `unreachable` when there is none, or more than one; the text lists what there is.
    static func find(_ selector: USBSelector, _ library: USBLibrary) throws(TransportError) -> (OpaquePointer, USBDongleDescription) {
        let found = withDevices(library) { devices in
            let described = devices.compactMap { device in describe(device, forced: selector).map { (device, $0) } }
            let matching = described.filter { $0.1.matches(selector) }
            if matching.count == 1 { libusb_ref_device(matching[0].0) }
            return (matching: matching, all: described.map(\.1))
        }
        if found.matching.count == 1 { return found.matching[0] }
        let choices = (found.matching.isEmpty ? found.all : found.matching.map(\.1)).sorted(by: precedes)
        let list = choices.map { choice in
            choice.location.description + (choice.productName.map { " (\($0)\(choice.serial.map { ", " + $0 } ?? ""))" } ?? "")
        }.joined(separator: ", ")
        if found.matching.isEmpty {
            throw .unreachable("\(selector): no such dongle" + (list.isEmpty ? "; none is plugged in" : "; there is \(list)"))
        }
        throw .unreachable("\(selector) is ambiguous: choose one of \(list)")
    }

    /// What USB says about a device; nil when it is no Bluetooth dongle and its id was not asked for.
    static func describe(_ device: OpaquePointer, forced selector: USBSelector?) -> USBDongleDescription? {
        var descriptor = libusb_device_descriptor()
        guard libusb_get_device_descriptor(device, &descriptor) == 0 else { return nil }
        var isForced = false
        if case .identity(descriptor.idVendor, descriptor.idProduct, _)? = selector { isForced = true }
        guard layout(of: device, descriptor, forced: isForced) != nil else { return nil }
        var description = USBDongleDescription(
            bus: Int(libusb_get_bus_number(device)), ports: ports(of: device), vendor: descriptor.idVendor, product: descriptor.idProduct)
        description.release = descriptor.bcdDevice
        description.driver = USBSystem.driver(bus: description.bus, ports: description.ports)
        let (status, handle) = USBHandle.open(device)
        if let handle {
            description.manufacturerName = text(handle, descriptor.iManufacturer)
            description.productName = text(handle, descriptor.iProduct)
            description.serial = text(handle, descriptor.iSerialNumber)
            USBHandle.close(handle)
        } else {
            description.obstacle = obstacle(status, description)
            description.manufacturerName = USBSystem.attribute("manufacturer", bus: description.bus, ports: description.ports)
            description.productName = USBSystem.attribute("product", bus: description.bus, ports: description.ports)
            description.serial = USBSystem.attribute("serial", bus: description.bus, ports: description.ports)
        }
        return description
    }

    static func obstacle(_ status: Int32, _ description: USBDongleDescription) -> USBDongleDescription.Obstacle {
        switch libusb_error(status) {
        case LIBUSB_ERROR_ACCESS: .permission(rule: description.udevRule)
        case LIBUSB_ERROR_BUSY: .busy(holder: USBSystem.holder(bus: description.bus, ports: description.ports))
        default: .other(usbText(status))
        }
    }

    static func layout(of device: OpaquePointer, _ descriptor: libusb_device_descriptor, forced: Bool) -> USBLayout? {
        var configuration: UnsafeMutablePointer<libusb_config_descriptor>?
        guard
            libusb_get_active_config_descriptor(device, &configuration) == 0
                || libusb_get_config_descriptor(device, 0, &configuration) == 0, let configuration
        else { return nil }
        defer { libusb_free_config_descriptor(configuration) }
        return USBLayout(configuration.pointee, deviceClass: descriptor.bDeviceClass, forced: forced)
    }

    static func place(of device: OpaquePointer) -> USBSelector {
        .location(bus: Int(libusb_get_bus_number(device)), ports: ports(of: device))
    }

    /// How many devices answer to a selector now. Where there are several, waiting does not help.
    public static func count(of selector: USBSelector) -> Int {
        guard let library = try? USBLibrary() else { return 0 }
        return withDevices(library) { devices in devices.count { describe($0, forced: selector)?.matches(selector) ?? false } }
    }

    private static func ports(of device: OpaquePointer) -> [Int] {
        var numbers = [UInt8](repeating: 0, count: 8)
        let count = libusb_get_port_numbers(device, &numbers, Int32(numbers.count))
        return numbers.prefix(Int(max(0, count))).map(Int.init)
    }

    private static func text(_ handle: OpaquePointer, _ index: UInt8) -> String? {
        guard index != 0 else { return nil }
        var octets = [UInt8](repeating: 0, count: 256)
        let count = libusb_get_string_descriptor_ascii(handle, index, &octets, Int32(octets.count))
        return count > 0 ? String(decoding: octets.prefix(Int(count)), as: UTF8.self) : nil
    }
}

/// What the system tells about a USB device besides libusb. Linux keeps it under /sys.
enum USBSystem {
    private static func folder(bus: Int, ports: [Int]) -> String {
        "/sys/bus/usb/devices/\(bus)-" + ports.map(String.init).joined(separator: ".")
    }

    static func attribute(_ name: String, bus: Int, ports: [Int]) -> String? {
        text(of: folder(bus: bus, ports: ports) + "/" + name)
    }

    /// The first line of a file.
    private static func text(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var octets = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &octets, octets.count)
        guard count > 0 else { return nil }
        return String(String(decoding: octets.prefix(count), as: UTF8.self).prefix { !$0.isNewline })
    }

    /// The kernel driver of the first interface.
    static func driver(bus: Int, ports: [Int]) -> String? {
        var octets = [CChar](repeating: 0, count: 1024)
        let count = readlink(folder(bus: bus, ports: ports) + ":1.0/driver", &octets, octets.count)
        guard count > 0 else { return nil }
        return String(decoding: octets.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self).split(separator: "/").last.map(
            String.init)
    }

    /// Who holds the device: the program that has claimed it, as far as the system tells.
    static func holder(bus: Int, ports: [Int]) -> String? {
        if let driver = driver(bus: bus, ports: ports), driver != "usbfs" { return "the kernel driver \(driver)" }
        guard let number = attribute("devnum", bus: bus, ports: ports).flatMap({ Int($0) }) else { return nil }
        let programs = programs(holding: "/dev/bus/usb/\(padded(bus))/\(padded(number))")
        return programs.isEmpty ? "another program (its name is hidden from this user)" : programs.joined(separator: ", ")
    }

    private static func padded(_ number: Int) -> String { String(repeating: "0", count: max(0, 3 - String(number).count)) + String(number) }

    /// The programs that have a device node open, besides this one. Linux shows those of other users to root only.
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
