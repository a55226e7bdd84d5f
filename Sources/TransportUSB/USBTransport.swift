import BBCLibUSB
import BBHCI
import BBPackets
import BBTiming
import BBTraffic
import BBTransport

/// HCI over USB: a dongle accessed through libusb. Core Vol 4, Part B.
///
/// Packets get their time stamps on the transfer thread and reach the loop in batches. Before the host's first packet, the dongle is
/// brought to a known state. Data that overtakes its connection's event is held until the event arrives.
/// `@unchecked Sendable`: used on its loop's thread only; the transfer thread is inside `USBDevice`.
public final class USBTransport: HCITransport, @unchecked Sendable {
    public var name: String { description.location.description }
    public internal(set) var description: USBDongleDescription
    /// Connection speed; nil if the system does not report it.
    public var speed: USBSpeed? { reservation.speed }
    /// The start-up step after which the dongle answered; nil before.
    public internal(set) var startup: StartupStep?
    /// Number of stale packets discarded at the start.
    public var discardedAtStart: Int { ladder.discarded }
    /// Statistics of reordering between event and data pipe.
    public var race: ReorderingStatistics { order.statistics }
    public var product: String? { description.title }
    public var startOfPipe: PipeStart? { startup.map { PipeStart(step: $0.description, discarded: discardedAtStart, mode: modes.text) } }
    public func takeReordering() -> ReorderingStatistics { order.takeRecent() }
    public var learned: LearnedConductList {
        var all = noted
        (device?.oddities ?? account.oddities).note(in: &all)
        if order.statistics.held > 0 {
            all.note(.earlyData, "data came before the event that it depends on, and waited", count: order.statistics.held)
        }
        if order.late > 0 { all.note(.lateData, "data came for connections that had ended: dropped", count: order.late) }
        if voiceControl.unpadded > 0 {
            all.note(.paddedVoice, "transparent voice came with 20 octets of zeros before it: taken off", count: voiceControl.unpadded)
        }
        return all
    }
    /// Number of transfers that did not complete at closing; they keep the handle open.
    public var leakedTransfers: Int { account.leakedTransfers }
    /// Number of times that a halted endpoint was cleared.
    public var clearedHalts: Int { device?.clearings ?? account.clearedHalts }
    /// Identity of the dongle, to find it after a replug.
    public var identity: USBDeviceIdentity { reservation.identity }
    /// Called once when the dongle has answered and accepts packets. Set it before `open(_:)`.
    public var onReady: (() -> Void)?

    /// Workarounds that the dongle needs.
    public let workarounds: USBWorkarounds
    /// True while the dongle is off the bus and may return.
    var isAway: Bool { absence.isAway }
    /// Longest time off the bus.
    public var longestReconnectTime: Microseconds { absence.longest }

    let loop: RunLoop
    let options: USBOptions
    var device: USBDevice?
    var sink: (any HCITransportSink)?
    var ladder: StartupLadder
    var timers = USBTimers()
    var absence = ReconnectState()
    var backlog = HostBacklog()
    var loading = USBLoading()
    var noted: LearnedConductList
    var account = USBAccount()
    var ending = USBEnding()
    private var power: USBPower
    /// Manufacturer (company identifier), once known.
    private var company: UInt16?
    private var dataPipe = DataPipeWatch()
    var tracker = ConnectionTracker()
    var order = EventOrder()
    private var reservation: USBReservation
    var voiceControl: VoiceControl
    var modes: USBModeControl
    var probing = USBProbing()
    /// False while a case selects the settings of the voice interface; otherwise they follow the voice links.
    public var managesVoice = true
    var isEnded: Bool { ending.isOver }

    /// Opens the dongle that matches a selector and claims its interfaces; they return to the kernel driver on closing.
    ///
    /// - Throws: `unreachable` if there is none or the selector is ambiguous; `notPermitted` with the udev rule; `busy`; `unprepared` on a
    ///   system on which dongles are not opened.
    public init(_ selector: USBSelector, options: USBOptions = USBOptions(), on loop: RunLoop) throws(TransportError) {
        if let reason = USBRefusal.here(isForced: options.isForced) { throw .unprepared("\(selector): \(reason)") }
        self.loop = loop
        self.options = options
        var (workarounds, notes) = (USBWorkarounds(), LearnedConductList())
        let opening = try USBOpening(selector) { found throws(TransportError) in
            if !options.isForced, let reason = options.refusal(found) { throw .unprepared("\(found.location): \(reason)") }
            workarounds = options.workarounds(found)
            let offers = found.shape?.offersSerialisedMode == true
            if let reason = USBModeControl.refusal(options.mode, offers: offers, workarounds) {
                throw .unreachable("\(found.location): \(reason)")
            }
            if workarounds.suspendsFirst { Self.suspend(found, options.limits, &notes) }
        }
        description = opening.description
        reservation = USBReservation(
            identity: USBDeviceIdentity(selector, opening.description), speed: opening.speed, lock: opening.lock)
        self.workarounds = workarounds
        power = USBPower(bus: description.bus, ports: description.ports)
        ladder = StartupLadder(limits: options.limits)
        voiceControl = VoiceControl(offered: opening.layout.voiceSettings, workarounds)
        noted = notes
        device = nil
        modes = USBModeControl(options.mode, offers: opening.layout.serialised != nil, workarounds)
        use(opening)
        keepAwake()
    }

    /// Starts to use this opening of the dongle.
    func use(_ opening: USBOpening) {
        let loop = loop
        device = USBDevice(opening, name: name, workarounds: workarounds) { [weak self] in
            let transport = self
            loop.post { transport?.takeNews() }
        }
        if modes.startsSerialised { device?.select(serialised: true) }
    }

    deinit { _ = device?.close() }

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
            if !backlog.hold(packet) { endSoon(with: .overrun(dropped: backlog.count)) }
            return
        }
        pass(packet)
    }

    public func close() {
        sink = nil
        end()
        reservation.lock = nil
    }

    func pass(_ packet: HCIPacket) {
        var isOnBulk = false
        switch packet.kind {
        case .command:
            if let change = tracker.sent(packet) { _ = order.changed(change, at: loop.now) }
            voiceControl.note(command: packet)
            switchModeIfNeeded(by: packet)
            backlog.sent(command: packet)
            isOnBulk = loading.usesBulkPipe && packet.commandOpcode == HCICommands.IntelSecureSend.opcode
        case .acl, .iso: dataPipe.sent()
        case .sco where modes.isSerialised: break
        case .sco: return passVoice(packet)
        case .event: return
        }
        if device?.send(packet, onBulk: isOnBulk) == false { endSoon(with: .overrun(dropped: USBDevice.mostQueued)) }
    }

    /// Sends image commands on the bulk pipe, where a boot loader takes and answers them.
    func useBulkPipeForImages(_ uses: Bool) {
        loading.usesBulkPipe = uses
        device?.expectEventsOnBulk(uses)
    }

    // MARK: Voice

    /// Voice state, with the reason if voice is not available. The alternate setting of the voice interface follows the existing links.
    public var voice: VoiceState { voiceControl.state }
    /// Alternate settings of the voice interface.
    public var voiceSettings: [VoiceAlternate] { voiceControl.offered }
    /// Number of voice packets not sent because there was no setting or the queue was full.
    public var droppedVoice: Int { voiceControl.dropped }

    /// Statistics of the isochronous IN pipe.
    public var voiceStatistics: VoiceStatistics { device?.voiceStatistics ?? account.voice }

    /// The setting that carries the voice of the existing links.
    ///
    /// - Throws: the reason why there is none: no link, or a limitation of the dongle or system.
    public func voiceSetting() throws(VoiceProblem) -> VoiceAlternate { try voiceControl.setting() }

    private func passVoice(_ packet: HCIPacket) {
        guard voiceControl.isUsable, device?.sendVoice(packet.bytes) == true else {
            voiceControl.dropped += 1
            return
        }
    }

    // MARK: Events of the thread

    func takeNews() {
        guard !isEnded, let device else { return }
        for item in device.takeNews() where !isEnded && self.device === device {
            switch item {
            case .packet(let packet, let stamp): take(packet, at: stamp - loop.origin)
            case .lost(let reason): departed(reason)
            case .portWasReset: if startup == nil, ladder.step == nil { perform(ladder.start(at: loop.now)) }
            case .listening: if mustResetPortFirst { device.resetPort() } else { perform(ladder.start(at: loop.now)) }
            case .voice(let result): voiceControl.settled(result)
            case .haltedForGood(let endpoint): halted(endpoint)
            case .mode(let result): modeSettled(result)
            case .lostFraming(let fault): framingWasLost(fault)
            case .control(let id, let result): probing.ended(id, result)
            }
        }
    }

    private func take(_ packet: HCIPacket, at time: Microseconds) {
        guard !crashes(by: packet) else { return }
        guard startup != nil else {
            if let action = ladder.received(packet) { perform(action) }
            return
        }
        switch packet.kind {
        case .event: takeEvent(packet, at: time)
        case .sco: sink?.received(voiceControl.unpadded(packet), at: time)
        case .acl, .iso, .command:
            dataPipe.received()
            if order.admit(packet, at: time) { sink?.received(typed(packet), at: time) }
        }
        watchOrder()
    }

    private func takeEvent(_ packet: HCIPacket, at time: Microseconds) {
        noteAnswer(packet)
        backlog.receivedEvent()
        if let change = voiceControl.note(event: packet), managesVoice { device?.setVoice(change.setting, handles: change.handles) }
        sink?.received(packet, at: time)
        if let change = try? tracker.received(packet) {
            if let text = dataPipe.changed(change) { noted.note(.deafDataPipe, text) }
            for held in order.changed(change, at: time) { sink?.received(typed(held), at: time) }
        }
    }

    private func noteAnswer(_ packet: HCIPacket) {
        guard let answer = try? CommandAnswer(event: packet) else { return }
        switch answer.opcode {
        case HCICommands.Reset.opcode: backlog.isResetOpen = false
        case HCICommands.ReadLocalVersionInformation.opcode where company == nil && answer.status == .success:
            company = (try? HCICommands.ReadLocalVersionInformation.Return(prefixOf: answer.returns))?.companyIdentifier
        default: break
        }
    }

    /// Filters out debug data of the firmware; true if the packet contains nothing else. A dump ends the pipe.
    private func crashes(by packet: HCIPacket) -> Bool {
        let isRealtek = company == DebugData.realtek.company || company == nil && description.vendor == DebugData.realtek.vendor
        let debug =
            packet.kind == .event
            ? DebugData(event: packet, isRealtek: isRealtek) : DebugData(data: packet) { tracker[$0] != nil }
        switch debug {
        case nil: return false
        case .log: noted.note(.debugData, "the chip's firmware sends its log as data of no connection: left out")
        case .dump:
            noted.note(.controllerCrashed, "the chip's firmware has crashed and sent a dump")
            ending.resetsPort = true
            finish(with: .crashed("\(name): the controller's firmware has crashed and sent a dump; its port was reset"))
        }
        return true
    }

    /// Isochronous data on the bulk pipe is recognized by its handle.
    private func typed(_ packet: HCIPacket) -> HCIPacket {
        guard !modes.isSerialised, let handle = packet.dataHandle, tracker[handle]?.kind == .isochronous else { return packet }
        return HCIPacket(.iso, packet.bytes)
    }

    private func watchOrder() {
        guard timers.order == nil, let deadline = order.deadline else { return }
        timers.order = loop.schedule(at: deadline) { [weak self] in
            guard let self, !isEnded else { return }
            timers.order = nil
            for packet in order.expire(at: loop.now) { sink?.received(typed(packet), at: loop.now) }
            watchOrder()
        }
    }

    // MARK: Closing

    private func endSoon(with reason: TransportError) {
        loop.schedule(after: .zero) { [weak self] in self?.finish(with: reason) }
    }

    func finish(with reason: TransportError) {
        guard !isEnded else { return }
        let sink = self.sink
        self.sink = nil
        end()
        sink?.closed(reason)
    }

    private func end() {
        guard !isEnded else { return }
        ending.isOver = true
        probing.fail(.lost(name))
        for timer in timers.all { loop.cancel(timer) }
        account.voice = voiceStatistics
        if ending.leavesMode { device?.select(serialised: false) }
        if startup != nil, !ending.isLost, !ending.resetsPort, !workarounds.skipsResetAtClose {
            device?.resetController(within: options.limits.lastReset)
        }
        account.oddities = device?.oddities ?? account.oddities
        account.leakedTransfers += device?.close(resettingPort: ending.resetsPort) ?? 0
        account.clearedHalts = device?.clearings ?? 0
        if account.leakedTransfers == 0 { device = nil }
        power.restore()
    }

    /// Closes after the pipe was lost.
    func finishLost(_ reason: TransportError) {
        ending.isLost = true
        finish(with: reason)
    }

    /// Closes after an endpoint could not be cleared, and resets the port.
    func finishHalted(_ reason: TransportError) {
        ending.resetsPort = true
        finish(with: reason)
    }

    // MARK: Power

    private func keepAwake() {
        guard workarounds.mustStayAwake else { return }
        switch power.keepAwake() {
        case .awake: break
        case .keptAwake:
            noted.note(.autosuspend, "the system suspended it when idle: kept awake for the run")
        case .mayBeSuspended:
            noted.note(.autosuspend, "the system suspends it when idle, and its first answers may get lost: \(power.advice)")
        }
    }

    private static func suspend(_ dongle: USBDongleDescription, _ limits: USBLimits, _ notes: inout LearnedConductList) {
        let problem = USBPower(bus: dongle.bus, ports: dongle.ports).suspendOnce(within: limits.suspension)
        let outcome = problem.map { "it was not: \($0)" } ?? "done"
        notes.note(.deafDataPipe, "its bulk IN pipe brings nothing until the system has suspended it once: \(outcome)")
    }
}
