/// The descriptors of a Bluetooth dongle. USB 2.0, 9.6; Core Vol 4, Part B, 2.1.
public struct DongleDescriptors: Sendable {
    public var vendorID: UInt16
    public var productID: UInt16
    /// bcdDevice.
    public var release: UInt16 = 0x0100
    public var manufacturer: String
    public var product: String
    public var serialNumber: String
    public var hasSerialNumber = true
    /// False to stall requests for string descriptors.
    public var hasStrings = true
    /// The boot loader takes image commands on the bulk pipe and answers there.
    public var takesCommandsOnBulk = false
    /// Isochronous packet size of each alternate setting of the voice interface; empty for a dongle without one. Dongles without wide band
    /// speech lack the last setting.
    public var voicePacketSizes = [0, 9, 17, 25, 33, 49, 63]
    /// Class, subclass and protocol: wireless controller, RF controller, Bluetooth programming interface.
    public var deviceClass = bluetooth
    public var interfaceClass = bluetooth
    /// Number of the HCI interface; the voice interface follows.
    public var firstInterface: UInt8 = 0
    /// Number of further vendor-specific interfaces.
    public var extraInterfaces = 0
    /// Number of the event endpoint; the data and voice endpoints follow.
    public var firstEndpoint: UInt8 = 1
    public var interruptPacketSize = 16
    /// Interval of the interrupt endpoint in milliseconds; 0 is 125 us, at high speed.
    public var interruptInterval = 1
    public var bulkPacketSize = 64
    public var isHighSpeed = false
    /// Offers Bulk Serialization mode: alternate setting 1 of the HCI interface, with the bulk endpoints only. Core Vol 4, Part B, 7.
    public var offersSerialisedMode = false
    /// Number of the alternate setting that has the bulk endpoints only.
    public var serialisedSetting: UInt8 = 1
    /// Groups the interfaces of a composite device by an interface association descriptor. Core Vol 4, Part B, 6.2.
    public var hasAssociation = true
    /// Enumerates as keyboard and mouse until a vendor request switches it.
    public var isHIDProxy = false

    /// Identifiers that pid.codes reserves for testing; drivers bind by class, not by these.
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

    public static let bluetooth: [UInt8] = [0xE0, 0x01, 0x01]
    /// Miscellaneous device with interface association descriptors.
    public static let composite: [UInt8] = [0xEF, 0x02, 0x01]
    static let vendor: [UInt8] = [0xFF, 0xFF, 0xFF]
    static let firmwareUpdate: [UInt8] = [0xFE, 0x01, 0x01]
    static let keyboard: [UInt8] = [0x03, 0x01, 0x01]
    static let mouse: [UInt8] = [0x03, 0x01, 0x02]

    /// Endpoint numbers without the direction bit.
    public struct Endpoints: Sendable, Equatable {
        public var events: UInt8
        public var data: UInt8
        public var voice: UInt8
    }

    public var endpoints: Endpoints { Endpoints(events: firstEndpoint, data: firstEndpoint + 1, voice: firstEndpoint + 2) }
    var hasVoice: Bool { !voicePacketSizes.isEmpty }
    /// One function of several: the device class is not that of Bluetooth.
    var isComposite: Bool { deviceClass[0] != Self.bluetooth[0] && deviceClass[0] != 0xFF }
    /// Number of the voice interface; nil if there is none.
    public var voiceInterface: UInt8? { hasVoice ? firstInterface + 1 : nil }

    /// Class of each interface, by number.
    public var interfaceClasses: [[UInt8]] {
        if isHIDProxy { return [Self.keyboard, Self.mouse] }
        let extra = (0..<extraInterfaces).map { $0 == 1 ? Self.firmwareUpdate : Self.vendor }
        return [[UInt8]](repeating: Self.vendor, count: Int(firstInterface)) + [interfaceClass] + (hasVoice ? [interfaceClass] : []) + extra
    }

    /// Number of alternate settings of each interface.
    var alternates: [Int] {
        interfaceClasses.indices.map { number in
            switch UInt8(number) {
            case voiceInterface: voicePacketSizes.count
            case firstInterface: offersSerialisedMode && !isHIDProxy ? 2 : 1
            default: 1
            }
        }
    }

    public var device: [UInt8] {
        let strings: [UInt8] = hasStrings ? [1, 2, hasSerialNumber ? 3 : 0] : [0, 0, 0]
        let type = isHIDProxy ? [0, 0, 0] : deviceClass
        return [18, 0x01, 0x00, 0x02] + type + [64] + le(vendorID) + le(productID) + le(release) + strings + [1]
    }

    public var configuration: [UInt8] {
        let body = isHIDProxy ? proxyInterfaces : bluetoothInterfaces
        // Self-powered without remote wake-up; with remote wake-up, Linux suspends an idle dongle.
        return [9, 0x02] + le(UInt16(9 + body.count)) + [UInt8(interfaceClasses.count), 1, 0, 0xC0, 0] + body
    }

    private var bluetoothInterfaces: [UInt8] {
        let classes = interfaceClasses
        var body: [UInt8] = []
        if deviceClass[0] == 0xEF, hasAssociation { body += [8, 0x0B, firstInterface, hasVoice ? 2 : 1] + interfaceClass + [0] }
        for number in classes.indices {
            switch UInt8(number) {
            case firstInterface: body += hciInterface
            case voiceInterface: body += voiceInterfaces
            default: body += interface(UInt8(number), classes[number], endpoints: 0)
            }
        }
        return body
    }

    private var hciInterface: [UInt8] {
        let bulk =
            endpoint(endpoints.data, attributes: 0x02, size: bulkPacketSize, interval: 0)
            + endpoint(0x80 | endpoints.data, attributes: 0x02, size: bulkPacketSize, interval: 0)
        return interface(firstInterface, interfaceClass, endpoints: 3)
            + endpoint(0x80 | endpoints.events, attributes: 0x03, size: interruptPacketSize, interval: interval(interruptInterval)) + bulk
            + (offersSerialisedMode ? interface(firstInterface, interfaceClass, alternate: serialisedSetting, endpoints: 2) + bulk : [])
    }

    private var voiceInterfaces: [UInt8] {
        voicePacketSizes.enumerated().flatMap { alternate, size in
            interface(firstInterface + 1, interfaceClass, alternate: UInt8(alternate), endpoints: 2)
                + endpoint(endpoints.voice, attributes: 0x01, size: size, interval: frame)
                + endpoint(0x80 | endpoints.voice, attributes: 0x01, size: size, interval: frame)
        }
    }

    /// Keyboard and mouse, each with a report endpoint.
    private var proxyInterfaces: [UInt8] {
        [Self.keyboard, Self.mouse].enumerated().flatMap { number, type in
            interface(UInt8(number), type, endpoints: 1) + [9, 0x21, 0x11, 0x01, 0, 1, 0x22, 63, 0]
                + endpoint(0x81 + UInt8(number), attributes: 0x03, size: 8, interval: 10)
        }
    }

    /// bInterval of one millisecond.
    private var frame: UInt8 { interval(1) }

    /// bInterval of some milliseconds; at high speed, it is an exponent in units of 125 us.
    private func interval(_ milliseconds: Int) -> UInt8 {
        guard isHighSpeed else { return UInt8(clamping: max(1, milliseconds)) }
        return milliseconds == 0 ? 1 : UInt8(clamping: 3 + Int.bitWidth - milliseconds.leadingZeroBitCount)
    }

    /// The string descriptor with an index; nil if there is none. Index 0 lists the languages.
    public func string(_ index: UInt8) -> [UInt8]? {
        guard hasStrings else { return nil }
        let text: String
        switch index {
        case 0: return [4, 0x03, 0x09, 0x04]
        case 1: text = manufacturer
        case 2: text = product
        case 3 where hasSerialNumber: text = serialNumber
        default: return nil
        }
        let units = text.utf16.prefix(126)
        return [UInt8(2 + 2 * units.count), 0x03] + units.flatMap(le)
    }

    private func interface(_ number: UInt8, _ type: [UInt8], alternate: UInt8 = 0, endpoints: UInt8) -> [UInt8] {
        [9, 0x04, number, alternate, endpoints] + type + [0]
    }

    private func endpoint(_ address: UInt8, attributes: UInt8, size: Int, interval: UInt8) -> [UInt8] {
        [7, 0x05, address, attributes] + le(UInt16(size)) + [interval]
    }

    private func le(_ value: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)] }
}
