import BBCLibUSB
import BBTransport

/// A libusb context, initialized while any object refers to it.
///
/// `@unchecked Sendable`: libusb protects a context with its own locks.
final class USBLibrary: @unchecked Sendable {
    let context: OpaquePointer

    /// - Throws: `unreachable` if the system has no USB.
    init() throws(TransportError) {
        var context: OpaquePointer?
        let status = libusb_init(&context)
        guard status == 0, let context else { throw .unreachable("USB: \(usbText(status))") }
        self.context = context
    }

    deinit { libusb_exit(context) }
}

/// Name of a libusb error.
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
