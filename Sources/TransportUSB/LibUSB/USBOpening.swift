import BBCLibUSB
import BBTransport

/// An open dongle with its interfaces claimed and detached from kernel drivers.
struct USBOpening {
    let handle: OpaquePointer
    let layout: USBLayout
    let library: USBLibrary
    let description: USBDongleDescription
    /// Prevents use by other instances of the bench.
    let lock: DongleLock
    /// Connection speed; nil if the system does not report it.
    let speed: USBSpeed?

    /// Enumerates the bus and claims the only dongle that matches a selector.
    ///
    /// - Parameter prepare: called with the description of the dongle before it is opened.
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
        let (result, opened) = USBHandle.open(found)
        guard let handle = opened else { throw failure(result, description) }
        libusb_set_auto_detach_kernel_driver(handle, 1)
        var claimed: [UInt8] = []
        for interface in [layout.controlInterface, layout.voiceInterface].compactMap({ $0 }) {
            let status = libusb_claim_interface(handle, Int32(interface))
            guard status == 0 else {
                // Releasing, unlike closing, returns the interface to the kernel driver.
                for interface in claimed { libusb_release_interface(handle, Int32(interface)) }
                USBHandle.close(handle)
                throw failure(status, description)
            }
            claimed.append(interface)
        }
        // Some dongles send no events before this request. For others it has no effect; those that reject it do not need it.
        let status = USBHandle.setAlternateSetting(0, of: layout.controlInterface, on: handle)
        guard libusb_error(status) != LIBUSB_ERROR_NO_DEVICE else {
            USBHandle.close(handle)
            throw failure(status, description)
        }
        if status != 0 { USBHandle.claimAgain(layout.controlInterface, on: handle) }
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
