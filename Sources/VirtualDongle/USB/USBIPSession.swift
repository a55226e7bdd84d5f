import BBTransport

/// The USB/IP protocol of one client, without I/O. It starts with operations and, once a device is attached, carries the device's requests.
public final class USBIPSession {
    /// Receives the octets to send.
    public var write: (([UInt8]) -> Void)?
    /// The device attached to this session.
    public private(set) var attachedBusID: String?

    private let bus: any USBIPBus
    private var inbox: [UInt8] = []
    private var dongle: USBDongle?
    /// Packet lengths of each pending isochronous request.
    private var voicePackets: [UInt32: [Int]] = [:]

    public init(bus: any USBIPBus) {
        self.bus = bus
    }

    /// Handles octets from the client.
    ///
    /// - Returns: a protocol violation that ends the session; nil otherwise.
    public func receive(_ bytes: [UInt8]) -> String? {
        inbox += bytes
        var start = 0
        defer { inbox.removeFirst(start) }
        do {
            while start < inbox.count {
                let rest = inbox[start...]
                if dongle == nil {
                    guard let (operation, length) = try USBIP.operation(rest) else { return nil }
                    start += length
                    perform(operation)
                } else {
                    guard let (request, length) = try USBIP.request(rest) else { return nil }
                    start += length
                    if case .submit(_, let new) = request, voicePackets[new.id] != nil {
                        return "request \(new.id) was sent again while it was under way"
                    }
                    perform(request)
                }
            }
        } catch {
            return error.description
        }
        return nil
    }

    /// Ends the session and releases the device.
    public func end() {
        guard let busID = attachedBusID else { return }
        dongle?.complete = nil
        dongle = nil
        attachedBusID = nil
        bus.detach(busID)
    }

    private func perform(_ operation: USBIP.Operation) {
        switch operation {
        case .list: write?(USBIP.listReply(bus.devices))
        case .attach(let busID):
            guard let number = bus.devices.firstIndex(where: { $0.busID == busID }), let dongle = bus.attach(busID) else {
                write?(USBIP.attachReply(nil))
                return
            }
            self.dongle = dongle
            attachedBusID = busID
            dongle.complete = { [weak self] in self?.answer($0) }
            write?(USBIP.attachReply((busID, UInt32(number + 1), dongle.descriptors)))
        }
    }

    private func perform(_ request: USBIP.Request) {
        switch request {
        case .submit(_, let request):
            if !request.packetLengths.isEmpty { voicePackets[request.id] = request.packetLengths }
            dongle?.submit(request)
        case .unlink(let seqnum, let victim):
            // A pending request gets no reply of its own. If it was already completed, unlink succeeds without effect.
            let wasPending = dongle?.cancel(victim) ?? false
            if wasPending { voicePackets[victim] = nil }
            write?(USBIP.unlinkReply(seqnum: seqnum, wasPending: wasPending))
        }
    }

    private func answer(_ completion: USBCompletion) {
        let asked = voicePackets.removeValue(forKey: completion.id) ?? []
        write?(USBIP.submitReply(completion, packetsAsked: completion.packetLengths.isEmpty ? [] : asked))
    }
}

/// The devices that a server exports.
public protocol USBIPBus: AnyObject {
    var devices: [(busID: String, descriptors: DongleDescriptors)] { get }
    /// A dongle with cleared state; nil if another client uses the device.
    func attach(_ busID: String) -> USBDongle?
    func detach(_ busID: String)
}
