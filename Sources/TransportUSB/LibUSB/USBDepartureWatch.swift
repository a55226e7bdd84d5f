import CLibUSB

/// Tells when a device leaves the bus, where libusb can: an unplug is seen even while no transfer is there to report it.
/// It is set once; libusb calls on the thread that serves its events, and not after `end()`.
final class USBDepartureWatch {
    private let library: USBLibrary
    private let device: OpaquePointer
    private let onDeparture: () -> Void
    private var callback: libusb_hotplug_callback_handle = 0

    /// Nil where the system tells of nothing.
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

    /// Ends the watch; from the thread of the events, or when it runs no more.
    func end() { libusb_hotplug_deregister_callback(library.context, callback) }
}
