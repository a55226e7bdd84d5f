#if os(Linux)
    /// Requests of Linux's usbfs that libusb makes on 64-bit machines, and the layout of an URB.
    enum UsbfsRequest: UInt32 {
        case setInterface = 0x8008_5504
        case setConfiguration = 0x8004_5505
        case getDriver = 0x4104_5508
        case submitURB = 0x8038_550A
        case discardURB = 0x0000_550B
        case reapURB = 0x4008_550C
        case reapURBNoDelay = 0x4008_550D
        case claimInterface = 0x8004_550F
        case releaseInterface = 0x8004_5510
        case driver = 0xC010_5512
        case reset = 0x0000_5514
        case clearHalt = 0x8004_5515
        case getCapabilities = 0x8004_551A
        case disconnectClaim = 0x8108_551B
        case getSpeed = 0x0000_551F

        /// The activity to report; nil if it is reported later, once the endpoint is known.
        var activity: UsbfsServer.Activity? {
            switch self {
            case .submitURB: nil
            case .claimInterface, .disconnectClaim: .claim
            case .releaseInterface: .release
            case .discardURB: .discard
            case .reapURB, .reapURBNoDelay: .reap
            case .setInterface, .setConfiguration, .getDriver, .driver, .reset, .clearHalt, .getCapabilities, .getSpeed: .other
            }
        }
    }

    /// Capabilities: zero packets, no packet size limit, bulk scatter-gather, reap after disconnect.
    let usbfsCapabilities: UInt32 = 0x1D

    /// `struct usbdevfs_urb` of the kernel.
    struct UsbfsURB {
        static let length = 56
        static let packetLength = 12

        enum Kind: UInt8 {
            case isochronous = 0
            case interrupt = 1
            case control = 2
            case bulk = 3
        }

        /// Address in the client's memory, which identifies the URB.
        var pointer: UInt64
        var kind: Kind
        var endpoint: UInt8
        var buffer: UInt64
        var bufferLength: Int
        var packetCount: Int

        init?(_ octets: [UInt8], at pointer: UInt64) {
            guard octets.count >= Self.length, let kind = Kind(rawValue: octets[0]) else { return nil }
            self.pointer = pointer
            self.kind = kind
            endpoint = octets[1]
            buffer = octets.little(16, 8)
            bufferLength = Int(Int32(truncatingIfNeeded: octets.little(24, 4)))
            packetCount = kind == .isochronous ? Int(Int32(truncatingIfNeeded: octets.little(36, 4))) : 0
            guard (0...(1 << 20)).contains(bufferLength), (0...128).contains(packetCount) else { return nil }
        }
    }

    extension [UInt8] {
        /// Little-endian number of up to eight octets.
        func little(_ offset: Int, _ count: Int) -> UInt64 {
            var value: UInt64 = 0
            for index in (0..<count).reversed() { value = value << 8 | UInt64(self[offset + index]) }
            return value
        }

        static func little(_ value: UInt64, _ count: Int) -> [UInt8] {
            Swift.withUnsafeBytes(of: value.littleEndian) { Array($0.prefix(count)) }
        }
    }
#endif
