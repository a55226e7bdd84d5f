import BBVirtualDongle
import Testing

@testable import BBConformance

/// A USB/IP client and its server in the same process: each request of a host and each completion crosses the protocol. Requests are numbered
/// by the host; those that unlink another have the highest bit set.
final class USBIPLink: USBLink {
    var complete: ((USBCompletion) -> Void)?
    private let session: USBIPSession
    private var inbox: [UInt8] = []
    private var isAttached = false
    /// True while the server has octets of ours: its answers wait.
    private var isTelling = false
    private var reads: Set<UInt32> = []
    private var wasPending = false

    private static let recordLength = 312
    private static let headerLength = 48
    private static let busID = Array("1-1".utf8)

    init(_ dongle: USBDongle) {
        session = USBIPSession(bus: Port(dongle))
        session.write = { [unowned self] in received($0) }
        tell([0x01, 0x11, 0x80, 0x03, 0, 0, 0, 0] + Self.busID + [UInt8](repeating: 0, count: 32 - Self.busID.count))
        #expect(isAttached)
    }

    func submit(_ request: USBRequest) {
        if request.isIn { reads.insert(request.id) }
        let length = UInt32(request.isIn ? request.length : request.data.count)
        let header: [UInt32] = [1, request.id, 0x1_0001, request.isIn ? 1 : 0, UInt32(request.endpoint), 0, length, 0, .max, 0]
        let setup = request.setup.isEmpty ? [UInt8](repeating: 0, count: 8) : request.setup
        tell(header.flatMap(Self.octets) + setup + request.data)
    }

    func cancel(_ id: UInt32) -> Bool {
        wasPending = false
        tell([2, id | 1 << 31, 0x1_0001, 0, 0, id].flatMap(Self.octets) + [UInt8](repeating: 0, count: 24))
        if wasPending { reads.remove(id) }
        return wasPending
    }

    func unplug() { session.end() }

    private func tell(_ octets: [UInt8]) {
        let isNested = isTelling
        isTelling = true
        let violation = session.receive(octets)
        #expect(violation == nil)
        isTelling = isNested
        takeReplies()
    }

    private func received(_ octets: [UInt8]) {
        inbox += octets
        takeReplies()
    }

    private func takeReplies() {
        while !isTelling, inbox.count >= (isAttached ? Self.headerLength : 8 + Self.recordLength) {
            guard isAttached else {
                isAttached = inbox[..<8].elementsEqual([0x01, 0x11, 0x00, 0x03, 0, 0, 0, 0])
                inbox.removeFirst(8 + Self.recordLength)
                continue
            }
            let (kind, number, status, length) = (word(0), word(4), Int32(bitPattern: word(20)), Int(word(24)))
            let data = kind == 3 && reads.contains(number) ? length : 0
            guard inbox.count >= Self.headerLength + data else { return }
            let octets = Array(inbox[Self.headerLength..<Self.headerLength + data])
            inbox.removeFirst(Self.headerLength + data)
            guard kind == 3 else {
                wasPending = status == -104
                continue
            }
            reads.remove(number)
            let completion = USBCompletion(
                id: number, status: USBStatus(rawValue: -status) ?? .protocolError, data: octets, actualLength: length)
            complete?(completion)
        }
    }

    private func word(_ at: Int) -> UInt32 { inbox[at..<at + 4].reduce(0) { $0 << 8 | UInt32($1) } }

    private static func octets(_ word: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) } }

    /// A bus with one dongle.
    private final class Port: USBIPBus {
        private let dongle: USBDongle
        var devices: [(busID: String, descriptors: DongleDescriptors)] { [("1-1", dongle.descriptors)] }

        init(_ dongle: USBDongle) { self.dongle = dongle }

        func attach(_ busID: String) -> USBDongle? { busID == "1-1" ? dongle : nil }
        func detach(_ busID: String) { dongle.unplug() }
    }
}
