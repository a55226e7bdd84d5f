import BBCLibUSB

/// Connection speed of a device. USB 2.0, 5.3.1.1; USB 3.2, 3.1.
public enum USBSpeed: Sendable {
    case low
    case full
    case high
    case superSpeed

    /// bInterval is an exponent of 2 in units of 125 us, not a number of milliseconds. USB 2.0, 9.6.6; USB 3.2, 9.6.6.
    var countsMicroframes: Bool { self == .high || self == .superSpeed }

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
