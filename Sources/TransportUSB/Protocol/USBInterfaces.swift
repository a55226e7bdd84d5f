/// The interfaces of a configuration from its descriptors, independent of libusb. USB 2.0, 9.6.
struct USBInterfaces: Equatable {
    struct Endpoint: Equatable {
        var address: UInt8
        /// bmAttributes; the two low bits are the transfer type.
        var attributes: UInt8
        /// wMaxPacketSize in octets.
        var size: Int
        /// bInterval.
        var interval: UInt8 = 0

        enum Transfer: UInt8 {
            case control
            case isochronous
            case bulk
            case interrupt
        }

        var transfer: Transfer { Transfer(rawValue: attributes & 3) ?? .control }
        var isIn: Bool { address & 0x80 != 0 }
    }

    /// Class, subclass and protocol.
    struct Class: Hashable {
        var code: UInt8
        var subclass: UInt8
        var proto: UInt8

        init(_ code: UInt8, _ subclass: UInt8 = 0, _ proto: UInt8 = 0) { (self.code, self.subclass, self.proto) = (code, subclass, proto) }

        static let bluetooth = Class(0xE0, 1, 1)
        /// An alternate MAC/PHY (AMP) controller of former Core Specifications.
        static let amp = Class(0xE0, 1, 4)
        static let vendorBluetooth = Class(0xFF, 1, 1)
        static let humanInterface: UInt8 = 0x03
    }

    struct Setting: Equatable {
        var alternate: UInt8
        var kind: Class
        var endpoints: [Endpoint]

        /// Has a bulk endpoint for each direction, and no others.
        var hasBulkPairOnly: Bool {
            endpoints.count == 2 && endpoints.allSatisfy { $0.transfer == .bulk && $0.size > 0 } && endpoints[0].isIn != endpoints[1].isIn
        }
    }

    struct Interface: Equatable {
        var number: UInt8
        /// Alternate settings, at least one.
        var settings: [Setting]
    }

    /// An interface association descriptor: the interfaces of one function.
    struct Association: Equatable {
        var first: UInt8
        var count: UInt8
        var kind: Class

        func holds(_ interface: UInt8) -> Bool { (Int(first)..<Int(first) + Int(count)).contains(Int(interface)) }
    }

    var vendor: UInt16
    var product: UInt16
    var deviceClass: UInt8
    var interfaces: [Interface]
    /// Class, subclass and protocol of the device; nil if only the class is known.
    var deviceKind: Class?
    var associations: [Association] = []

    var hasIsochronousEndpoints: Bool { interfaces.flatMap(\.settings).flatMap(\.endpoints).contains { $0.transfer == .isochronous } }

    /// The device has other functions besides Bluetooth.
    var isComposite: Bool { deviceClass != Class.bluetooth.code && deviceClass != 0xFF }
}
