import BBCLibUSB

/// Connection speed of a device. USB 2.0, 5.3.1.1; USB 3.2, 3.1.
public enum USBSpeed: Sendable {
    case low
    case full
    case high
    case superSpeed

    /// Returns nil if the system does not report it.
    init?(of device: OpaquePointer) {
        switch libusb_speed(UInt32(bitPattern: libusb_get_device_speed(device))) {
        case LIBUSB_SPEED_LOW: self = .low
        case LIBUSB_SPEED_FULL: self = .full
        case LIBUSB_SPEED_HIGH: self = .high
        case LIBUSB_SPEED_SUPER, LIBUSB_SPEED_SUPER_PLUS: self = .superSpeed
        default: return nil
        }
    }
}
