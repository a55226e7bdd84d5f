/// The recipient of a control request that carries a command. Core Vol 4, Part B, 2.2.
public enum USBRecipient: String, Sendable, CaseIterable {
    case device
    case interface
}

/// The SETUP stage of a control transfer. USB 2.0, 9.3.
struct USBSetup {
    let requestType: UInt8
    let request: UInt8
    let value: UInt16
    let index: UInt16
    let length: UInt16

    init?(_ bytes: [UInt8]) {
        guard bytes.count == 8 else { return nil }
        requestType = bytes[0]
        request = bytes[1]
        value = bytes.little16(2)
        index = bytes.little16(4)
        length = bytes.little16(6)
    }

    var isIn: Bool { requestType & 0x80 != 0 }
    /// The recipient; nil if it is neither the device nor an interface.
    var recipient: USBRecipient? {
        switch requestType & 0x1F {
        case 0: .device
        case 1: .interface
        default: nil
        }
    }
    /// A class request to the device, or to the interface as on composite devices.
    var isClassRequest: Bool { requestType & 0x60 == 0x20 }
    var isVendorRequest: Bool { requestType & 0x60 == 0x40 }
}

/// State of endpoint 0: configuration and halted endpoints. USB 2.0, 9.4.
struct USBControl {
    /// Effect of a standard request.
    enum Result: Equatable {
        case data([UInt8])
        case stall
        /// The alternate setting of an interface has changed.
        case interface(UInt8, alternate: UInt8)
        case configured
        /// An endpoint has been halted or cleared.
        case halt(UInt8, Bool)
    }

    private var configurationValue: UInt8 = 0
    private(set) var halted: Set<UInt8> = []
    private static let mostOpen = 16
    /// Requests that are neither done nor refused.
    private var open: [UInt32] = []

    /// Returns false if too many requests are open.
    mutating func leaveOpen(_ id: UInt32) -> Bool {
        guard open.count < Self.mostOpen else { return false }
        open.append(id)
        return true
    }

    mutating func cancel(_ id: UInt32) -> Bool {
        guard let index = open.firstIndex(of: id) else { return false }
        open.remove(at: index)
        return true
    }

    mutating func takeOpen() -> [UInt32] {
        defer { open = [] }
        return open
    }

    mutating func halt(_ address: UInt8) { halted.insert(address) }

    /// The endpoints of an interface whose setting was selected are not halted. USB 2.0, 9.4.5.
    mutating func clear(_ addresses: UInt8...) { halted.subtract(addresses) }

    /// Handles a control request.
    ///
    /// - Parameter alternate: returns the current alternate setting of an interface.
    mutating func take(_ setup: USBSetup, _ descriptors: DongleDescriptors, alternate: (UInt8) -> UInt8) -> Result {
        switch (setup.requestType, setup.request) {
        case (0x80, 0), (0x81, 0): return .data([0x01 & (setup.requestType == 0x80 ? 1 : 0), 0])
        case (0x82, 0): return .data([halted.contains(UInt8(truncatingIfNeeded: setup.index)) ? 1 : 0, 0])
        case (0x02, 1): return setHalt(false, setup)
        case (0x02, 3): return setHalt(true, setup)
        case (0x00, 5): return .data([])
        case (0x80, 6): return Self.descriptor(setup, descriptors).map { .data($0) } ?? .stall
        case (0x80, 8): return .data([configurationValue])
        case (0x00, 9):
            guard setup.value <= 1 else { return .stall }
            configurationValue = UInt8(setup.value)
            return .configured
        case (0x81, 10):
            guard Int(setup.index) < descriptors.alternates.count else { return .stall }
            return .data([alternate(UInt8(setup.index))])
        case (0x01, 11): return setInterface(setup, descriptors)
        default: return .stall
        }
    }

    private static func descriptor(_ setup: USBSetup, _ descriptors: DongleDescriptors) -> [UInt8]? {
        let index = UInt8(setup.value & 0xFF)
        switch setup.value >> 8 {
        case 1: return descriptors.device
        case 2: return index == 0 ? descriptors.configuration : nil
        case 3: return descriptors.string(index)
        // Device_Qualifier; a full-speed device has none.
        case 6 where descriptors.isHighSpeed: return [10, 0x06, 0x00, 0x02] + descriptors.deviceClass + [64, 1, 0]
        default: return nil
        }
    }

    private func setInterface(_ setup: USBSetup, _ descriptors: DongleDescriptors) -> Result {
        let alternates = descriptors.alternates
        guard Int(setup.index) < alternates.count, Int(setup.value) < alternates[Int(setup.index)] else { return .stall }
        return .interface(UInt8(setup.index), alternate: UInt8(setup.value))
    }

    private mutating func setHalt(_ halt: Bool, _ setup: USBSetup) -> Result {
        guard setup.value == 0 else { return .stall }
        let address = UInt8(truncatingIfNeeded: setup.index)
        if halt { halted.insert(address) } else { halted.remove(address) }
        return .halt(address, halt)
    }
}
