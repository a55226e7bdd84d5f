import DequeModule
import Packets
import Timing
import Transport

/// A controller behind the endpoints of a USB dongle. Core Vol 4, Part B.
///
/// Takes USB requests, speaks HCI on its pipe, answers with completions. Pending requests and undelivered packets are bounded.
public final class USBDongle {
    public let descriptors: DongleDescriptors
    /// Where completions go, on the loop, possibly from within `submit` and `cancel`.
    public var complete: ((USBCompletion) -> Void)?
    /// Packets thrown away because the host did not fetch them.
    public private(set) var dropped = 0

    private let loop: RunLoop
    private let pipe: any HCITransport
    private var faults: USBDongleFaults
    private var events = InboundEndpoint()
    private var data = InboundEndpoint()
    private var outbound = OutboundReassembly()
    private var voice = VoiceSchedule()
    private var inboundVoice = InboundVoice()
    private var outboundVoice = OutboundVoice()
    private var configurationValue: UInt8 = 0
    /// The alternate setting of the voice interface.
    public private(set) var voiceAlternate: UInt8 = 0
    /// The packets of data and voice it has carried.
    public private(set) var traffic = USBTraffic()
    private var halted: Set<UInt8> = []
    private var isGone = false
    /// After a port reset, until the controller has answered HCI_Reset: what it says meanwhile belongs to the past.
    private var isResetting = false
    private var random: RandomSource
    private var lastEventDue = Microseconds.zero
    /// Counts resets of the port: late events of an earlier life are not delivered.
    private var life = 0

    /// - Parameters:
    ///   - pipe: the host's end of a controller's pipe.
    ///   - faults: what is wrong with the dongle's USB side.
    public init(
        descriptors: DongleDescriptors, pipe: any HCITransport, loop: RunLoop, faults: USBDongleFaults = USBDongleFaults()
    ) throws(TransportError) {
        self.descriptors = descriptors
        self.pipe = pipe
        self.loop = loop
        self.faults = faults
        random = RandomSource(seed: faults.seed, label: "late events")
        for packet in faults.staleEvents { _ = events.put(packet) }
        for packet in faults.staleData { _ = data.put(packet) }
        outbound.takesCommands = descriptors.takesCommandsOnBulk
        try pipe.open(self)
    }

    public func submit(_ request: USBRequest) {
        guard !isGone else { return finish(USBCompletion(id: request.id, status: .shutdown)) }
        let address = request.endpoint | (request.isIn ? 0x80 : 0)
        if !halted.contains(address), faults.halts(address) { halted.insert(address) }
        guard request.endpoint == 0 || !halted.contains(address) else { return finish(USBCompletion(id: request.id, status: .stall)) }
        switch (request.endpoint, request.isIn) {
        case (0, _): finish(control(request))
        case (DongleDescriptors.Endpoint.events, true): enqueue(request, on: \.events)
        case (DongleDescriptors.Endpoint.data, true): enqueue(request, on: \.data)
        case (DongleDescriptors.Endpoint.data, false): writeData(request)
        case (DongleDescriptors.Endpoint.voice, _): scheduleVoice(request)
        default: finish(USBCompletion(id: request.id, status: .noEndpoint))
        }
    }

    /// Takes back a pending request. False when it is not pending: it was answered already, or never known.
    @discardableResult
    public func cancel(_ id: UInt32) -> Bool {
        if events.cancel(id) || data.cancel(id) { return true }
        guard let timer = voice.cancel(id) else { return false }
        loop.cancel(timer)
        return true
    }

    /// Pulls the dongle out: every pending request ends, the controller's pipe closes.
    public func unplug() {
        guard !isGone else { return }
        isGone = true
        pipe.close()
        for id in takeAllPending() { finish(USBCompletion(id: id, status: .shutdown)) }
    }

    /// As after plugging in: requests are forgotten without an answer, the configuration is unset and the controller reset.
    public func reset() {
        _ = takeAllPending()
        events = InboundEndpoint()
        data = InboundEndpoint()
        outbound = OutboundReassembly()
        outbound.takesCommands = descriptors.takesCommandsOnBulk
        configurationValue = 0
        setVoiceAlternate(0)
        halted = []
        life += 1
        faults.portWasReset()
        isResetting = true
        pipe.send(HCIPacket(.command, [0x03, 0x0C, 0x00]))
    }

    private func takeAllPending() -> [UInt32] {
        let scheduled = voice.takeAll()
        for timer in scheduled.values { loop.cancel(timer) }
        return events.takePending() + data.takePending() + scheduled.keys.sorted()
    }

    private func finish(_ completion: USBCompletion) { complete?(completion) }

    // MARK: Events and data

    private func enqueue(_ request: USBRequest, on endpoint: ReferenceWritableKeyPath<USBDongle, InboundEndpoint>) {
        guard self[keyPath: endpoint].add(request) else { return finish(USBCompletion(id: request.id, status: .noMemory)) }
        deliver(from: endpoint)
    }

    private func put(event: [UInt8]) {
        if !events.put(event) { dropped += 1 }
        deliver(from: \.events)
    }

    private func deliver(from endpoint: ReferenceWritableKeyPath<USBDongle, InboundEndpoint>) {
        let address = 0x80 | (endpoint == \.events ? DongleDescriptors.Endpoint.events : DongleDescriptors.Endpoint.data)
        guard !halted.contains(address) else { return }
        while let completion = self[keyPath: endpoint].next() { finish(completion) }
    }

    private func writeData(_ request: USBRequest) {
        for packet in outbound.append(request.data) {
            traffic.dataOut += 1
            pipe.send(packet)
        }
        finish(USBCompletion(id: request.id, status: .success, actualLength: request.data.count))
    }

    /// One isochronous packet a frame of a millisecond, after what is already scheduled in this direction.
    private func scheduleVoice(_ request: USBRequest) {
        guard voiceAlternate != 0, !request.packetLengths.isEmpty else {
            return finish(USBCompletion(id: request.id, status: .noEndpoint))
        }
        guard let due = voice.slot(for: request, now: loop.now) else { return finish(USBCompletion(id: request.id, status: .noMemory)) }
        let timer = loop.schedule(at: due) { [weak self] in
            guard let self, voice.cancel(request.id) != nil else { return }
            finish(moveVoice(request))
        }
        voice.note(request.id, timer: timer)
    }

    private func moveVoice(_ request: USBRequest) -> USBCompletion {
        guard !request.isIn else {
            let (data, moved) = inboundVoice.take(request.packetLengths)
            var completion = USBCompletion(id: request.id, status: .success, data: data, packetLengths: moved)
            completion.lostPackets = Set(moved.indices.filter { moved[$0] > 0 && faults.losesVoice() })
            return completion
        }
        for packet in outboundVoice.append(request.data) {
            traffic.voiceOut += 1
            pipe.send(packet)
        }
        let moved = request.packetLengths
        return USBCompletion(id: request.id, status: .success, actualLength: moved.reduce(0, +), packetLengths: moved)
    }

    /// What was under way under the setting before ends.
    private func setVoiceAlternate(_ number: UInt8) {
        voiceAlternate = number
        inboundVoice = InboundVoice(alternate: number, frameSize: descriptors.voicePacketSizes[Int(number)])
        outboundVoice = OutboundVoice()
        let scheduled = voice.takeAll()
        for timer in scheduled.values { loop.cancel(timer) }
        for id in scheduled.keys.sorted() { finish(USBCompletion(id: id, status: .shutdown)) }
    }

    // MARK: Control

    private func control(_ request: USBRequest) -> USBCompletion {
        guard request.setup.count == 8 else { return USBCompletion(id: request.id, status: .stall) }
        let setup = USBSetup(request.setup)
        if setup.isClassRequest, setup.request == 0, !setup.isIn {
            if !faults.isDeaf(to: request.data) { pipe.send(HCIPacket(.command, request.data)) }
            return USBCompletion(id: request.id, status: .success, actualLength: request.data.count)
        }
        guard let answer = standardRequest(setup) else { return USBCompletion(id: request.id, status: .stall) }
        let sent = setup.isIn ? Array(answer.prefix(min(Int(setup.length), request.length))) : []
        return USBCompletion(id: request.id, status: .success, data: sent)
    }

    /// The answer to a standard request (USB 2.0, 9.4), or nil for a stall.
    private func standardRequest(_ setup: USBSetup) -> [UInt8]? {
        switch (setup.requestType, setup.request) {
        case (0x80, 0), (0x81, 0): return [0x01 & (setup.requestType == 0x80 ? 1 : 0), 0]
        case (0x82, 0): return [halted.contains(UInt8(truncatingIfNeeded: setup.index)) ? 1 : 0, 0]
        case (0x02, 1): return setHalt(false, setup)
        case (0x02, 3): return setHalt(true, setup)
        case (0x00, 5): return []
        case (0x80, 6): return descriptor(type: UInt8(setup.value >> 8), index: UInt8(setup.value & 0xFF))
        case (0x80, 8): return [configurationValue]
        case (0x00, 9):
            guard setup.value <= 1 else { return nil }
            configurationValue = UInt8(setup.value)
            setVoiceAlternate(0)
            return []
        case (0x81, 10): return setup.index < 2 ? [setup.index == 1 ? voiceAlternate : 0] : nil
        case (0x01, 11): return setInterface(setup)
        default: return nil
        }
    }

    private func descriptor(type: UInt8, index: UInt8) -> [UInt8]? {
        switch type {
        case 1: descriptors.device
        case 2: index == 0 ? descriptors.configuration : nil
        case 3: descriptors.string(index)
        default: nil
        }
    }

    private func setInterface(_ setup: USBSetup) -> [UInt8]? {
        let alternates = [1, descriptors.voicePacketSizes.count]
        guard Int(setup.index) < alternates.count, Int(setup.value) < alternates[Int(setup.index)] else { return nil }
        if setup.index == 1 { setVoiceAlternate(UInt8(setup.value)) }
        return []
    }

    private func setHalt(_ halt: Bool, _ setup: USBSetup) -> [UInt8]? {
        guard setup.value == 0 else { return nil }
        let address = UInt8(truncatingIfNeeded: setup.index)
        if halt {
            halted.insert(address)
        } else if halted.remove(address) != nil {
            deliver(from: \.events)
            deliver(from: \.data)
        }
        return []
    }
}

extension USBDongle: HCITransportSink {
    public func received(_ packet: HCIPacket, at time: Microseconds) {
        if isResetting {
            isResetting = packet.completedOpcode != HCICommands.Reset.opcode
            return
        }
        switch packet.kind {
        case .event where isBootLoaders(packet):
            if !data.put(packet.bytes) { dropped += 1 }
            deliver(from: \.data)
        case .event:
            guard let range = faults.eventsLateBy else { return put(event: packet.bytes) }
            let delay = Int.random(in: Int(range.lowerBound.rawValue)...Int(range.upperBound.rawValue), using: &random)
            lastEventDue = max(lastEventDue, loop.now + Microseconds(delay))
            let life = life
            loop.schedule(at: lastEventDue) { [weak self] in
                guard let self, !isGone, life == self.life else { return }
                put(event: packet.bytes)
            }
        case .acl, .iso:
            traffic.dataIn += 1
            if !data.put(packet.bytes) { dropped += 1 }
            deliver(from: \.data)
        case .sco:
            traffic.voiceIn += 1
            if voiceAlternate != 0 { traffic.voiceAlternates.insert(voiceAlternate) }
            if !inboundVoice.put(packet) { dropped += 1 }
        case .command: dropped += 1
        }
    }

    /// Answers to what came on the bulk pipe, and the verdict about it, go back there.
    private func isBootLoaders(_ packet: HCIPacket) -> Bool {
        guard descriptors.takesCommandsOnBulk else { return false }
        if packet.completedOpcode == HCICommands.IntelSecureSend.opcode { return true }
        return packet.eventCode == HCIEvents.VendorSpecific.code && packet.parameters.first == IntelBootROM.secureSendResult
    }

    public func closed(_ reason: TransportError) { unplug() }
}

/// The SETUP stage of a control transfer. USB 2.0, 9.3.
struct USBSetup {
    let requestType: UInt8
    let request: UInt8
    let value: UInt16
    let index: UInt16
    let length: UInt16

    init(_ bytes: [UInt8]) {
        requestType = bytes[0]
        request = bytes[1]
        value = UInt16(bytes[2]) | UInt16(bytes[3]) << 8
        index = UInt16(bytes[4]) | UInt16(bytes[5]) << 8
        length = UInt16(bytes[6]) | UInt16(bytes[7]) << 8
    }

    var isIn: Bool { requestType & 0x80 != 0 }
    /// To the device, or to the interface as on composite devices.
    var isClassRequest: Bool { requestType & 0x60 == 0x20 }
}
