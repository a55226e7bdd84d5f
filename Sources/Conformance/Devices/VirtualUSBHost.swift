import BBPackets
import BBTiming
import BBTransport
import BBTransportUSB
import BBVirtualDongle

/// A host without libusb on a virtual dongle in the same process, in virtual time: a pipe of packets, and the USB side of the device.
final class VirtualUSBHost: HCITransport, USBPort {
    let name: String
    let shape: USBShape?
    var addressing = USBCommandAddress()
    private(set) var isSerialised = false
    var framing: USBFraming { USBFraming(framer) }

    private enum Role {
        case events
        case data
        case control(Promise<USBRequestResult>)
        case output
    }

    private static let reads = 4
    private static let dataSize = 1_024
    private let link: any USBLink
    private let descriptors: DongleDescriptors
    private let startsSerialised: Bool
    private let loop: RunLoop
    private let endpoints: DongleDescriptors.Endpoints
    private var sink: (any HCITransportSink)?
    private var isHeld = false
    private var nextID: UInt32 = 1
    private var pending: [UInt32: Role] = [:]
    private var events = StreamedPackets(.event)
    private var data = StreamedPackets(.acl)
    private var framer: SerialisedFramer

    init(_ dongle: USBDongle, _ usb: VirtualUSB = VirtualUSB(), name: String, on loop: RunLoop) {
        (link, descriptors, self.name, self.loop) = (usb.link(dongle), dongle.descriptors, name, loop)
        endpoints = descriptors.endpoints
        shape = USBDescriptors.shape(
            device: descriptors.device, configuration: descriptors.configuration, isHighSpeed: descriptors.isHighSpeed)
        framer = SerialisedFramer(from: .controller, packetSize: descriptors.bulkPacketSize)
        startsSerialised = usb.startsSerialised && descriptors.offersSerialisedMode
        link.complete = { [weak self] in self?.completed($0) }
    }

    // MARK: Packets

    func open(_ sink: any HCITransportSink) {
        self.sink = sink
        if startsSerialised {
            submit(.control(Promise(on: loop)), 0, setup: setup(alternate: 1, of: descriptors.firstInterface))
            isSerialised = true
        }
        read()
    }

    func send(_ packet: HCIPacket) {
        guard !isSerialised else {
            submit(.output, endpoints.data, data: packet.serialised)
            return
        }
        switch packet.kind {
        case .command:
            let setup = addressing.setup(length: packet.bytes.count, interface: descriptors.firstInterface)
            submit(.control(Promise(on: loop)), 0, setup: setup, data: packet.bytes)
        case .acl, .iso: submit(.output, endpoints.data, data: packet.bytes)
        case .sco, .event: break
        }
    }

    func close() {
        sink = nil
        link.unplug()
    }

    // MARK: USB

    func holdInput() {
        isHeld = true
        for (id, role) in pending {
            switch role {
            case .events, .data: if link.cancel(id) { pending[id] = nil }
            case .control, .output: break
            }
        }
    }

    func release() {}

    func selectMode(serialised: Bool) async throws -> USBRequestResult? {
        guard !serialised || shape?.offersSerialisedMode == true else { return nil }
        holdInput()
        let result = try await select(serialised ? 1 : 0, of: descriptors.firstInterface)
        if result.isDone {
            isSerialised = serialised
            events.restart()
            data.restart()
            framer.restart()
        }
        isHeld = false
        read()
        return result
    }

    func selectVoice(_ alternate: UInt8) async throws -> USBRequestResult? {
        guard let interface = descriptors.voiceInterface else { return nil }
        return try await select(alternate, of: interface)
    }

    func command(_ octets: [UInt8]) async throws -> USBRequestResult {
        try await control(addressing.setup(length: octets.count, interface: descriptors.firstInterface), octets)
    }

    private func select(_ alternate: UInt8, of interface: UInt8) async throws -> USBRequestResult {
        try await control(setup(alternate: alternate, of: interface))
    }

    private func setup(alternate: UInt8, of interface: UInt8) -> [UInt8] { [0x01, 11, alternate, 0, interface, 0, 0, 0] }

    private func control(_ setup: [UInt8], _ octets: [UInt8] = []) async throws -> USBRequestResult {
        let answer = Promise<USBRequestResult>(on: loop)
        let limit = USBRequestResult.limit(of: setup)
        let id = submit(.control(answer), 0, setup: setup, data: octets)
        let timer = loop.schedule(after: limit) { [weak self] in
            guard let self, pending.removeValue(forKey: id) != nil else { return }
            link.cancel(id)
            answer.fulfil(.unanswered(after: limit))
        }
        defer { loop.cancel(timer) }
        return try await answer.value()
    }

    // MARK: Requests

    @discardableResult
    private func submit(_ role: Role, _ endpoint: UInt8, isIn: Bool = false, setup: [UInt8] = [], data: [UInt8] = [], length: Int = 0)
        -> UInt32
    {
        let id = nextID
        nextID &+= 1
        pending[id] = role
        link.submit(USBRequest(id: id, endpoint: endpoint, isIn: isIn, setup: setup, data: data, length: length))
        return id
    }

    /// Keeps reads pending on the endpoints of the mode.
    private func read() {
        guard sink != nil, !isHeld else { return }
        let waiting = pending.values.reduce(into: (events: 0, data: 0)) { count, role in
            switch role {
            case .events: count.events += 1
            case .data: count.data += 1
            case .control, .output: break
            }
        }
        for _ in waiting.data..<Self.reads { submit(.data, endpoints.data, isIn: true, length: Self.dataSize) }
        guard !isSerialised else { return }
        for _ in waiting.events..<Self.reads {
            submit(.events, endpoints.events, isIn: true, length: descriptors.interruptPacketSize)
        }
    }

    private func completed(_ completion: USBCompletion) {
        guard let role = pending.removeValue(forKey: completion.id) else { return }
        switch role {
        case .control(let answer): answer.fulfil(USBRequestResult(completion.status))
        case .output: break
        case .events where completion.status == .success: events.append(completion.data, deliver)
        case .data where completion.status == .success:
            if isSerialised {
                completion.data.withUnsafeBytes { framer.append($0, capacity: Self.dataSize, deliver) }
            } else {
                data.append(completion.data, deliver)
            }
        case .events, .data: return
        }
        if case .control = role { return }
        // A read that ends within a request is followed by the next one later, so that none is in another.
        loop.schedule(after: .zero) { [weak self] in self?.read() }
    }

    private func deliver(_ packet: HCIPacket) {
        loop.schedule(after: .zero) { [weak self] in
            guard let self else { return }
            sink?.received(packet, at: loop.now)
        }
    }
}

extension USBRequestResult {
    fileprivate init(_ status: USBStatus) {
        switch status {
        case .success: self = .done
        case .stall: self = .stalled
        case .shutdown: self = .failed("the device is gone")
        case .cancelled, .noEndpoint, .noMemory, .protocolError: self = .failed("input/output error")
        }
    }
}

/// The packets of a legacy endpoint, each of which may take several transfers.
private struct StreamedPackets {
    private let kind: HCIPacket.Kind
    private var pending: [UInt8] = []

    init(_ kind: HCIPacket.Kind) { self.kind = kind }

    mutating func append(_ octets: [UInt8], _ deliver: (HCIPacket) -> Void) {
        pending += octets
        while let length = kind.packetLength(in: pending.span.bytes), pending.count >= length {
            deliver(HCIPacket(kind, Array(pending.prefix(length))))
            pending.removeFirst(length)
        }
    }

    mutating func restart() { pending = [] }
}
