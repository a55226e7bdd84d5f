import CLibUSB
import HCI
import Packets
import Timing
import Transport

/// HCI over USB: a dongle, straight through libusb. Core Vol 4, Part B.
///
/// Packets are stamped on the thread that serves the transfers and come to the loop in batches. Before the host's first packet the dongle is brought
/// to a known state; data that overtakes its connection's event waits for it.
/// `@unchecked Sendable`: lives on its loop's thread only; the thread of the transfers is behind `USBDevice`.
public final class USBTransport: HCITransport, @unchecked Sendable {
    public let name: String
    public let description: USBDongleDescription
    /// How fast it is connected; nil when the system does not tell.
    public let speed: USBSpeed?
    /// Which step brought the dongle to answer; nil before.
    public private(set) var startup: StartupStep?
    /// Packets of the past thrown away at the start.
    public var discardedAtStart: Int { ladder.discarded }
    /// What the race between the two pipes cost.
    public var race: PipeDisorder { order.statistics }
    public var product: String? { description.title }
    public var startOfPipe: PipeStart? { startup.map { PipeStart(step: $0.description, discarded: discardedAtStart) } }
    public func takeDisorder() -> PipeDisorder { order.takeRecent() }
    public internal(set) var learned = LearnedConductList()
    /// Transfers that never reported at the end; they keep the handle open.
    public private(set) var leakedTransfers = 0
    /// How often a halted endpoint was cleared.
    public var clearedHalts: Int { device?.clearings ?? clearedHaltsAtEnd }
    private var clearedHaltsAtEnd = 0
    /// Which dongle it is, for the time after a replug.
    public let home: USBHome
    /// Told once when the dongle has answered and takes packets; set before `open(_:)`.
    public var onReady: (() -> Void)?

    /// A boot loader takes the commands that carry its image from the bulk pipe, and answers there, too.
    var usesBulkPipeForImages = false {
        didSet { device?.expectEventsOnBulk(usesBulkPipeForImages) }
    }

    private let loop: RunLoop
    private var device: USBDevice?
    private var sink: (any HCITransportSink)?
    private var ladder = StartupLadder()
    private var ladderTimer: Timer?
    private var tracker = ConnectionTracker()
    private var order = EventOrder()
    private var orderTimer: Timer?
    private var voiceControl: VoiceControl
    private var voiceAtEnd = VoiceStatistics()
    private var waiting: [HCIPacket] = []
    private var isEnded = false
    private var endsWithReset = false
    private static let mostWaiting = 256

    /// Opens the dongle that a selector names and claims its interfaces; the kernel's driver gets it back at the end.
    ///
    /// - Throws: `unreachable` when there is none or the selector is ambiguous; `notPermitted` with the udev rule; `busy`.
    public init(_ selector: USBSelector, on loop: RunLoop) throws(TransportError) {
        self.loop = loop
        let library = try USBLibrary()
        let (found, description) = try USBEnumeration.find(selector, library)
        defer { libusb_unref_device(found) }
        self.description = description
        name = description.location.description
        speed = USBSpeed(of: found)
        home = USBHome(selector, description)
        let (handle, layout) = try Self.claim(found, description, selector)
        device = nil
        voiceControl = VoiceControl(offered: layout.voiceSettings)
        let device = USBDevice(handle: handle, layout: layout, name: name, library: library) { [weak self] in
            let transport = self
            loop.post { transport?.takeNews() }
        }
        self.device = device
    }

    deinit { _ = device?.close() }

    private static func claim(
        _ found: OpaquePointer, _ description: USBDongleDescription, _ selector: USBSelector
    ) throws(TransportError) -> (OpaquePointer, USBLayout) {
        var descriptor = libusb_device_descriptor()
        libusb_get_device_descriptor(found, &descriptor)
        var isForced = false
        if case .identity = selector { isForced = true }
        guard let layout = USBEnumeration.layout(of: found, descriptor, forced: isForced) else {
            throw .unreachable("\(description.location): it has no endpoints for HCI")
        }
        let (status, opened) = USBHandle.open(found)
        guard let handle = opened else { throw failure(status, description) }
        libusb_set_auto_detach_kernel_driver(handle, 1)
        for interface in [layout.controlInterface, layout.voiceInterface].compactMap({ $0 }) {
            let status = libusb_claim_interface(handle, Int32(interface))
            guard status == 0 else {
                USBHandle.close(handle)
                throw failure(status, description)
            }
        }
        return (handle, layout)
    }

    private static func failure(_ status: Int32, _ description: USBDongleDescription) -> TransportError {
        let place = description.location.description
        if libusb_error(status) == LIBUSB_ERROR_NO_DEVICE { return .lost(place) }
        switch USBEnumeration.obstacle(status, description) {
        case .permission(let rule): return .notPermitted("\(place): put into \(USBDongleDescription.udevRulePath) and replug: \(rule)")
        case .busy(let holder): return .busy(holder.map { "\(place), held by \($0)," } ?? place)
        case .other(let text): return .unreachable("\(place): \(text)")
        }
    }

    // MARK: Pipe

    public func open(_ sink: any HCITransportSink) throws(TransportError) {
        guard !isEnded, let device else { throw .lost(name) }
        guard loop.mode == .wall else { throw .unreachable("\(name) in virtual time: it lives in wall time") }
        self.sink = sink
        device.start()
    }

    public func send(_ packet: HCIPacket) {
        guard !isEnded else { return }
        guard startup != nil else {
            if waiting.count < Self.mostWaiting { waiting.append(packet) } else { endSoon(with: .overrun(dropped: waiting.count)) }
            return
        }
        pass(packet)
    }

    public func close() {
        sink = nil
        end()
    }

    private func pass(_ packet: HCIPacket) {
        let role: USBTransfer.Role
        switch packet.kind {
        case .command:
            if let change = tracker.sent(packet) { _ = order.changed(change, at: loop.now) }
            voiceControl.note(command: packet)
            role = usesBulkPipeForImages && packet.commandOpcode == HCICommands.IntelSecureSend.opcode ? .dataOut : .command
        case .acl, .iso: role = .dataOut
        case .sco: return passVoice(packet)
        case .event: return
        }
        if device?.send(packet.bytes, as: role) == false { endSoon(with: .overrun(dropped: USBDevice.mostQueued)) }
    }

    // MARK: Voice

    /// Whether the dongle carries voice at the moment, and why not. The alternate setting of its voice interface follows the links that are up.
    public var voice: VoiceState { voiceControl.state }
    /// The alternate settings that the dongle offers for voice.
    public var voiceSettings: [VoiceSetting] { voiceControl.offered }
    /// Voice packets that could not be sent: no setting, or too many waiting.
    public var droppedVoice: Int { voiceControl.dropped }

    /// What the isochronous IN pipe brought, and lost.
    public var voiceStatistics: VoiceStatistics { device?.voiceStatistics ?? voiceAtEnd }

    /// The setting that carries the voice of the links that are up.
    ///
    /// - Throws: why there is none: no link, or what this dongle or this system lacks.
    public func voiceSetting() throws(VoiceProblem) -> VoiceSetting { try voiceControl.setting() }

    private func passVoice(_ packet: HCIPacket) {
        guard voiceControl.isUsable, device?.sendVoice(packet.bytes) == true else {
            voiceControl.dropped += 1
            return
        }
    }

    // MARK: From the thread

    private func takeNews() {
        guard !isEnded, let device else { return }
        for item in device.takeNews() where !isEnded {
            switch item {
            case .packet(let packet, let stamp): take(packet, at: stamp - loop.origin)
            case .lost(let reason): finish(with: reason)
            case .portWasReset: break
            case .listening: perform(ladder.start(at: loop.now))
            case .voice(let result): voiceControl.settled(result)
            case .haltedForGood(let endpoint): halted(endpoint)
            }
        }
    }

    private func take(_ packet: HCIPacket, at time: Microseconds) {
        guard startup != nil else {
            if let action = ladder.received(packet) { perform(action) }
            return
        }
        switch packet.kind {
        case .event:
            if let change = voiceControl.note(event: packet) { device?.setVoice(change.setting, handles: change.handles) }
            sink?.received(packet, at: time)
            if let change = try? tracker.received(packet) {
                for held in order.changed(change, at: time) { sink?.received(typed(held), at: time) }
            }
        case .sco: sink?.received(packet, at: time)
        case .acl, .iso, .command: if order.admit(packet, at: time) { sink?.received(typed(packet), at: time) }
        }
        watchOrder()
    }

    /// Isochronous data shares the bulk pipe; its handle tells it apart.
    private func typed(_ packet: HCIPacket) -> HCIPacket {
        guard let handle = packet.dataHandle, tracker[handle]?.kind == .isochronous else { return packet }
        return HCIPacket(.iso, packet.bytes)
    }

    private func watchOrder() {
        guard orderTimer == nil, let deadline = order.deadline else { return }
        orderTimer = loop.schedule(at: deadline) { [weak self] in
            guard let self, !isEnded else { return }
            orderTimer = nil
            for packet in order.expire(at: loop.now) { sink?.received(typed(packet), at: loop.now) }
            watchOrder()
        }
    }

    /// While it starts, a reset of its port may help. Later it would end all that the host knows of the controller, so the pipe ends with it.
    private func halted(_ endpoint: UInt8) {
        if startup == nil, let actions = ladder.mustResetPort(at: loop.now) {
            for action in actions { perform(action) }
            return
        }
        endsWithReset = true
        let cure = startup == nil ? "not even a reset of its port helps" : "its port was reset"
        finish(with: .unreachable("\(name): its endpoint 0x\(String(endpoint, radix: 16)) halts again whenever it is cleared; \(cure)"))
    }

    // MARK: Start

    private func perform(_ action: StartupLadder.Action) {
        switch action {
        case .drain: break
        case .sendReset: _ = device?.send(StartupLadder.reset.bytes, as: .command)
        case .resetPort: device?.resetPort()
        case .ready(let step):
            startup = step
            let packets = waiting
            waiting = []
            for packet in packets { pass(packet) }
            onReady?()
            onReady = nil
        case .fail: finish(with: .unreachable("\(name): it does not answer HCI_Reset, not even after a reset of its port"))
        }
        watchLadder()
    }

    private func watchLadder() {
        if let ladderTimer { loop.cancel(ladderTimer) }
        ladderTimer = ladder.deadline.map { deadline in
            loop.schedule(at: deadline) { [weak self] in
                guard let self, !isEnded else { return }
                ladderTimer = nil
                // What the thread has brought in time counts, even when the loop is late.
                takeNews()
                guard !isEnded, startup == nil, ladderTimer == nil else { return }
                for action in ladder.timeOut(at: loop.now) { perform(action) }
            }
        }
    }

    // MARK: End

    private func endSoon(with reason: TransportError) {
        loop.schedule(after: .zero) { [weak self] in self?.finish(with: reason) }
    }

    private func finish(with reason: TransportError) {
        guard !isEnded else { return }
        let sink = self.sink
        self.sink = nil
        end()
        sink?.closed(reason)
    }

    private func end() {
        guard !isEnded else { return }
        isEnded = true
        for timer in [ladderTimer, orderTimer].compactMap({ $0 }) { loop.cancel(timer) }
        voiceAtEnd = voiceStatistics
        leakedTransfers = device?.close(resettingPort: endsWithReset) ?? 0
        clearedHaltsAtEnd = device?.clearings ?? 0
        if leakedTransfers == 0 { device = nil }
    }
}
