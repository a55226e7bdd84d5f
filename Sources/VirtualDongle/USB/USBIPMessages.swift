/// Messages of USB/IP version 1.1.1; all fields are big-endian.
enum USBIP {
    static let version: UInt16 = 0x0111
    static let busIDLength = 32

    /// Client requests before a device is attached.
    enum Operation: Equatable {
        case list
        case attach(busID: String)
    }

    /// Client requests after a device is attached.
    enum Request {
        case submit(seqnum: UInt32, USBRequest)
        case unlink(seqnum: UInt32, victim: UInt32)
    }

    /// A protocol violation by a client, with a description.
    struct Violation: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    /// Maximum octets of an URB in either direction.
    static let mostOctets = 1 << 20
    static let mostPackets = 1_024

    // MARK: Reading

    /// The operation at the start of `bytes` and its length; nil if it is incomplete.
    static func operation(_ bytes: ArraySlice<UInt8>) throws(Violation) -> (Operation, Int)? {
        guard bytes.count >= 8 else { return nil }
        let base = bytes.startIndex
        guard be16(bytes, 0) >= 0x0106 else { throw Violation(description: "USB/IP version \(be16(bytes, 0)) is too old") }
        switch be16(bytes, 2) {
        case 0x8005: return (.list, 8)
        case 0x8003:
            guard bytes.count >= 8 + busIDLength else { return nil }
            let text = bytes[base + 8..<base + 8 + busIDLength].prefix { $0 != 0 }
            return (.attach(busID: String(decoding: text, as: UTF8.self)), 8 + busIDLength)
        default: throw Violation(description: "unknown USB/IP operation \(be16(bytes, 2))")
        }
    }

    /// The request at the start of `bytes` and its length; nil if it is incomplete.
    static func request(_ bytes: ArraySlice<UInt8>) throws(Violation) -> (Request, Int)? {
        guard bytes.count >= 48 else { return nil }
        let seqnum = be32(bytes, 4)
        switch be32(bytes, 0) {
        case 2: return (.unlink(seqnum: seqnum, victim: be32(bytes, 20)), 48)
        case 1: return try submit(bytes, seqnum: seqnum)
        default: throw Violation(description: "unknown USB/IP command \(be32(bytes, 0))")
        }
    }

    private static func submit(_ bytes: ArraySlice<UInt8>, seqnum: UInt32) throws(Violation) -> (Request, Int)? {
        let base = bytes.startIndex
        let isIn = be32(bytes, 12) == 1
        let endpoint = be32(bytes, 16)
        let length = Int(be32(bytes, 24))
        // Without isochronous packets, the field is 0 or, from newer clients, all ones.
        let packets = be32(bytes, 32) == .max ? 0 : Int(be32(bytes, 32))
        guard endpoint < 16, length <= mostOctets, packets <= mostPackets else {
            throw Violation(description: "a request for endpoint \(endpoint) with \(length) octets in \(packets) packets")
        }
        let dataLength = isIn ? 0 : length
        let total = 48 + dataLength + 16 * packets
        guard bytes.count >= total else { return nil }
        let setup = Array(bytes[base + 40..<base + 48])
        let request = USBRequest(
            id: seqnum, endpoint: UInt8(endpoint), isIn: endpoint == 0 ? setup[0] & 0x80 != 0 : isIn, setup: endpoint == 0 ? setup : [],
            data: Array(bytes[base + 48..<base + 48 + dataLength]), length: length,
            packetLengths: (0..<packets).map { min(mostOctets, Int(be32(bytes, 48 + dataLength + 16 * $0 + 4))) })
        return (.submit(seqnum: seqnum, request), total)
    }

    // MARK: Writing

    static func listReply(_ devices: [(busID: String, descriptors: DongleDescriptors)]) -> [UInt8] {
        var reply = be(version) + be(UInt16(0x0005)) + be(UInt32(0)) + be(UInt32(devices.count))
        for (index, device) in devices.enumerated() {
            reply += deviceRecord(device.busID, number: UInt32(index + 1), device.descriptors)
            for type in device.descriptors.interfaceClasses { reply += type + [0] }
        }
        return reply
    }

    /// The reply to an attach request; a rejection if there is no device.
    static func attachReply(_ device: (busID: String, number: UInt32, descriptors: DongleDescriptors)?) -> [UInt8] {
        guard let device else { return be(version) + be(UInt16(0x0003)) + be(UInt32(1)) }
        return be(version) + be(UInt16(0x0003)) + be(UInt32(0)) + deviceRecord(device.busID, number: device.number, device.descriptors)
    }

    private static func deviceRecord(_ busID: String, number: UInt32, _ descriptors: DongleDescriptors) -> [UInt8] {
        let speed = UInt32(descriptors.isHighSpeed ? 3 : 2)
        return padded("/sys/devices/bluebench/\(busID)", to: 256) + padded(busID, to: busIDLength) + be(UInt32(1)) + be(number)
            + be(speed) + be(descriptors.vendorID) + be(descriptors.productID) + be(descriptors.release) + descriptors.deviceClass
            + [1, 1, UInt8(descriptors.interfaceClasses.count)]
    }

    static func submitReply(_ completion: USBCompletion, packetsAsked: [Int]) -> [UInt8] {
        var reply = header(3, completion.id) + be(UInt32(bitPattern: -completion.status.rawValue)) + be(UInt32(completion.actualLength))
        reply += be(UInt32(0)) + be(UInt32(packetsAsked.count)) + be(UInt32(0)) + [UInt8](repeating: 0, count: 8)
        reply += completion.data
        var offset = 0
        for (index, (asked, moved)) in zip(packetsAsked, completion.packetLengths).enumerated() {
            reply += be(UInt32(offset)) + be(UInt32(asked)) + be(UInt32(moved)) + be(completion.packetStatus(index))
            offset += asked
        }
        return reply
    }

    static func unlinkReply(seqnum: UInt32, wasPending: Bool) -> [UInt8] {
        let status: Int32 = wasPending ? -USBStatus.cancelled.rawValue : 0
        return header(4, seqnum) + be(UInt32(bitPattern: status)) + [UInt8](repeating: 0, count: 24)
    }

    private static func header(_ command: UInt32, _ seqnum: UInt32) -> [UInt8] {
        be(command) + be(seqnum) + [UInt8](repeating: 0, count: 12)
    }

    private static func padded(_ text: String, to count: Int) -> [UInt8] {
        let octets = Array(text.utf8.prefix(count - 1))
        return octets + [UInt8](repeating: 0, count: count - octets.count)
    }

    private static func be(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }
    private static func be(_ value: UInt32) -> [UInt8] { be(UInt16(value >> 16)) + be(UInt16(value & 0xFFFF)) }
    private static func be16(_ bytes: ArraySlice<UInt8>, _ at: Int) -> UInt16 {
        UInt16(bytes[bytes.startIndex + at]) << 8 | UInt16(bytes[bytes.startIndex + at + 1])
    }
    private static func be32(_ bytes: ArraySlice<UInt8>, _ at: Int) -> UInt32 {
        UInt32(be16(bytes, at)) << 16 | UInt32(be16(bytes, at + 2))
    }
}
