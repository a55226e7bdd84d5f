import CLibUSB
import Transport

/// Which dongle a run began with, so that after a replug it gets the same one again.
///
/// A dongle that was named by its port is awaited at this port; one that was named by its id, wherever it is plugged in, by its serial number if it
/// has one. A dongle of another id or serial number is another device, even in the same port: results of two devices never meet in one run.
public struct USBDeviceIdentity: Sendable, Equatable {
    public let selector: USBSelector
    public let description: USBDongleDescription

    public enum Sight: Sendable, Equatable {
        case absent
        /// Something else is where the dongle was.
        case stranger(USBDongleDescription)
        /// It is there, under this name.
        case here(USBSelector)
    }

    public init(_ selector: USBSelector, _ description: USBDongleDescription) {
        self.selector = selector
        self.description = description
    }

    /// Looks for the dongle on a bus as it is now.
    public func look() -> Sight {
        guard let library = try? USBLibrary() else { return .absent }
        let found = USBEnumeration.withDevices(library) { devices in
            devices.filter(mayBe).compactMap { USBEnumeration.describe($0, forced: selector) }
        }
        return sight(of: found)
    }

    /// Judged by what needs no opening: other dongles of a running bench are left alone.
    private func mayBe(_ device: OpaquePointer) -> Bool {
        var descriptor = libusb_device_descriptor()
        guard libusb_get_device_descriptor(device, &descriptor) == 0 else { return false }
        if isAtPort { return USBEnumeration.place(of: device) == description.location }
        return descriptor.idVendor == description.vendor && descriptor.idProduct == description.product
    }

    /// Whether it is the port that tells, for want of anything better or because the user said so.
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
        // Of several with one serial number, only the one in the old place can be told from the others.
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
