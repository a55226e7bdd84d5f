import BBCLibUSB

/// Reports when a device leaves the bus, if libusb supports it, even while no transfer is pending. libusb calls it once, on the event
/// thread, and not after `end()`.
final class USBDepartureWatch {
    private let library: USBLibrary
    private let device: OpaquePointer
    private let onDeparture: () -> Void
    private var callback: libusb_hotplug_callback_handle = 0

    /// Returns nil if the system does not support hotplug events.
    init?(_ device: OpaquePointer, _ library: USBLibrary, onDeparture: @escaping () -> Void) {
        guard libusb_has_capability(LIBUSB_CAP_HAS_HOTPLUG.rawValue) != 0 else { return nil }
        self.library = library
        self.device = device
        self.onDeparture = onDeparture
        let any = LIBUSB_HOTPLUG_MATCH_ANY
        let status = libusb_hotplug_register_callback(
            library.context, Int32(bitPattern: LIBUSB_HOTPLUG_EVENT_DEVICE_LEFT.rawValue), 0, any, any, any,
            { _, device, _, context in
                guard let context else { return 0 }
                let this = Unmanaged<USBDepartureWatch>.fromOpaque(context).takeUnretainedValue()
                if device == this.device { this.onDeparture() }
                return 0
            }, Unmanaged.passUnretained(self).toOpaque(), &callback)
        guard status == 0 else { return nil }
    }

    /// Ends the watch. Call it on the event thread, or when that thread has ended.
    func end() { libusb_hotplug_deregister_callback(library.context, callback) }
}
