import CLibUSB
import Transport

/// A dongle that is open, with its interfaces claimed from whoever held them.
struct USBOpening {
    let handle: OpaquePointer
    let layout: USBLayout
    let library: USBLibrary
    let description: USBDongleDescription
    /// Keeps other runs away.
    let lock: DongleLock
    /// How fast it is connected; nil when the system does not tell.
    let speed: USBSpeed?

    /// Looks on the bus as it is now, and claims the one dongle that a selector names.
    ///
    /// - Parameter prepare: is called with what was found, before it is opened.
    init(
        _ selector: USBSelector, prepare: (USBDongleDescription) throws(TransportError) -> Void = { _ throws(TransportError) in }
    ) throws(TransportError) {
        library = try USBLibrary()
        let (found, description) = try USBEnumeration.find(selector, library)
        defer { libusb_unref_device(found) }
        self.description = description
        speed = USBSpeed(of: found)
        lock = try DongleLock(description.location)
        try prepare(description)
        (handle, layout) = try Self.claim(found, description, selector)
    }

    private static func claim(
        _ found: OpaquePointer, _ description: USBDongleDescription, _ selector: USBSelector
    ) throws(TransportError) -> (OpaquePointer, USBLayout) {
        var descriptor = libusb_device_descriptor()
        libusb_get_device_descriptor(found, &descriptor)
        var isForced = false
        if case .identity = selector { isForced = true }
        guard case .dongle(let layout) = USBEnumeration.match(found, descriptor, forced: isForced) else {
            throw .unreachable("\(description.location): it has no endpoints for HCI")
        }
        let (status, opened) = USBHandle.open(found)
        guard let handle = opened else { throw failure(status, description) }
        libusb_set_auto_detach_kernel_driver(handle, 1)
        var claimed: [UInt8] = []
        for interface in [layout.controlInterface, layout.voiceInterface].compactMap({ $0 }) {
            let status = libusb_claim_interface(handle, Int32(interface))
            guard status == 0 else {
                // Releasing gives the kernel's driver its interface back; closing alone does not.
                for interface in claimed { libusb_release_interface(handle, Int32(interface)) }
                USBHandle.close(handle)
                throw failure(status, description)
            }
            claimed.append(interface)
        }
        // Some bring no event before; to the others it says nothing new, and who refuses it does not need it.
        libusb_set_interface_alt_setting(handle, Int32(layout.controlInterface), 0)
        return (handle, layout)
    }

    private static func failure(_ status: Int32, _ description: USBDongleDescription) -> TransportError {
        let place = description.location.description
        if libusb_error(status) == LIBUSB_ERROR_NO_DEVICE { return .lost(place) }
        switch USBEnumeration.impediment(status, description) {
        case .permission(let rule): return .notPermitted("\(place): put into \(USBDongleDescription.udevRulePath) and replug: \(rule)")
        case .busy(let holder): return .busy(holder.map { "\(place), held by \($0)," } ?? place)
        case .other(let text): return .unreachable("\(place): \(text)")
        }
    }
}
