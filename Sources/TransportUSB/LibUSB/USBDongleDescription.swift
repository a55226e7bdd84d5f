import CLibUSB
import Transport

/// A Bluetooth dongle as USB describes it.
public struct USBDongleDescription: Sendable, Equatable {
    /// What keeps the bench from using it.
    public enum Obstacle: Sendable, Equatable {
        /// The user may not open it; the text is the udev rule and where to put it.
        case permission(rule: String)
        /// Somebody else holds it.
        case busy(holder: String?)
        case other(String)
    }

    public var bus: Int
    public var ports: [Int]
    public var vendor: UInt16
    public var product: UInt16
    /// bcdDevice: the release of the device, 0x0134 for 1.34.
    public var release: UInt16 = 0
    public var manufacturerName: String?
    public var productName: String?
    public var serial: String?
    /// The kernel driver bound to its first interface.
    public var driver: String?
    public var obstacle: Obstacle?

    /// Where it is plugged in; the same after every replug.
    public var location: USBSelector { .location(bus: bus, ports: ports) }

    /// Maker, product, identifiers and serial number in a line.
    public var title: String {
        let identity = USBSelector.identity(vendor: vendor, product: product, serial: nil).description.dropFirst(4)
        let names = [manufacturerName, productName].compactMap { $0 }
        return (names + [String(identity), serial].compactMap { $0 }).joined(separator: " ")
    }

    public func matches(_ selector: USBSelector) -> Bool {
        switch selector {
        case .only: true
        case .location(let bus, let ports): bus == self.bus && ports == self.ports
        case .identity(let vendor, let product, let serial):
            vendor == self.vendor && product == self.product && (serial == nil || serial == self.serial)
        }
    }

    /// The udev rule that lets the seated user open it.
    public var udevRule: String {
        let identity = USBSelector.identity(vendor: vendor, product: product, serial: nil).description.split(separator: ":")
        return
            "SUBSYSTEM==\"usb\", ATTR{idVendor}==\"\(identity[1])\", ATTR{idProduct}==\"\(identity[2])\", MODE=\"0660\", TAG+=\"uaccess\""
    }

    public static let udevRulePath = "/etc/udev/rules.d/70-bluebench.rules"
}

extension USBDongleDescription.Obstacle: CustomStringConvertible {
    public var description: String {
        switch self {
        case .permission(let rule): "no permission: put into \(USBDongleDescription.udevRulePath) and replug: \(rule)"
        case .busy(let holder): "in use" + (holder.map { " by \($0)" } ?? "")
        case .other(let text): text
        }
    }
}

/// The interfaces and endpoints through which a dongle carries HCI. Core Vol 4, Part B, 2.1.
struct USBLayout: Equatable {
    var controlInterface: UInt8
    /// Commands go to the interface when the device is composite, to the device otherwise.
    var isComposite: Bool
    var events: UInt8
    var eventSize: Int
    var dataIn: UInt8
    var dataOut: UInt8
    var dataSize: Int
    var voiceInterface: UInt8?
    /// The alternate settings of the voice interface that have endpoints.
    var voiceSettings: [VoiceSetting]

    /// Finds the layout in a configuration; nil when it has no interface with the endpoints that HCI needs.
    init?(_ configuration: libusb_config_descriptor, deviceClass: UInt8, forced: Bool) {
        for index in 0..<Int(configuration.bNumInterfaces) {
            let interface = configuration.interface[index]
            guard interface.num_altsetting > 0 else { continue }
            let setting = interface.altsetting[0]
            let isBluetooth = setting.bInterfaceClass == 0xE0 && setting.bInterfaceSubClass == 1 && setting.bInterfaceProtocol == 1
            guard isBluetooth || forced, let ends = Self.endpoints(of: setting) else { continue }
            controlInterface = setting.bInterfaceNumber
            isComposite = deviceClass != 0xE0 && deviceClass != 0xFF
            (events, eventSize, dataIn, dataOut, dataSize) = ends
            voiceInterface = Self.voice(configuration, after: index)
            voiceSettings = voiceInterface == nil ? [] : Self.voiceSettings(configuration.interface[index + 1])
            return
        }
        return nil
    }

    private static func endpoints(of setting: libusb_interface_descriptor) -> (UInt8, Int, UInt8, UInt8, Int)? {
        var events: (UInt8, Int)?
        var dataIn: (UInt8, Int)?
        var dataOut: UInt8?
        for index in 0..<Int(setting.bNumEndpoints) {
            let endpoint = setting.endpoint[index]
            let size = max(1, Int(endpoint.wMaxPacketSize & 0x7FF))
            switch (endpoint.bmAttributes & 3, endpoint.bEndpointAddress & 0x80 != 0) {
            case (3, true): events = events ?? (endpoint.bEndpointAddress, size)
            case (2, true): dataIn = dataIn ?? (endpoint.bEndpointAddress, size)
            case (2, false): dataOut = dataOut ?? endpoint.bEndpointAddress
            default: break
            }
        }
        guard let events, let dataIn, let dataOut else { return nil }
        return (events.0, events.1, dataIn.0, dataOut, dataIn.1)
    }

    private static func voice(_ configuration: libusb_config_descriptor, after index: Int) -> UInt8? {
        guard index + 1 < Int(configuration.bNumInterfaces) else { return nil }
        let next = configuration.interface[index + 1]
        guard next.num_altsetting > 1 else { return nil }
        let setting = next.altsetting[0]
        return setting.bInterfaceClass == 0xE0 ? setting.bInterfaceNumber : nil
    }

    private static func voiceSettings(_ interface: libusb_interface) -> [VoiceSetting] {
        (0..<Int(interface.num_altsetting)).compactMap { index in
            let setting = interface.altsetting[index]
            let ends = (0..<Int(setting.bNumEndpoints)).map { setting.endpoint[$0] }.filter { $0.bmAttributes & 3 == 1 }
            guard let input = ends.first(where: { $0.bEndpointAddress & 0x80 != 0 }),
                let output = ends.first(where: { $0.bEndpointAddress & 0x80 == 0 })
            else { return nil }
            let size = Int(min(input.wMaxPacketSize & 0x7FF, output.wMaxPacketSize & 0x7FF))
            guard size > 0 else { return nil }
            return VoiceSetting(
                number: setting.bAlternateSetting, frameSize: size, input: input.bEndpointAddress, output: output.bEndpointAddress)
        }
    }
}
