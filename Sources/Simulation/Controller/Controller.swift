import BluetoothCrypto
import Packets
import Timing

/// What stands behind one end of an HCI pipe: commands in, events out, data both ways, and the link layer below.
final class Controller {
    let identifier: ControllerID
    private(set) var configuration: ControllerConfiguration
    let radio: Radio
    let table: CommandTable
    let clock: NativeClock
    var random: RandomSource
    var settings: HostSettings
    /// Running advertising sets; the one of the legacy commands has the handle 0xFF.
    var advertisers: [Advertiser] = []
    var scanner: Scanner?
    var initiator: Initiator?
    var test: DirectTest?
    /// In local loopback mode, what the host's packets come back on.
    var loopback: LocalLoopback?
    var inquiry: InquiryState?
    var inquiryScanner: InquiryScanner?
    var links: [LinkEnd] = []
    /// ACL packets of the host that have not been acknowledged.
    var aclInUse = 0
    /// Of the last report about them, kept for its memory.
    var completedRows: [HCIEvents.NumberOfCompletedPackets.Handle] = []
    /// Memory of what goes to the host.
    var buffers = PacketPool(64)
    var keyPair: P256KeyPair?
    private var lastHandle: UInt16 = 0
    /// Rules for what it sends.
    let rewriter: PacketRewriter
    private var output: (HCIPacket) -> Void
    private var completionTimer: AirTimer!

    var loop: RunLoop { radio.air.loop }

    /// - Parameter output: takes every packet for the host, in order.
    init(
        _ identifier: ControllerID, configuration: ControllerConfiguration, radio: Radio, seed: UInt64,
        output: @escaping (HCIPacket) -> Void
    ) {
        self.identifier = identifier
        self.configuration = configuration
        self.radio = radio
        self.output = output
        table = CommandTable.of(configuration.profile)
        var clockRandom = RandomSource(seed: seed, label: "native clock \(identifier.rawValue)")
        clock = NativeClock(&clockRandom)
        rewriter = PacketRewriter(configuration.quirks.rewrites)
        random = RandomSource(seed: seed, label: "controller \(identifier.rawValue)")
        settings = HostSettings(configuration)
        commandTimer = AirTimer(on: radio.air.loop) { [unowned self] in runNextCommand() }
        completionTimer = AirTimer(on: radio.air.loop) { [unowned self] in reportCompletedPackets() }
    }

    /// Back to the state after power-on; nothing that was under way is heard of again.
    func reset() {
        for advertiser in advertisers { advertiser.stop() }
        advertisers.removeAll()
        scanner?.stop()
        scanner = nil
        initiator?.stop()
        initiator = nil
        test?.stop()
        test = nil
        loopback = nil
        inquiry?.inquirer.stop()
        inquiry = nil
        inquiryScanner?.stop()
        inquiryScanner = nil
        for link in links { link.connection.abandon() }
        links.removeAll()
        aclInUse = 0
        completionTimer.cancel()
        keyPair = nil
        settings = HostSettings(configuration)
    }

    /// The end: nothing more comes from it.
    func powerOff() {
        reset()
        waitingCommands.removeAll()
        commandTimer.cancel()
        output = { _ in }
    }

    /// The vendor's command: the address stays over a reset.
    func setAddress(_ address: DeviceAddress) { configuration.address = address }

    // MARK: From the host

    private var waitingCommands: [[UInt8]] = []
    private var commandTimer: AirTimer!

    func receive(_ packet: HCIPacket) {
        switch packet.kind {
        case .command: receiveCommand(packet.bytes)
        case .acl: loopback == nil ? receiveACL(packet.bytes) : loopBack(data: packet)
        case .sco: loopBack(voice: packet)
        case .iso, .event: break
        }
    }

    private func receiveCommand(_ bytes: [UInt8]) {
        guard configuration.commandLatency > 0 else { return run(bytes) }
        guard waitingCommands.count < 255 else { return }
        waitingCommands.append(bytes)
        if !commandTimer.isSet { commandTimer.set(at: loop.now + configuration.commandLatency) }
    }

    private func runNextCommand() {
        guard !waitingCommands.isEmpty else { return }
        let bytes = waitingCommands.removeFirst()
        if !waitingCommands.isEmpty { commandTimer.set(at: loop.now + configuration.commandLatency) }
        run(bytes)
    }

    /// How many more commands the host may send.
    private var commandCredits: UInt8 {
        configuration.commandPackets - UInt8(min(waitingCommands.count, Int(configuration.commandPackets)))
    }

    private func run(_ bytes: [UInt8]) {
        guard bytes.count >= 3 else { return }
        let opcode = UInt16(bytes[0]) | UInt16(bytes[1]) << 8
        guard loopback == nil || LocalLoopback.executed.contains(opcode) else {
            return emit(HCIEvents.LoopbackCommand(hciCommandPacket: Array(bytes.prefix(255))))
        }
        guard let row = table.rows[opcode] else {
            return pass(HCIPacket(statusOpcode: opcode, .unknownHCICommand, credits: commandCredits))
        }
        let parameters = [UInt8](bytes[3...])
        isAnswering = true
        let answer =
            parameters.count == Int(bytes[2]) ? row.run(self, parameters) : row.refuse(.invalidHCICommandParameters, parameters)
        isAnswering = false
        switch answer {
        case .status(let status): pass(HCIPacket(statusOpcode: opcode, status, credits: commandCredits))
        case .complete(let returns): pass(HCIPacket(completeOpcode: opcode, returns: returns, credits: commandCredits))
        case .silence: break
        }
        let events = held
        held.removeAll(keepingCapacity: true)
        for event in events { pass(event) }
    }

    // MARK: To the host

    /// While a command is carried out, its events wait until it has been answered.
    private var isAnswering = false
    private var held: [HCIPacket] = []

    /// Sends an event, unless the host has masked it.
    func emit<Event: HCIEvent>(_ event: Event) {
        guard settings.masks.pass(code: Event.code, subevent: Event.subevent) else { return }
        let packet = HCIPacket(event: event, in: &buffers)
        if isAnswering { held.append(packet) } else { pass(packet) }
    }

    /// Sends data.
    func emitData(_ packet: HCIPacket) { output(packet) }

    private func pass(_ packet: HCIPacket) {
        guard packet.kind == .event else { return output(packet) }
        rewriter.pass(.events, packet.bytes) {
            output(HCIPacket(.event, $0))
        } later: { [loop] bytes, delay in
            loop.schedule(after: delay) { [weak self] in self?.output(HCIPacket(.event, bytes)) }
        }
    }

    // MARK: Links

    func link(_ handle: ConnectionHandle) throws(CommandFailure) -> LinkEnd {
        for link in links where link.handle == handle { return link }
        throw .unknownConnection
    }

    func makeHandle() -> ConnectionHandle {
        repeat { lastHandle = lastHandle % 0x0EFF + 1 } while links.contains { $0.handle.rawValue == lastHandle }
        return ConnectionHandle(lastHandle)
    }

    /// A stream of its own for one activity.
    func makeRandomSource() -> RandomSource { RandomSource(seed: random.next()) }

    func scheduleCompletionReport(at deadline: Microseconds) {
        if !completionTimer.isSet { completionTimer.set(at: deadline) }
    }

    // MARK: Addresses

    /// The address that an activity would use. Core Vol 4, Part E, 7.8.5 and others: Own_Address_Type.
    func ownAddress(_ kind: DeviceAddress.Kind) throws(CommandFailure) -> DeviceAddress {
        switch kind {
        case .public: return configuration.address
        case .random:
            guard let random = settings.randomAddress else { throw .invalidParameters }
            return random
        }
    }
}

extension ControllerConfiguration {
    /// The PHYs it can use, as bits.
    var allPHYs: UInt8 { 1 | (features.contains(.le2MPHY) ? 2 : 0) | (features.contains(.leCodedPHY) ? 4 : 0) }
}
