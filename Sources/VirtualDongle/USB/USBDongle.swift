import BBPackets
import BBTiming
import BBTransport
import DequeModule

/// A controller behind the endpoints of a USB dongle. Core Vol 4, Part B.
///
/// Takes USB requests, exchanges HCI packets with its pipe, and returns completions. Pending requests and undelivered packets are limited.
public final class USBDongle {
    public let descriptors: DongleDescriptors
    /// Receives completions on the loop, possibly from within `submit` and `cancel`.
    public var complete: ((USBCompletion) -> Void)?
    /// Called when the dongle leaves the bus by itself, with the descriptors of the device that returns, or nil. The owner must unplug the
    /// dongle.
    public var onLeaving: ((DongleDescriptors?) -> Void)?
    /// Called when the port is reset.
    public var onPortReset: (() -> Void)?
    /// Number of packets dropped because the host did not fetch them.
    public internal(set) var dropped = 0
    /// Data and voice packets carried.
    public internal(set) var traffic = USBTraffic()

    private let loop: RunLoop
    private let pipe: any HCITransport
    let voice: VoiceInterface
    private(set) var conduct: USBConduct
    var control = USBControl()
    var events = InboundEndpoint()
    var data = InboundEndpoint()
    private var outbound = OutboundReassembly()
    /// State of Bulk Serialization mode.
    var modes: SerialisedEnd
    /// Number of packets queued for the host.
    private var queued = 0
    private var isGone = false
    private var isLeaving = false
    /// True after a suspend that it did not survive.
    private var isMute = false
    /// True from a port reset until the controller has answered HCI_Reset; packets of the controller are dropped meanwhile.
    private var isResetting = false
    private var random = RandomSource(seed: 1, label: "stray octets")

    /// - Parameters:
    ///   - pipe: the host's end of a controller's pipe.
    ///   - conduct: behaviour of the USB side.
    public init(
        descriptors: DongleDescriptors, pipe: any HCITransport, loop: RunLoop, conduct: USBConduct = USBConduct()
    ) throws(TransportError) {
        self.descriptors = descriptors
        self.pipe = pipe
        self.loop = loop
        self.conduct = conduct
        voice = VoiceInterface(packetSizes: descriptors.voicePacketSizes, on: loop)
        modes = SerialisedEnd(packetSize: descriptors.bulkPacketSize)
        prepareEndpoints()
        prepareVoice()
        try pipe.open(self)
    }

    /// Resets the endpoints to their state after plugging in.
    func prepareEndpoints() {
        outbound = OutboundReassembly()
        outbound.takesCommands = descriptors.takesCommandsOnBulk
        outbound.waitsForZeroLength = conduct.waitsForZeroLength ? descriptors.bulkPacketSize : nil
        events.transferLimit = conduct.eventTransferLimit ?? .max
        events.longestRequest = conduct.longReadsStayPending ? descriptors.interruptPacketSize : .max
        events.joinsPackets = conduct.joinsEvents
        events.isDead = conduct.eventsNeedSetInterface
        data.isDead = conduct.dataInCure != nil || isSerialised && conduct.serialised.isDead
        data.transferLimit = conduct.dataTransferLimit ?? .max
        data.joinsPackets = conduct.joinsData
        events.heldIfFull = conduct.holdsFullEvents ? descriptors.interruptPacketSize : nil
        data.openAfter = conduct.leavesTransfersOpen ? descriptors.bulkPacketSize : nil
        data.emptyAfter = conduct.sendsEmptyTransfers ? descriptors.bulkPacketSize : nil
    }

    private func prepareVoice() {
        voice.silentAlternate = conduct.silentVoiceAlternate
        voice.complete = { [weak self] in self?.finish($0) }
        voice.isLost = { [weak self] in self?.conduct.lostVoice.isDue() ?? false }
        voice.send = { [weak self] in
            self?.traffic.voiceOut += 1
            self?.pipe.send($0)
        }
    }

    /// Alternate setting of the voice interface.
    public var voiceAlternate: UInt8 { voice.alternate }

    public func submit(_ request: USBRequest) {
        guard !isGone else { return finish(USBCompletion(id: request.id, status: .shutdown)) }
        let address = request.endpoint | (request.isIn ? 0x80 : 0)
        if !control.halted.contains(address), conduct.halts(address) { control.halt(address) }
        guard request.endpoint == 0 || !control.halted.contains(address) else {
            return finish(USBCompletion(id: request.id, status: .stall))
        }
        guard request.endpoint != 0 else {
            if let completion = ended(take(request), of: request) { finish(completion) }
            return
        }
        guard !descriptors.isHIDProxy else { return finish(USBCompletion(id: request.id, status: .noEndpoint)) }
        switch (request.endpoint, request.isIn) {
        case (descriptors.endpoints.events, true) where hasEventEndpoint: enqueue(request, on: \.events)
        case (descriptors.endpoints.data, true): enqueue(request, on: \.data)
        case (descriptors.endpoints.data, false): writeData(request)
        case (descriptors.endpoints.voice, _) where descriptors.hasVoice: voice.submit(request)
        default: finish(USBCompletion(id: request.id, status: .noEndpoint))
        }
    }

    /// Cancels a pending request. False if it was already completed or is unknown.
    @discardableResult
    public func cancel(_ id: UInt32) -> Bool {
        control.cancel(id) || events.cancel(id) || data.cancel(id) || voice.cancel(id)
    }

    /// Unplugs the dongle: all pending requests end and the controller's pipe closes.
    public func unplug() {
        guard !isGone else { return }
        isGone = true
        pipe.close()
        for id in takeAllPending() { finish(USBCompletion(id: id, status: .shutdown)) }
    }

    /// Resets the dongle as after plugging in: pending requests are dropped, the configuration is cleared and the controller is reset.
    public func reset() {
        _ = takeAllPending()
        events.clear()
        data.clear()
        control = USBControl()
        voice.set(alternate: 0)
        modes.alternate = 0
        isMute = false
        conduct.portWasReset()
        prepareEndpoints()
        onPortReset?()
        isResetting = true
        pipe.send(HCIPacket(command: HCICommands.Reset()))
    }

    /// Suspends and resumes the dongle.
    public func suspend() {
        switch conduct.suspension {
        case .sleeps: break
        case .mute: isMute = true
        case .returnsAsNew: leave(returning: descriptors)
        }
        guard conduct.dataInCure == .suspension else { return }
        conduct.dataInCure = nil
        data.isDead = false
        deliver(from: \.data)
    }

    private func takeAllPending() -> [UInt32] {
        control.takeOpen() + events.takePending() + data.takePending() + voice.takePending()
    }

    func finish(_ completion: USBCompletion) { complete?(completion) }

    /// Passes a host packet to the controller.
    func pass(_ packet: HCIPacket) {
        guard !isMute else { return }
        traffic.lastCommand = packet.commandOpcode ?? traffic.lastCommand
        if !isLeaving, conduct.leaving?.isReached(by: packet) == true, let leaving = conduct.leaving {
            var next = descriptors
            if let vendor = leaving.vendorID, let product = leaving.productID { (next.vendorID, next.productID) = (vendor, product) }
            leave(returning: leaving.returns ? next : nil)
        }
        pipe.send(packet)
    }

    /// Leaves the bus after the current request is completed.
    private func leave(returning next: DongleDescriptors?) {
        isLeaving = true
        loop.schedule(after: .milliseconds(1)) { [weak self] in
            guard let self, !isGone else { return }
            if let onLeaving { onLeaving(next) } else { unplug() }
        }
    }

    // MARK: Events and data

    private func enqueue(_ request: USBRequest, on endpoint: ReferenceWritableKeyPath<USBDongle, InboundEndpoint>) {
        guard self[keyPath: endpoint].add(request) else { return finish(USBCompletion(id: request.id, status: .noMemory)) }
        deliver(from: endpoint)
    }

    /// Queues a packet on the endpoint that carries its kind in the current mode.
    func queue(_ packet: HCIPacket) {
        queued += 1
        let endpoint = isOnInterrupt(packet) ? \USBDongle.events : \USBDongle.data
        let queued = QueuedPacket(packet: packet, octets: octets(of: packet), number: queued)
        if !self[keyPath: endpoint].put(queued) { dropped += 1 }
        if self[keyPath: endpoint].joinsPackets { holdForAnother(on: endpoint) }
        deliver(from: endpoint)
    }

    private func octets(of packet: HCIPacket) -> [UInt8] {
        guard !isSerialised || isOnInterrupt(packet) else { return serialised(packet) }
        let isShortAfterwards = !(packet.bytes.count + 1).isMultiple(of: descriptors.interruptPacketSize)
        guard let opcode = packet.completedOpcode, conduct.strayOctetAfter.contains(opcode), isShortAfterwards else { return packet.bytes }
        return packet.bytes + random.octets(1)
    }

    /// Holds a packet briefly, so that another can share its transfer.
    private func holdForAnother(on endpoint: ReferenceWritableKeyPath<USBDongle, InboundEndpoint>) {
        self[keyPath: endpoint].isHeld = self[keyPath: endpoint].waiting < 2
        guard self[keyPath: endpoint].isHeld else { return }
        loop.schedule(after: USBConduct.joiningTime) { [weak self] in
            self?[keyPath: endpoint].isHeld = false
            self?.deliver(from: endpoint)
        }
    }

    func deliver(from endpoint: ReferenceWritableKeyPath<USBDongle, InboundEndpoint>) {
        let address = 0x80 | (endpoint == \.events ? descriptors.endpoints.events : descriptors.endpoints.data)
        guard !control.halted.contains(address) else { return }
        while let completion = self[keyPath: endpoint].next() { finish(completion) }
    }

    private func writeData(_ request: USBRequest) {
        for packet in isSerialised ? modes.packets(of: request.data) : outbound.append(request.data) {
            switch packet.kind {
            case .acl, .iso: traffic.dataOut += 1
            case .sco: traffic.voiceOut += 1
            case .command, .event: break
            }
            if !isSerialised || !conduct.serialised.isDead { pass(packet) }
        }
        finish(USBCompletion(id: request.id, status: .success, actualLength: request.data.count))
    }

    // MARK: Control requests

    private func take(_ request: USBRequest) -> USBCompletion {
        let stall = USBCompletion(id: request.id, status: .stall)
        guard let setup = USBSetup(request.setup) else { return stall }
        if setup.isVendorRequest { return take(request, vendor: setup) ? done(request) : stall }
        if setup.isClassRequest { return takeCommand(setup, request.data) ? done(request) : stall }
        guard let answer = standardRequest(setup) else { return stall }
        let sent = setup.isIn ? Array(answer.prefix(min(Int(setup.length), request.length))) : []
        return USBCompletion(id: request.id, status: .success, data: sent)
    }

    /// Takes a class request as a command, whatever its bRequest, wValue and wIndex are, unless it is for another function of a composite
    /// device. Core Vol 4, Part B, 2.2.
    private func takeCommand(_ setup: USBSetup, _ octets: [UInt8]) -> Bool {
        guard !setup.isIn, !conduct.takesVendorRequests, !descriptors.isHIDProxy, !conduct.stalledCommands.isDue() else { return false }
        guard !isSerialised || conduct.serialised.missingRefusal == .command else { return false }
        guard !conduct.takesOnlyRequestZero || (setup.request, setup.value) == (0, 0) else { return false }
        let isForAnother = setup.recipient == .interface && UInt8(truncatingIfNeeded: setup.index) != descriptors.firstInterface
        guard !descriptors.isComposite || !isForAnother else { return false }
        if conduct.ignoredRecipient == nil || setup.recipient != conduct.ignoredRecipient { pass(HCIPacket(.command, octets)) }
        return true
    }

    private func done(_ request: USBRequest) -> USBCompletion {
        USBCompletion(id: request.id, status: .success, actualLength: request.data.count)
    }

    /// Handles a vendor request: a command for some dongles, the switch from keyboard for others.
    private func take(_ request: USBRequest, vendor setup: USBSetup) -> Bool {
        guard setup.request == 0, !setup.isIn else { return false }
        if descriptors.isHIDProxy {
            var next = descriptors
            next.isHIDProxy = false
            leave(returning: next)
            return true
        }
        guard conduct.takesVendorRequests else { return false }
        pass(HCIPacket(.command, request.data))
        return true
    }

    /// The answer to a standard request; nil for a stall.
    private func standardRequest(_ setup: USBSetup) -> [UInt8]? {
        switch control.take(setup, descriptors, alternate: alternate) {
        case .data(let octets): return octets
        case .stall: return nil
        case .configured:
            voice.set(alternate: 0)
            select(mode: 0)
        case .interface(descriptors.firstInterface, let alternate): return selectMode(alternate) ? [] : nil
        case .interface(let number, let alternate):
            guard number == descriptors.voiceInterface else { return [] }
            guard takesVoice(alternate) else { return nil }
            setVoice(alternate)
        case .halt(_, let isHalted):
            guard !isHalted else { return [] }
            deliver(from: \.events)
            deliver(from: \.data)
        }
        return []
    }

    func wakeEvents() {
        events.isDead = false
        deliver(from: \.events)
    }
}

extension USBDongle: HCITransportSink {
    public func received(_ packet: HCIPacket, at time: Microseconds) {
        if isResetting {
            isResetting = packet.completedOpcode != HCICommands.Reset.opcode
            return
        }
        switch packet.kind {
        case .command: dropped += 1
        case .sco:
            traffic.voiceIn += 1
            if voiceAlternate != 0 { traffic.voiceAlternates.insert(voiceAlternate) }
            if isSerialised { queue(packet) } else if !voice.put(packet) { dropped += 1 }
        case .event, .acl, .iso:
            guard !isMute else { return }
            if packet.kind != .event { traffic.dataIn += 1 }
            queue(packet)
        }
    }

    /// True for answers and results that belong on the bulk pipe because their command came from there.
    func isBootLoaders(_ packet: HCIPacket) -> Bool {
        guard descriptors.takesCommandsOnBulk else { return false }
        if packet.completedOpcode == HCICommands.IntelSecureSend.opcode { return true }
        return packet.eventCode == HCIEvents.VendorSpecific.code && packet.parameters.first == IntelBootROM.secureSendResult
    }

    public func closed(_ reason: TransportError) { unplug() }
}
