import BBHCI
import BBPackets

/// A loopback test from HCI_Reset to its result, without I/O: input is packets and time, output is packets. Core Vol 4, Part E, 7.6.2.
struct LoopbackRun {
    enum Outcome: Equatable {
        case result(LoopbackResult)
        case failure(LoopbackError)
    }

    private enum State: Equatable {
        case awaitingReset
        case awaitingBuffers
        /// Loopback mode was requested; waiting for the controller's handles.
        case awaitingHandles
        case running
        case awaitingEnd
        case ended
    }

    /// The time to wait for further handles after the command was answered.
    private static let settling = Microseconds.milliseconds(100)

    /// Timeout for leaving loopback mode when the test is stopped.
    private static let lastTimeout = Microseconds.milliseconds(500)

    private static let mostVoiceOnTheWay = 32

    private let plan: LoopbackPlan
    private let voicePace: (_ handles: Int, _ longest: Int) throws(LoopbackError) -> VoicePace
    private var state = State.awaitingReset
    private var flows: [LoopbackFlow] = []
    private var turn = 0
    private var result = LoopbackResult()
    private var pace: VoicePace?
    private var commands = CommandQueue()
    private var buffers = ACLBuffers(fragmentLength: 0, total: 0)
    private var began = Microseconds.zero
    private var last = Microseconds.zero
    private var starvedSince: Microseconds?
    private(set) var outcome: Outcome?
    /// Time at which to call `timeOut(at:)`.
    private(set) var deadline = Microseconds.zero

    /// - Parameter voicePace: the voice pace for a number of handles and a maximum packet length; called once the mode is on.
    init(
        _ plan: LoopbackPlan,
        voicePace: @escaping (_ handles: Int, _ longest: Int) throws(LoopbackError) -> VoicePace = { _, longest in
            VoicePace(octets: longest, interval: .milliseconds(3))
        }
    ) {
        self.plan = plan
        self.voicePace = voicePace
        result.channel = plan.channel
        result.pipe = plan.pipe
        result.planned = plan.packets
    }

    mutating func start(at now: Microseconds, _ send: (HCIPacket) -> Void) {
        proceed(.awaitingReset, HCICommands.Reset(), now, send)
    }

    /// Processes a packet of the controller.
    ///
    /// - Parameters:
    ///   - time: arrival time of the packet.
    ///   - now: time at which it is handled and answered.
    mutating func received(_ packet: HCIPacket, at time: Microseconds, now: Microseconds, _ send: (HCIPacket) -> Void) {
        switch packet.kind {
        case .event: event(packet, now: now, send)
        case .acl, .sco: data(packet, at: time, now: now, send)
        case .command, .iso: break
        }
    }

    /// Ends the test early; packets that have not returned count as lost.
    mutating func stop(at now: Microseconds, _ send: (HCIPacket) -> Void) {
        guard state == .running else { return fail(.stopped) }
        result.planned = result.sent
        leave(at: now, send)
        deadline = min(deadline, now + Self.lastTimeout)
    }

    mutating func timeOut(at now: Microseconds, _ send: (HCIPacket) -> Void) {
        switch state {
        case .awaitingReset: fail(.unanswered(HCICommands.Reset.name))
        case .awaitingBuffers: fail(.unanswered(HCICommands.ReadBufferSize.name))
        case .awaitingHandles: isEntered ? begin(at: now, send) : fail(.unanswered(HCICommands.WriteLoopbackMode.name))
        case .running where isVoiceDue(now): sendVoice(at: now, send)
        case .running: leave(at: now, send)
        case .awaitingEnd: finish()
        case .ended: break
        }
    }

    // MARK: Entering and leaving loopback mode

    private var isEntered = false

    private mutating func event(_ packet: HCIPacket, now: Microseconds, _ send: (HCIPacket) -> Void) {
        switch packet.eventCode {
        case HCIEvents.NumberOfCompletedPackets.code: completed(packet, now: now, send)
        case HCIEvents.CommandComplete.code, HCIEvents.CommandStatus.code:
            // Command Status with Success is not the final answer.
            guard let answer = try? CommandAnswer(event: packet), answer.kind == .complete || answer.status != .success else { return }
            perform(commands.answered(answer), now: now, send)
        case HCIEvents.ConnectionComplete.code:
            guard state == .awaitingHandles, let event = try? packet.event(as: HCIEvents.ConnectionComplete.self) else { return }
            if event.status == .success { connected(event.connectionHandle, isVoice: event.linkType == .sco) }
            beginIfComplete(at: now, send)
        case HCIEvents.DataBufferOverflow.code: result.overflows += 1
        default: break
        }
    }

    private mutating func perform(_ actions: [CommandQueue.Action], now: Microseconds, _ send: (HCIPacket) -> Void) {
        for action in actions {
            switch action {
            case .transmit(_, let packet): send(packet)
            case .finish(_, let answer): answered(answer, now: now, send)
            }
        }
    }

    private mutating func answered(_ answer: CommandAnswer, now: Microseconds, _ send: (HCIPacket) -> Void) {
        let status = answer.status
        switch (state, answer.opcode) {
        case (.awaitingReset, HCICommands.Reset.opcode):
            guard status == .success else { return fail(.refused(command: HCICommands.Reset.name, status)) }
            proceed(.awaitingBuffers, HCICommands.ReadBufferSize(), now, send)
        case (.awaitingBuffers, HCICommands.ReadBufferSize.opcode):
            guard status == .success, let sizes = try? HCICommands.ReadBufferSize.Return(prefixOf: answer.returns) else {
                return fail(.refused(command: HCICommands.ReadBufferSize.name, status))
            }
            note(sizes, now, send)
        case (.awaitingHandles, HCICommands.WriteLoopbackMode.opcode):
            guard status == .success else { return fail(.refused(command: HCICommands.WriteLoopbackMode.name, status)) }
            isEntered = true
            deadline = now + Self.settling
            beginIfComplete(at: now, send)
        case (.awaitingEnd, HCICommands.WriteLoopbackMode.opcode): finish()
        default: break
        }
    }

    private mutating func proceed<Command: HCICommand>(
        _ next: State, _ command: Command, _ now: Microseconds, _ send: (HCIPacket) -> Void
    ) {
        state = next
        deadline = now + plan.timeout
        perform(commands.submit(id: 0, opcode: Command.opcode, HCIPacket(command: command)), now: now, send)
    }

    private mutating func note(_ sizes: HCICommands.ReadBufferSize.Return, _ now: Microseconds, _ send: (HCIPacket) -> Void) {
        let isVoice = plan.channel == .voice
        result.bufferOctets = isVoice ? Int(sizes.synchronousDataPacketLength) : Int(sizes.aclDataPacketLength)
        result.buffers = Int(isVoice ? sizes.totalNumSynchronousDataPackets : sizes.totalNumACLDataPackets)
        guard result.bufferOctets >= FlowPacket.shortest, result.buffers > 0 else { return fail(.noBuffers(plan.channel)) }
        let range = FlowPacket.shortest...result.bufferOctets
        if let octets = plan.octets, !range.contains(octets) { return fail(.wrongLength(octets, range)) }
        proceed(.awaitingHandles, HCICommands.WriteLoopbackMode(loopbackMode: 1), now, send)
    }

    private mutating func connected(_ handle: ConnectionHandle, isVoice: Bool) {
        guard isVoice == (plan.channel == .voice), flows.count < 3, isVoice || flows.isEmpty else { return }
        flows.append(LoopbackFlow(handle, isVoice ? .sco : .acl))
    }

    /// Starts as soon as there is a data handle; voice waits for all handles.
    private mutating func beginIfComplete(at now: Microseconds, _ send: (HCIPacket) -> Void) {
        if isEntered, plan.channel == .data, !flows.isEmpty { begin(at: now, send) }
    }

    private mutating func begin(at now: Microseconds, _ send: (HCIPacket) -> Void) {
        guard !flows.isEmpty else { return fail(.noHandle(plan.channel)) }
        result.handles = flows.count
        result.octets = plan.octets ?? result.bufferOctets
        if plan.channel == .voice {
            do throws(LoopbackError) {
                let pace = try voicePace(flows.count, result.octets)
                self.pace = pace
                result.octets = max(FlowPacket.shortest, min(pace.octets, result.octets))
            } catch {
                return fail(error)
            }
        }
        state = .running
        buffers = ACLBuffers(fragmentLength: result.bufferOctets, total: result.buffers)
        (began, last) = (now, now)
        deadline = now + (pace == nil ? plan.timeout : .zero)
        sendData(at: now, send)
    }

    /// Leaves loopback mode; late packets are accepted until then.
    private mutating func leave(at now: Microseconds, _ send: (HCIPacket) -> Void) {
        if let starvedSince { result.waitForBuffers = result.waitForBuffers + (now - starvedSince) }
        starvedSince = nil
        proceed(.awaitingEnd, HCICommands.WriteLoopbackMode(loopbackMode: 0), now, send)
    }

    // MARK: Packets

    private mutating func sendData(at now: Microseconds, _ send: (HCIPacket) -> Void) {
        guard state == .running, pace == nil else { return }
        while buffers.free > 0, result.sent < plan.packets {
            buffers.take()
            result.sent += 1
            send(flows[0].next(octets: result.octets, at: now))
        }
        if buffers.free == 0, result.sent < plan.packets { starvedSince = now }
    }

    /// Num_Completed_Packets of the data handle frees buffers. Core Vol 4, Part E, 7.7.19.
    private mutating func completed(_ packet: HCIPacket, now: Microseconds, _ send: (HCIPacket) -> Void) {
        guard state == .running, pace == nil else { return }
        let data = flows[0].handle
        _ = HCIEvents.NumberOfCompletedPackets.forEach(in: packet) { handle, count in
            if handle == data { buffers.giveBack(count) }
        }
        guard buffers.free > 0 else { return }
        if let starvedSince { result.waitForBuffers = result.waitForBuffers + (now - starvedSince) }
        starvedSince = nil
        sendData(at: now, send)
    }

    private func isVoiceDue(_ now: Microseconds) -> Bool { pace != nil && result.sent < plan.packets }

    /// Sends voice on the handles in turn. Missed packets are sent immediately to keep the average rate, unless too many are outstanding because
    /// one end is late, as on a busy machine.
    private mutating func sendVoice(at now: Microseconds, _ send: (HCIPacket) -> Void) {
        guard let pace else { return }
        while result.sent < plan.packets, deadline <= now, result.sent - result.returned < Self.mostVoiceOnTheWay {
            result.sent += 1
            send(flows[turn].next(octets: result.octets, at: now))
            turn = (turn + 1) % flows.count
            deadline = deadline + pace.interval
        }
        if result.sent == plan.packets {
            deadline = now + plan.timeout
        } else if deadline <= now {
            guard now - last < plan.timeout else { return leave(at: now, send) }
            deadline = now + pace.interval
        }
    }

    private mutating func data(_ packet: HCIPacket, at time: Microseconds, now: Microseconds, _ send: (HCIPacket) -> Void) {
        guard state == .running || state == .awaitingEnd, packet.bytes.count >= packet.kind.headerLength, let handle = packet.dataHandle,
            let index = flows.firstIndex(where: { $0.handle == handle })
        else { return }
        flows[index].take(packet.bytes.span.bytes.extracting(packet.kind.headerLength...), at: time)
        last = time
        result.returned += 1
        guard state == .running else { return }
        if result.returned >= plan.packets { return leave(at: now, send) }
        if pace == nil || result.sent == plan.packets { deadline = now + plan.timeout }
    }

    // MARK: End

    private mutating func finish() {
        for index in flows.indices { flows[index].close() }
        let tallies = flows.map(\.tally)
        result.lost = tallies.reduce(0) { $0 + $1.lost }
        result.duplicated = tallies.reduce(0) { $0 + $1.duplicated }
        result.reordered = tallies.reduce(0) { $0 + $1.reordered }
        result.corrupted = tallies.reduce(0) { $0 + $1.corrupted }
        result.worstRoundTrip = flows.map(\.worstRoundTrip).max() ?? .zero
        result.meanRoundTrip = Microseconds(flows.reduce(0) { $0 + $1.meanRoundTrip.rawValue } / Int64(max(1, flows.count)))
        result.time = last - began
        end(.result(result))
    }

    private mutating func fail(_ error: LoopbackError) { end(.failure(error)) }

    private mutating func end(_ outcome: Outcome) {
        guard self.outcome == nil else { return }
        state = .ended
        deadline = .never
        self.outcome = outcome
    }
}
