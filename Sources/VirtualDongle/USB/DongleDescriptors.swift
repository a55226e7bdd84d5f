/// The descriptors of a full-speed Bluetooth dongle. USB 2.0, 9.6; Core Vol 4, Part B, 2.1.
public struct DongleDescriptors: Sendable {
    public var vendorID: UInt16
    public var productID: UInt16
    public var manufacturer: String
    public var product: String
    public var serialNumber: String
    /// Its boot loader takes the commands that carry an image from the bulk pipe, and answers them there.
    public var takesCommandsOnBulk = false
    /// Octets of an isochronous packet in each alternate setting of interface 1; dongles from before wide band speech lack the last one.
    public var voicePacketSizes = [0, 9, 17, 25, 33, 49, 63]

    /// The identifiers that pid.codes keeps for devices under test; drivers bind by class, not by these.
    public init(
        vendorID: UInt16 = 0x1209, productID: UInt16 = 0x0001, manufacturer: String = "Bluebench", product: String = "Virtual dongle",
        serialNumber: String
    ) {
        self.vendorID = vendorID
        self.productID = productID
        self.manufacturer = manufacturer
        self.product = product
        self.serialNumber = serialNumber
    }

    /// Wireless controller, RF controller, Bluetooth programming interface.
    public static let deviceClass: [UInt8] = [0xE0, 0x01, 0x01]
    public static let release: UInt16 = 0x0100
    public static let interfaceCount = 2
    public static let interruptPacketSize = 16
    public static let bulkPacketSize = 64

    enum Endpoint {
        static let events: UInt8 = 1
        static let data: UInt8 = 2
        static let voice: UInt8 = 3
    }

    public var device: [UInt8] {
        [18, 0x01, 0x00, 0x02] + Self.deviceClass + [64] + le(vendorID) + le(productID) + le(Self.release) + [1, 2, 3, 1]
    }

    public var configuration: [UInt8] {
        var body = interface(0, alternate: 0, endpoints: 3)
        body += endpoint(0x80 | Endpoint.events, attributes: 0x03, size: Self.interruptPacketSize, interval: 1)
        body += endpoint(Endpoint.data, attributes: 0x02, size: Self.bulkPacketSize, interval: 0)
        body += endpoint(0x80 | Endpoint.data, attributes: 0x02, size: Self.bulkPacketSize, interval: 0)
        for (alternate, size) in voicePacketSizes.enumerated() {
            body += interface(1, alternate: UInt8(alternate), endpoints: 2)
            body += endpoint(Endpoint.voice, attributes: 0x01, size: size, interval: 1)
            body += endpoint(0x80 | Endpoint.voice, attributes: 0x01, size: size, interval: 1)
        }
        // Self-powered without remote wake-up: with it, a Linux driver suspends an idle dongle.
        return [9, 0x02] + le(UInt16(9 + body.count)) + [UInt8(Self.interfaceCount), 1, 0, 0xC0, 0] + body
    }

    /// The string descriptor of an index, or nil where there is none. Index 0 lists the languages.
    public func string(_ index: UInt8) -> [UInt8]? {
        let text: String
        switch index {
        case 0: return [4, 0x03, 0x09, 0x04]
        case 1: text = manufacturer
        case 2: text = product
        case 3: text = serialNumber
        default: return nil
        }
        let units = text.utf16.prefix(126)
        return [UInt8(2 + 2 * units.count), 0x03] + units.flatMap(le)
    }

    private func interface(_ number: UInt8, alternate: UInt8, endpoints: UInt8) -> [UInt8] {
        [9, 0x04, number, alternate, endpoints] + Self.deviceClass + [0]
    }

    private func endpoint(_ address: UInt8, attributes: UInt8, size: Int, interval: UInt8) -> [UInt8] {
        [7, 0x05, address, attributes] + le(UInt16(size)) + [interval]
    }

    private func le(_ value: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)] }
}
