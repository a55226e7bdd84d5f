import BBCLibUSB
import BBTransport

/// The dongles of this machine.
public enum USBEnumeration {
    /// All dongles, by bus and port, with the impediments to using them.
    ///
    /// - Throws: `unreachable` if the system has no USB.
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

    /// The only device that matches a selector, with a libusb reference owned by the caller.
    ///
    /// - Throws: `unreachable` if none or several match; the text lists the candidates.
    static func find(_ selector: USBSelector, _ library: USBLibrary) throws(TransportError) -> (OpaquePointer, USBDongleDescription) {
        let found = withDevices(library) { devices in
            let described = devices.compactMap { device in describe(device, forced: selector).map { (device, $0) } }
            let matching = described.filter { $0.1.matches(selector) && ($0.1.unfit == nil || selector != .only) }
            if matching.count == 1 { libusb_ref_device(matching[0].0) }
            return (matching: matching, all: described.map(\.1))
        }
        if found.matching.count == 1 {
            guard let reason = found.matching[0].1.unfit else { return found.matching[0] }
            libusb_unref_device(found.matching[0].0)
            throw .unreachable("\(selector): \(reason)")
        }
        let choices = (found.matching.isEmpty ? found.all : found.matching.map(\.1)).sorted(by: precedes)
        let list = choices.map { choice in
            choice.location.description + (choice.productName.map { " (\($0)\(choice.serial.map { ", " + $0 } ?? ""))" } ?? "")
        }.joined(separator: ", ")
        if found.matching.isEmpty {
            throw .unreachable("\(selector): no such dongle" + (list.isEmpty ? "; none is plugged in" : "; there is \(list)"))
        }
        throw .unreachable("\(selector) is ambiguous: choose one of \(list)")
    }

    /// Description of a device; nil if it is not a Bluetooth dongle and was not selected by its identifier.
    static func describe(_ device: OpaquePointer, forced selector: USBSelector?) -> USBDongleDescription? {
        var descriptor = libusb_device_descriptor()
        guard libusb_get_device_descriptor(device, &descriptor) == 0 else { return nil }
        var isForced = false
        if case .identity(descriptor.idVendor, descriptor.idProduct, _)? = selector { isForced = true }
        let match = match(device, descriptor, forced: isForced)
        guard match != .somethingElse else { return nil }
        var description = USBDongleDescription(
            bus: Int(libusb_get_bus_number(device)), ports: ports(of: device), vendor: descriptor.idVendor, product: descriptor.idProduct)
        description.release = descriptor.bcdDevice
        description.driver = USBSystem.driver(bus: description.bus, ports: description.ports)
        if case .dongle(let layout) = match, let interfaces = interfaces(of: device, descriptor) {
            description.shape = USBShape(
                layout, USBRules.findings(interfaces, layout, isHighSpeed: USBSpeed(of: device)?.countsMicroframes == true))
        }
        if case .unfit(let reason) = match {
            description.unfit = reason
            description.impediment = .other(reason)
            nameBySystem(&description)
            return description
        }
        let (status, handle) = USBHandle.open(device)
        if let handle {
            description.manufacturerName = text(handle, descriptor.iManufacturer)
            description.productName = text(handle, descriptor.iProduct)
            description.serial = text(handle, descriptor.iSerialNumber)
            USBHandle.close(handle)
        } else {
            description.impediment = impediment(status, description)
            nameBySystem(&description)
        }
        return description
    }

    /// Strings that the system has read, for a device that cannot be opened.
    private static func nameBySystem(_ description: inout USBDongleDescription) {
        let (bus, ports) = (description.bus, description.ports)
        description.manufacturerName = USBSystem.attribute("manufacturer", bus: bus, ports: ports)
        description.productName = USBSystem.attribute("product", bus: bus, ports: ports)
        description.serial = USBSystem.attribute("serial", bus: bus, ports: ports)
    }

    static func impediment(_ status: Int32, _ description: USBDongleDescription) -> USBDongleDescription.Impediment {
        switch libusb_error(status) {
        case LIBUSB_ERROR_ACCESS: .permission(rule: description.udevRule)
        case LIBUSB_ERROR_BUSY: .busy(holder: USBSystem.holder(bus: description.bus, ports: description.ports))
        default: .other(usbText(status))
        }
    }

    static func match(_ device: OpaquePointer, _ descriptor: libusb_device_descriptor, forced: Bool) -> USBMatch {
        interfaces(of: device, descriptor).map { USBMatch($0, isForced: forced) } ?? .somethingElse
    }

    /// The interfaces of a device in its configuration, or in the first one.
    private static func interfaces(of device: OpaquePointer, _ descriptor: libusb_device_descriptor) -> USBInterfaces? {
        var configuration: UnsafeMutablePointer<libusb_config_descriptor>?
        guard
            libusb_get_active_config_descriptor(device, &configuration) == 0
                || libusb_get_config_descriptor(device, 0, &configuration) == 0, let configuration
        else { return nil }
        defer { libusb_free_config_descriptor(configuration) }
        return USBInterfaces(configuration.pointee, of: descriptor)
    }

    static func place(of device: OpaquePointer) -> USBSelector {
        .location(bus: Int(libusb_get_bus_number(device)), ports: ports(of: device))
    }

    /// Number of devices that match a selector. If there are several, waiting does not help.
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

extension USBInterfaces {
    /// - Parameter configuration: owned by the caller and not retained.
    init(_ configuration: libusb_config_descriptor, of device: libusb_device_descriptor) {
        (vendor, product, deviceClass) = (device.idVendor, device.idProduct, device.bDeviceClass)
        deviceKind = Class(device.bDeviceClass, device.bDeviceSubClass, device.bDeviceProtocol)
        associations = USBDescriptors.associations(in: Self.extra(configuration))
        interfaces = (0..<Int(configuration.bNumInterfaces)).compactMap { index in
            let interface = configuration.interface[index]
            guard interface.num_altsetting > 0 else { return nil }
            let settings = (0..<Int(interface.num_altsetting)).map { Setting(interface.altsetting[$0]) }
            return Interface(number: interface.altsetting[0].bInterfaceNumber, settings: settings)
        }
    }
}

extension USBInterfaces {
    /// The descriptors that libusb does not read; it keeps each beside the one before it.
    private static func extra(_ configuration: libusb_config_descriptor) -> [UInt8] {
        var octets = Array(UnsafeBufferPointer(start: configuration.extra, count: Int(configuration.extra_length)))
        for index in 0..<Int(configuration.bNumInterfaces) {
            let interface = configuration.interface[index]
            for setting in UnsafeBufferPointer(start: interface.altsetting, count: Int(interface.num_altsetting)) {
                octets += UnsafeBufferPointer(start: setting.extra, count: Int(setting.extra_length))
                for end in UnsafeBufferPointer(start: setting.endpoint, count: Int(setting.bNumEndpoints)) {
                    octets += UnsafeBufferPointer(start: end.extra, count: Int(end.extra_length))
                }
            }
        }
        return octets
    }
}

extension USBInterfaces.Setting {
    fileprivate init(_ setting: libusb_interface_descriptor) {
        alternate = setting.bAlternateSetting
        kind = USBInterfaces.Class(setting.bInterfaceClass, setting.bInterfaceSubClass, setting.bInterfaceProtocol)
        endpoints = (0..<Int(setting.bNumEndpoints)).map {
            let endpoint = setting.endpoint[$0]
            return .init(
                address: endpoint.bEndpointAddress, attributes: endpoint.bmAttributes, size: Int(endpoint.wMaxPacketSize & 0x7FF),
                interval: endpoint.bInterval)
        }
    }
}
