import BBTransport

/// USB description of a Bluetooth dongle.
public struct USBDongleDescription: Sendable, Equatable {
    /// Reason why the bench cannot use a dongle.
    public enum Impediment: Sendable, Equatable {
        /// The user may not open it; the text is the udev rule and its location.
        case permission(rule: String)
        /// Another program uses it.
        case busy(holder: String?)
        case other(String)
    }

    public var bus: Int
    public var ports: [Int]
    public var vendor: UInt16
    public var product: UInt16
    /// bcdDevice: device release, 0x0134 for 1.34.
    public var release: UInt16 = 0
    public var manufacturerName: String?
    public var productName: String?
    public var serial: String?
    /// Kernel driver of its first interface.
    public var driver: String?
    /// Modes, settings and sizes from its descriptors; nil for a device that is not used.
    public var shape: USBShape?
    public var impediment: Impediment?
    /// Reason why it can never be used, for devices that only resemble dongles.
    public var unfit: String?

    /// Bus and ports; unchanged by replugging into the same port.
    public var location: USBSelector { .location(bus: bus, ports: ports) }

    /// Manufacturer, product, identifiers and serial number in one line.
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

    /// The udev rule that lets the local user open it.
    public var udevRule: String {
        let identity = USBSelector.identity(vendor: vendor, product: product, serial: nil).description.split(separator: ":")
        return
            "SUBSYSTEM==\"usb\", ATTR{idVendor}==\"\(identity[1])\", ATTR{idProduct}==\"\(identity[2])\", MODE=\"0660\", TAG+=\"uaccess\""
    }

    public static let udevRulePath = "/etc/udev/rules.d/70-bluebench.rules"
}

extension USBDongleDescription.Impediment: CustomStringConvertible {
    public var description: String {
        switch self {
        case .permission(let rule): "no permission: put into \(USBDongleDescription.udevRulePath) and replug: \(rule)"
        case .busy(let holder): "in use" + (holder.map { " by \($0)" } ?? "")
        case .other(let text): text
        }
    }
}
