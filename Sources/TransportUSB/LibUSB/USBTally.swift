import BBCLibUSB
import BBTransport
import Synchronization

extension USBTally {
    /// libusb resources of this process.
    public static var current: USBTally {
        let opened = USBCount.handlesOpened.load(ordering: .acquiring)
        let submitted = USBCount.transfersSubmitted.load(ordering: .acquiring)
        return USBTally(
            handlesOpened: opened, transfersSubmitted: submitted, handlesOpen: opened - USBCount.handlesClosed.load(ordering: .acquiring),
            transfersAllocated: USBCount.transfersAllocated.load(ordering: .acquiring),
            transfersInFlight: submitted - USBCount.transfersEnded.load(ordering: .acquiring))
    }
}

/// Counters, updated where handles are opened and transfers are submitted.
enum USBCount {
    static let handlesOpened = Atomic(0)
    static let handlesClosed = Atomic(0)
    static let transfersAllocated = Atomic(0)
    static let transfersSubmitted = Atomic(0)
    static let transfersEnded = Atomic(0)

    static func add(_ change: Int = 1, to counter: borrowing Atomic<Int>) { counter.add(change, ordering: .acquiringAndReleasing) }
}

/// Opens and closes handles and counts them.
enum USBHandle {
    static func open(_ device: OpaquePointer) -> (status: Int32, handle: OpaquePointer?) {
        var handle: OpaquePointer?
        let status = libusb_open(device, &handle)
        guard status == 0, let handle else { return (status == 0 ? LIBUSB_ERROR_OTHER.rawValue : status, nil) }
        USBCount.add(to: USBCount.handlesOpened)
        return (0, handle)
    }

    static func close(_ handle: OpaquePointer) {
        let isDamaged = damaged.withLock { $0.remove(UInt(bitPattern: handle)) != nil }
        if !isDamaged { libusb_close(handle) }
        USBCount.add(to: USBCount.handlesClosed)
    }

    /// Up to libusb 1.0.26 this call, for a device that has left the bus, releases a lock of the handle that it has not taken, and closing
    /// the handle then aborts the program. Such a handle stays open until the process ends.
    static func setAlternateSetting(_ setting: UInt8, of interface: UInt8, on handle: OpaquePointer) -> Int32 {
        let status = libusb_set_interface_alt_setting(handle, Int32(interface), Int32(setting))
        if libusb_error(status) == LIBUSB_ERROR_NO_DEVICE, releasesUntakenLock {
            _ = damaged.withLock { $0.insert(UInt(bitPattern: handle)) }
        }
        return status
    }

    /// Releases an interface and claims it again, with no driver in between. Linux then has its setting 0, with enabled endpoints, without a
    /// request to the device.
    static func claimAgain(_ interface: UInt8, on handle: OpaquePointer) {
        libusb_set_auto_detach_kernel_driver(handle, 0)
        libusb_release_interface(handle, Int32(interface))
        libusb_claim_interface(handle, Int32(interface))
        libusb_set_auto_detach_kernel_driver(handle, 1)
    }

    private static let damaged = Mutex<Set<UInt>>([])
    private static let releasesUntakenLock: Bool = {
        guard let version = libusb_get_version()?.pointee else { return true }
        return (version.major, version.minor, version.micro) < (1, 0, 27)
    }()
}
