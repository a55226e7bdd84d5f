import CLibUSB
import Transport

/// The library, started once for whoever holds this object.
///
/// `@unchecked Sendable`: libusb guards a context by its own locks.
final class USBLibrary: @unchecked Sendable {
    let context: OpaquePointer

    /// - Throws: `unreachable` when the system has no USB at all.
    init() throws(TransportError) {
        var context: OpaquePointer?
        let status = libusb_init(&context)
        guard status == 0, let context else { throw .unreachable("USB: \(usbText(status))") }
        self.context = context
    }

    deinit { libusb_exit(context) }
}

/// What libusb calls an error.
func usbText(_ status: Int32) -> String {
    switch libusb_error(status) {
    case LIBUSB_ERROR_ACCESS: "permission denied"
    case LIBUSB_ERROR_NO_DEVICE: "the device is gone"
    case LIBUSB_ERROR_NOT_FOUND: "not found"
    case LIBUSB_ERROR_BUSY: "in use"
    case LIBUSB_ERROR_TIMEOUT: "timed out"
    case LIBUSB_ERROR_PIPE: "stalled"
    case LIBUSB_ERROR_IO: "input/output error"
    case LIBUSB_ERROR_NOT_SUPPORTED: "not supported by this system"
    default: "libusb error \(status)"
    }
}
