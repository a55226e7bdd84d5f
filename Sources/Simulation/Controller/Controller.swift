import BBBluetoothCrypto
import BBPackets
import BBTiming
import BBTransport

/// The controller behind one end of an HCI pipe, as far as LE and BR/EDR share it: commands, events, data, links and handles.
final class Controller {
    let identifier: ControllerID
    private(set) var configuration: ControllerConfiguration
    let radio: Radio
    private let rows: CommandIndex
    private var commands: CommandInput!
    private var heldEvents = HeldEvents()
    /// Random numbers for behaviour on the air.
    var random: RandomSource
    /// Random numbers for secrets.
    var secrets: SecretSource
    var masks = EventMasks()
    /// Set in local loopback mode; returns the host's packets.
    var loopback: LocalLoopback?
    /// Controller-to-host flow control.
    var hostFlow = HostFlowControl()
    private let linkEnds = Activities<LinkEnd>()
    /// All activities that may be running.
    private var activities: [any ActivityGroup] = []
    private(set) lazy var handles = ConnectionHandles(
        [linkEnds, bredr.linkEnds, bredr.synchronousLinks], first: configuration.choices.firstHandle)
    /// Packets from the host in the controller's buffers.
    var completions = PacketCompletions()
    /// Buffers for packets to the host.
    var buffers = PacketPool(64)
    /// Rules that change sent packets and received commands.
    let rewriter: PacketRewriter
    /// Receives the opcode of each command that the controller does not know.
    var onUnknownCommand: ((UInt16) -> Void)?
    private let pipe: any HCITransport
    private var isOff = false
    private var completionTimer: AirTimer!
    private(set) lazy var le = LEController(self)
    private(set) lazy var bredr = BREDRController(self, clock: clock)
    private let clock: NativeClock

    var loop: RunLoop { radio.air.loop }
    var links: [LinkEnd] { linkEnds.running }
    var table: CommandTable { rows.table }

    /// - Parameter pipe: receives all packets for the host, in order.
    init(
        _ identifier: ControllerID, configuration: ControllerConfiguration, radio: Radio, seed: UInt64,
        pipe: any HCITransport
    ) {
        self.identifier = identifier
        self.configuration = configuration
        self.radio = radio
        self.pipe = pipe
        rows = CommandIndex(CommandTable.of(configuration))
        var clockRandom = RandomSource(seed: seed, label: "native clock \(identifier.rawValue)")
        clock = NativeClock(&clockRandom)
        rewriter = PacketRewriter(configuration.quirks)
        random = RandomSource(seed: seed, label: "controller \(identifier.rawValue)")
        secrets = radio.air.secrets(of: "controller \(identifier.rawValue)")
        commands = CommandInput(on: radio.air.loop) { [unowned self] in
            commandLatency
        } run: { [unowned self] in
            run($0)
        }
        completionTimer = AirTimer(on: radio.air.loop) { [unowned self] in reportCompletedPackets() }
        activities = le.activities + bredr.activities + [linkEnds]
    }

    /// Returns to the state after power-on and ends all activities without events.
    func reset() {
        let kept = configuration.quirks.resetKeeps
        let spared = kept.isEmpty ? [] : le.activities(in: kept) + (kept.contains(.links) ? [linkEnds] : [])
        for group in activities where !spared.contains(where: { $0 === group }) { group.stopAll() }
        loopback = nil
        if !kept.contains(.hostFlowControl) { hostFlow = HostFlowControl() }
        if !kept.contains(.links) { completions.inUse = 0 }
        completionTimer.cancel()
        masks = masks.afterReset(keeping: kept)
        le.reset()
        bredr.reset()
    }

    /// True if no activity is running.
    var isIdle: Bool { activities.allSatisfy(\.isEmpty) }

    /// Shuts the controller down; nothing is sent any more.
    func powerOff() {
        configuration.quirks.resetKeeps = []
        reset()
        commands.clear()
        isOff = true
    }

    /// Sets the address by the vendor command; it persists over a reset.
    func setAddress(_ address: DeviceAddress) { configuration.address = address }

    // MARK: Packets from the host

    func receive(_ packet: HCIPacket) {
        switch packet.kind {
        case .command: receiveCommand(packet)
        case .acl: loopback == nil ? receiveACL(packet) : loopBack(data: packet)
        case .sco: loopback == nil ? bredr.receiveVoice(packet) : loopBack(voice: packet)
        case .iso, .event: break
        }
    }

    @inline(__always) private func receiveCommand(_ packet: HCIPacket) {
        guard configuration.commandLatency.upperBound > 0 else { return run(packet) }
        commands.add(packet)
    }

    private var commandLatency: Microseconds {
        let range = configuration.commandLatency
        guard range.lowerBound < range.upperBound else { return range.lowerBound }
        return Microseconds(Int64.random(in: range.lowerBound.rawValue...range.upperBound.rawValue, using: &random))
    }

    /// Num_HCI_Command_Packets: number of commands that the host may send.
    var commandCredits: UInt8 {
        configuration.commandPackets - UInt8(min(commands.count, Int(configuration.commandPackets)))
    }

    private func run(_ packet: HCIPacket) {
        guard let opcode = packet.commandOpcode else { return }
        guard loopback == nil || LocalLoopback.executed.contains(opcode) else {
            return emit(HCIEvents.LoopbackCommand(hciCommandPacket: Array(packet.bytes.prefix(255))))
        }
        guard let row = rows[opcode] else {
            onUnknownCommand?(opcode)
            return pass(HCIPacket(statusOpcode: opcode, .unknownHCICommand, credits: commandCredits))
        }
        heldEvents.begin()
        let answer = carryOut(packet, row)
        heldEvents.end()
        if let answer { pass(answer) }
        for event in heldEvents.release() { pass(event) }
    }

    /// Executes a command, with the rules for packets applied.
    ///
    /// - Returns: the response; nil if a rule drops it or the command has none.
    private func carryOut(_ packet: HCIPacket, _ row: CommandRow) -> HCIPacket? {
        guard rewriter.isAboutCommands else { return carryOutAsIs(packet, row) }
        switch rewriter.arriving(packet.bytes) {
        case .carryOut(let bytes): return carryOutAsIs(HCIPacket(.command, bytes), row)
        case .pretend: return row.refuse(self, .success, packet)
        case .ignore: return nil
        }
    }

    @inline(__always) private func carryOutAsIs(_ packet: HCIPacket, _ row: CommandRow) -> HCIPacket? {
        packet.isWhole ? row.run(self, packet) : row.refuse(self, .invalidHCICommandParameters, packet)
    }

    // MARK: Packets to the host

    /// True if the controller supports the event and the host has not masked it.
    func sends<Event: HCIEvent>(_ event: Event.Type) -> Bool {
        masks.pass(event) && Event.firstVersion <= configuration.version
            && (configuration.choices.withoutEvents.isEmpty || !configuration.choices.withoutEvents.contains(Event.name))
    }

    /// Sends an event unless the host has masked it.
    func emit<Event: HCIEvent>(_ event: Event) {
        guard sends(Event.self) else { return }
        let packet = HCIPacket(event: event, in: &buffers)
        if !heldEvents.holds(packet) { pass(packet) }
    }

    /// Sends data once the host has a free buffer.
    func emitData(_ packet: HCIPacket) {
        guard hostFlow.isOn else { return sendData(packet) }
        hostFlow.add(packet)
        sendWaitingData()
    }

    func sendData(_ packet: HCIPacket) {
        guard rewriter.isAboutData else { return output(packet) }
        pass(packet, .hciData)
    }

    private func output(_ packet: HCIPacket) {
        if !isOff { pipe.send(packet) }
    }

    private func pass(_ packet: HCIPacket) {
        guard rewriter.isAboutEvents, packet.kind == .event else { return output(packet) }
        pass(packet, .hciEvents)
    }

    private func pass(_ packet: HCIPacket, _ layer: Layer) {
        rewriter.pass(layer, packet.bytes) {
            output(HCIPacket(packet.kind, $0))
        } later: { [loop] bytes, delay in
            loop.schedule(after: delay) { [weak self] in self?.output(HCIPacket(packet.kind, bytes)) }
        }
    }

    // MARK: Links

    func link(_ handle: ConnectionHandle) throws(CommandRefusal) -> LinkEnd {
        for link in links where link.handle == handle { return link }
        throw .unknownConnection
    }

    /// An LE or BR/EDR connection.
    func hostLink(_ handle: ConnectionHandle) -> (any HostLink)? {
        for link in links where link.handle == handle { return link }
        for link in bredr.links where link.handle == handle && link.isKnownToHost { return link }
        return nil
    }

    func anyLink(_ handle: ConnectionHandle) throws(CommandRefusal) -> any HostLink {
        guard let link = hostLink(handle) else { throw .unknownConnection }
        return link
    }

    /// Unknown_Connection_Identifier takes precedence over other errors.
    func checkConnection(_ handle: ConnectionHandle) throws(CommandRefusal) {
        guard handles.isKnown(handle) else { throw .unknownConnection }
    }

    func add(_ link: LinkEnd) { linkEnds.add(link) }

    /// Removes a link that has ended.
    func remove(_ link: LinkEnd) { linkEnds.remove(link) }

    func makeHandle() -> ConnectionHandle { handles.make() }

    /// A separate random number stream for one activity.
    func makeRandomSource() -> RandomSource { RandomSource(seed: random.next()) }

    func scheduleCompletionReport(at deadline: Microseconds) {
        if !completionTimer.isSet { completionTimer.set(at: deadline) }
    }
}

extension Controller: CommandExecutor {
    static func part(of controller: Controller) -> Controller { controller }
}

extension ControllerConfiguration {
    /// Supported PHYs as a bit mask.
    var allPHYs: UInt8 { 1 | (features.contains(.le2MPHY) ? 2 : 0) | (features.contains(.leCodedPHY) ? 4 : 0) }
}
