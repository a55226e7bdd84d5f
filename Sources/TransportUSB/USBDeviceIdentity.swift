import BBCLibUSB
import BBTransport

/// Identity of the dongle used by a run, to find the same dongle after a replug.
///
/// A dongle selected by its port is expected at this port. A dongle selected by its identifier may be at any port and is recognized by its
/// serial number, if it has one. Another identifier or serial number means another device, even at the same port: a run never mixes results
/// of two devices.
public struct USBDeviceIdentity: Sendable, Equatable {
    public let selector: USBSelector
    public let description: USBDongleDescription

    public enum Sight: Sendable, Equatable {
        case absent
        /// Another device is at the dongle's place.
        case stranger(USBDongleDescription)
        /// The dongle is present; this selector opens it.
        case here(USBSelector)
    }

    public init(_ selector: USBSelector, _ description: USBDongleDescription) {
        self.selector = selector
        self.description = description
    }

    /// Searches for the dongle on the bus.
    public func look() -> Sight {
        guard let library = try? USBLibrary() else { return .absent }
        let found = USBEnumeration.withDevices(library) { devices in
            devices.filter(mayBe).compactMap { USBEnumeration.describe($0, forced: selector) }
        }
        return sight(of: found)
    }

    /// Compares only properties that need no opening, so that other dongles in use are not disturbed.
    private func mayBe(_ device: OpaquePointer) -> Bool {
        var descriptor = libusb_device_descriptor()
        guard libusb_get_device_descriptor(device, &descriptor) == 0 else { return false }
        if isAtPort { return USBEnumeration.place(of: device) == description.location }
        return descriptor.idVendor == description.vendor && descriptor.idProduct == description.product
    }

    /// True if the port identifies the dongle, because the user selected it so or there is no serial number.
    private var isAtPort: Bool {
        switch selector {
        case .location: true
        case .only, .identity: description.serial == nil
        }
    }

    func sight(of found: [USBDongleDescription]) -> Sight {
        let same = found.filter {
            $0.vendor == description.vendor && $0.product == description.product
                && (description.serial == nil || $0.serial == description.serial || $0.serial == nil && $0.location == description.location)
        }
        // Of several dongles with the same serial number, only the one at the old port can be identified.
        if let one = same.count > 1 ? same.first(where: { $0.location == description.location }) : same.first {
            return .here(name(of: one))
        }
        return found.first.flatMap { isAtPort ? .stranger($0) : nil } ?? .absent
    }

    private func name(of dongle: USBDongleDescription) -> USBSelector {
        if case .identity = selector { return .identity(vendor: dongle.vendor, product: dongle.product, serial: dongle.serial) }
        return dongle.location
    }
}
