import Transport

/// One client's conversation: bytes in, bytes out. It begins with operations and, once a device is attached, carries that device's requests.
public final class USBIPSession {
    /// Where the session's bytes go.
    public var write: (([UInt8]) -> Void)?
    /// The device this session holds.
    public private(set) var attachedBusID: String?

    private let bus: any USBIPBus
    private var inbox: [UInt8] = []
    private var dongle: USBDongle?
    /// The packets each pending isochronous request asked for.
    private var voicePackets: [UInt32: [Int]] = [:]

    public init(bus: any USBIPBus) {
        self.bus = bus
    }

    /// Takes what the client sent.
    ///
    /// - Returns: what the client did wrong; the conversation is over then.
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

    /// Ends the conversation and gives the device back.
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
            // A request still pending gets no answer of its own; one already answered makes the unlink succeed with nothing to do.
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

/// The devices a server exports.
public protocol USBIPBus: AnyObject {
    var devices: [(busID: String, descriptors: DongleDescriptors)] { get }
    /// A fresh dongle, or nil when the device is held by another client.
    func attach(_ busID: String) -> USBDongle?
    func detach(_ busID: String)
}
