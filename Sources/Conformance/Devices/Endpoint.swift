import BBCapture
import BBCases
import BBHCI
import BBHost
import BBL2CAP
import BBPackets
import BBTiming
import BBTransport

/// One side of the bench: a controller as seen above its HCI. Steps send commands here, and the bench's host may use the same controller:
/// commands of both share a queue, data of both the same buffers, and the answer to a step's command does not reach the host.
final class Endpoint: HCITransport, HCITransportSink {
    let side: Side
    let log: ObservationLog
    let loop: RunLoop
    private let recorder: Recorder
    private let transport: any HCITransport
    /// The bench's host on this endpoint.
    private var host: (any HCITransportSink)?

    private var commands = CommandQueue()
    private var pending: [Int: Pending] = [:]
    private var lastCommand = 0
    /// The reason why the transport has failed permanently.
    private(set) var failure: TransportError?
    /// True if packets of the controller are received.
    private(set) var isStarted = false
    /// The controller's connections, as reported by events.
    private(set) var tracker = ConnectionTracker()
    private(set) var intervals = LatestIntervals()
    /// The connection-oriented channels of its links.
    private(set) var channels = DynamicChannels()
    /// The Extended Feature Mask with which the endpoint answers L2CAP_INFORMATION_REQ; nil to leave the answer to the case.
    var extendedFeatures: UInt32?
    private let scheduler = ACLScheduler()
    private var outstanding = OutstandingPackets()
    private var conduct: HCIConduct
    /// The controller's first violation of the rules that apply to every case.
    var violation: ConductViolation? { conduct.violation }
    /// The reasons why this side is not reliable enough to judge the other.
    private(set) var reliability = TesterReliability()
    /// The entry of the controller in the table of known dongles; nil if it has none, as for a simulated one.
    let knowledge: ControllerKnowledge?
    /// The address that the device uses; nil while it is unknown.
    var address: DeviceAddress?
    private var classicHandle: ConnectionHandle?
    /// Called at the end of the connection over BR/EDR.
    var onClassicEnd: (() -> Void)?
    private var reassembly = ACLReassembly()
    private var fragments = ReportFragments()
    /// The number of data packets for unknown connections, which a host discards.
    private(set) var strayData = 0
    /// The number of advertising reports from the tester's dongle with reserved bits set.
    private(set) var maskedReports = 0
    /// The number of completed packets that were reported but never sent.
    var strayCredits: Int { scheduler.strayCredits }
    /// The data that cannot be sent, since its controller has not reported completed packets; nil if nothing waits.
    var heldBackData: String? {
        let (waiting, inFlight) = scheduler.totals
        guard waiting > 0, inFlight > 0 else { return nil }
        return "\(waiting) packets wait at the \(side.rawValue), whose controller has not reported \(inFlight) others in "
            + "Number_Of_Completed_Packets"
    }

    /// A command without an answer.
    private struct Pending {
        var opcode: UInt16
        var packet: HCIPacket
        /// Fulfilled by the answer; nil for a command of the host.
        var answer: Promise<Reply>?
        /// Fulfilled when the controller has allowed the command.
        var transmission: Promise<Void>?
        var submitted: Microseconds
        /// The packet number in the capture and the time of sending; nil while the command waits.
        var sent: (number: Int, time: Microseconds)?
    }

    init(
        _ side: Side, on transport: any HCITransport, knowledge: ControllerKnowledge? = nil, log: ObservationLog, recorder: Recorder,
        loop: RunLoop
    ) {
        self.knowledge = knowledge
        self.side = side
        conduct = HCIConduct(of: side)
        self.transport = transport
        self.log = log
        self.recorder = recorder
        self.loop = loop
        scheduler.transmit = { [unowned self] in transmit($0) }
        setBuffers([ACLBuffers(fragmentLength: 27, total: 1)])
    }

    /// The time in which a controller must answer a command. Core Vol 4, Part E, 4.4.
    private static let longTimeout = Microseconds.milliseconds(1_000)
    /// The time after which a controller that has answered all commands must have allowed the next one.
    private static let creditTimeout = Microseconds.seconds(3)

    var name: String { transport.name }
    func takeReordering() -> ReorderingStatistics { transport.takeReordering() }
    var learned: LearnedConductList { transport.learned }

    func start() throws(TransportError) {
        do {
            try transport.open(self)
            isStarted = true
        } catch {
            failure = error
            throw error
        }
    }

    // MARK: Steps

    /// Sends a command when the controller allows it.
    ///
    /// - Returns: the answer, or nil if there was none by `deadline`.
    func command(opcode: UInt16, parameters: [UInt8], until deadline: Microseconds) async throws -> Reply? {
        if let failure { throw failure }
        let answer = Promise<Reply>(on: loop)
        let id = submit(opcode, HCIPacket(opcode: opcode, parameters: parameters), answer)
        do {
            return try await answer.value(until: deadline)
        } catch is TimeOut {
            expire(id)
            return nil
        }
    }

    /// Sends a command whose answer is optional when the controller allows it.
    ///
    /// - Parameter grace: the time to wait for an answer after sending.
    /// - Returns: false if the controller has not allowed the command by `deadline`.
    func post(opcode: UInt16, parameters: [UInt8], until deadline: Microseconds, grace: Microseconds) async throws -> Bool {
        if let failure { throw failure }
        let (answer, transmission) = (Promise<Reply>(on: loop), Promise<Void>(on: loop))
        let id = submit(opcode, HCIPacket(opcode: opcode, parameters: parameters), answer, transmission)
        do {
            try await transmission.value(until: deadline)
        } catch is TimeOut {
            expire(id)
            return false
        }
        do {
            _ = try await answer.value(until: min(deadline, loop.now + grace))
        } catch is TimeOut {
            expire(id)
        }
        return true
    }

    /// Sets the controller's buffers for LE data, and those for BR/EDR data if they are separate.
    func setBuffers(_ pools: [ACLBuffers]) { scheduler.setPools(pools) }

    /// Sends an L2CAP PDU on a connection, fragmented for the controller's buffers; on an unknown handle, unfragmented and immediately.
    func sendFrame(_ payload: [UInt8], channel: UInt16, handle: UInt16) {
        if channel == CID.signaling || channel == CID.leSignaling { channels.note(payload, .forth, on: handle) }
        if let slot = scheduler.slot(of: handle) {
            scheduler.enqueue(slot, cid: channel, body: payload.span.bytes)
        } else {
            var writer = ByteWriter(reserving: L2CAPHeader.octets + payload.count)
            L2CAPHeader(length: UInt16(truncatingIfNeeded: payload.count), channel: channel).encode(into: &writer)
            writer.bytes(payload)
            transmit(HCIPacket(acl: ConnectionHandle(handle), .firstNonFlushable, writer.bytes))
        }
    }

    func isClassic(_ handle: UInt16) -> Bool { tracker[ConnectionHandle(handle)]?.kind == .classic }

    // MARK: The host's end

    func open(_ sink: any HCITransportSink) throws(TransportError) {
        if let failure { throw failure }
        host = sink
    }

    func send(_ packet: HCIPacket) {
        if packet.kind == .command, let opcode = packet.commandOpcode {
            giveUpOldCommands()
            submit(opcode, packet, nil)
        } else if packet.kind == .acl, let handle = packet.dataHandle, let slot = scheduler.slot(of: handle.rawValue) {
            if isClassic(handle.rawValue), let pdu = DynamicChannels.signalling(in: packet) {
                channels.note(pdu, .forth, on: handle.rawValue)
            }
            scheduler.enqueueRaw(slot, packet: packet.bytes)
        } else {
            transmit(packet)
        }
    }

    func close() { host = nil }

    /// Ends the transport to the controller.
    func shutDown() {
        host = nil
        transport.close()
    }

    // MARK: The controller's end

    func received(_ packet: HCIPacket, at time: Microseconds) {
        let number = log.isFull ? recorder.count : recorder.record(packet, .controllerToHost, side, at: time)
        log.trail?.add(packet, .controllerToHost, side, number: number, at: time)
        switch packet.kind {
        case .event: receivedEvent(clean(packet), number, at: time)
        case .acl:
            guard let handle = packet.dataHandle, tracker[handle] != nil else {
                strayData += 1
                break
            }
            if tracker[handle]?.kind == .le { conduct.received(data: packet, number) }
            if let pdu = reassembly.receive(packet) { receivedPDU(pdu.cid, pdu.payload, handle.rawValue, number, at: time) }
            host?.received(packet, at: time)
        case .sco:
            log.add(side, SynchronousPacket.name, .voice(packet.bytes), number: number, at: time)
            host?.received(packet, at: time)
        case .command, .iso: host?.received(packet, at: time)
        }
    }

    /// Removes reserved bits that the tester's dongle sets in reports, because they do not come from the subject.
    private func clean(_ packet: HCIPacket) -> HCIPacket {
        guard side == .tester, let report = packet.reportWithoutReservedBits else { return packet }
        maskedReports += 1
        return report
    }

    private func receivedPDU(_ cid: UInt16, _ payload: [UInt8], _ handle: UInt16, _ number: Int, at time: Microseconds) {
        let isClassic = isClassic(handle)
        for part in channels.received(payload, on: cid, of: handle, isClassic: isClassic) {
            log.add(side, part.name, .upper(part.content, part.octets, handle: handle), number: number, at: time)
        }
        guard isClassic, cid == CID.signaling, let extendedFeatures else { return }
        for command in SignalingCommand.list(payload).commands {
            guard let answer = DynamicChannels.information(extendedFeatures, for: command) else { continue }
            sendFrame(answer, channel: cid, handle: handle)
        }
    }

    func closed(_ reason: TransportError) {
        failure = reason
        host?.closed(reason)
        host = nil
        commands.reset()
        for command in pending.values {
            command.answer?.fail(reason)
            command.transmission?.fail(reason)
        }
        pending.removeAll()
        log.breakOff(reason)
    }

    private func receivedEvent(_ packet: HCIPacket, _ number: Int, at time: Microseconds) {
        if packet.eventCode == HCIEvents.NumberOfCompletedPackets.code {
            receivedCredits(packet, number)
        } else {
            conduct.received(packet, number) { tracker[$0] != nil }
            if let change = try? tracker.received(packet) { connectionChanged(change) }
        }
        let answer = try? CommandAnswer(event: packet)
        let actions = answer.map { commands.answered($0) } ?? []
        if let answer { reliability.answered(answer, number: number, at: side) }
        if packet.eventCode == HCIEvents.HardwareError.code { reliability.crashed(number, at: side) }
        if let answer { conduct.answered(answer, to: commandFinished(by: actions), packet, number) }
        let isForStep = finish(actions, packet, number, at: time)
        log.add(side, PDUCodec.name(of: packet), .event(fragments.joined(packet).bytes), number: number, at: time)
        host?.received(isForStep ? .credits(answer?.credits ?? 1) : packet, at: time)
        perform(actions)
    }

    private func commandFinished(by actions: [CommandQueue.Action]) -> HCIPacket? {
        for case .finish(let id, _) in actions { return pending[id]?.packet }
        return nil
    }

    private func receivedCredits(_ packet: HCIPacket, _ number: Int) {
        _ = HCIEvents.NumberOfCompletedPackets.forEach(in: packet) { handle, count in
            scheduler.completed(handle: handle.rawValue, count: count)
            if let excess = outstanding.completed(handle, count) { conduct.completed(excess, packet, number) }
        }
    }

    private func connectionChanged(_ change: ConnectionChange) {
        intervals.changed(change)
        switch change {
        case .opened(let connection):
            outstanding.opened(connection.handle)
            if connection.kind == .classic { classicHandle = connection.handle }
            if connection.kind == .le || connection.kind == .classic { open(connection.handle, pool: connection.kind == .classic ? 1 : 0) }
        case .closed(let handle, _):
            if handle == classicHandle { endClassic() }
            scheduler.close(handle: handle.rawValue)
            reassembly.forget(handle)
            channels.forget(handle.rawValue)
        case .failed(let kind, _):
            if kind == .classic, classicHandle == nil { onClassicEnd?() }
        case .reset:
            endClassic()
            scheduler.closeAll()
            outstanding.reset()
            conduct.reset()
            reassembly.forgetAll()
            channels.forgetAll()
        case .parametersChanged, .physChanged, .dataLengthChanged, .encryptionRequested, .encryptionChanged, .keyRefreshed: break
        }
    }

    private func endClassic() {
        classicHandle = nil
        onClassicEnd?()
    }

    private func open(_ handle: ConnectionHandle, pool: Int) {
        _ = scheduler.open(handle: handle.rawValue, pool: pool)
        reassembly.forget(handle)
    }

    // MARK: Commands

    @discardableResult
    private func submit(_ opcode: UInt16, _ packet: HCIPacket, _ answer: Promise<Reply>?, _ transmission: Promise<Void>? = nil) -> Int {
        lastCommand += 1
        pending[lastCommand] = Pending(
            opcode: opcode, packet: packet, answer: answer, transmission: transmission, submitted: loop.now)
        perform(commands.submit(id: lastCommand, opcode: opcode, packet))
        return lastCommand
    }

    private func perform(_ actions: [CommandQueue.Action]) {
        for case .transmit(let id, let packet) in actions {
            _ = tracker.sent(packet)
            intervals.sent(packet)
            conduct.sent(packet)
            pending[id]?.sent = (transmit(packet), loop.now)
            pending[id]?.transmission?.fulfil(())
        }
    }

    /// Passes an answer to the waiting step; returns false if there was none.
    private func finish(_ actions: [CommandQueue.Action], _ event: HCIPacket, _ number: Int, at time: Microseconds) -> Bool {
        for case .finish(let id, let answer) in actions {
            guard let command = pending.removeValue(forKey: id), let promise = command.answer, let sent = command.sent else { continue }
            promise.fulfil(
                Reply(
                    event: event, isStatus: answer.kind == .status,
                    parameters: answer.kind == .status ? [answer.status.rawValue] : answer.returns, commandNumber: sent.number,
                    number: number, sentAt: sent.time, answeredAt: time, index: log.end + 1))
            return true
        }
        return false
    }

    private func expire(_ id: Int) {
        if let command = pending[id], let sent = command.sent {
            let isOverdue = loop.now - sent.time >= Self.longTimeout
            if isOverdue { reliability.leftUnanswered(command.opcode, number: sent.number, at: side) }
            conduct.abandoned(command.packet, sent.number, isOverdue: isOverdue)
        } else if let command = pending[id], loop.now - command.submitted >= Self.creditTimeout,
            !pending.values.contains(where: { $0.sent != nil })
        {
            conduct.withheld(command.packet)
        }
        pending[id] = nil
        perform(commands.expire(id: id))
    }

    /// Judges the commands of the host that the controller has not answered in time.
    func judgeUnanswered() {
        let overdue = pending.values.compactMap { command in
            command.sent.flatMap { command.answer == nil && loop.now - $0.time >= Self.longTimeout ? (command.packet, $0.number) : nil }
        }
        if let first = overdue.min(by: { $0.1 < $1.1 }) { conduct.abandoned(first.0, first.1, isOverdue: true) }
    }

    /// Abandons unanswered commands of the host whose time-out has expired.
    private func giveUpOldCommands() {
        for (id, command) in pending.sorted(by: { $0.key < $1.key }) where command.answer == nil {
            if let sent = command.sent, loop.now - sent.time >= Host.commandTimeOut { expire(id) }
        }
    }

    @discardableResult
    private func transmit(_ packet: HCIPacket) -> Int {
        let number = recorder.record(packet, .hostToController, side, at: loop.now)
        log.trail?.add(packet, .hostToController, side, number: number, at: loop.now)
        if packet.kind != .command { outstanding.sent(packet) }
        transport.send(packet)
        return number
    }
}

extension HCIPacket {
    /// A Command Complete without a command, which only reports the number of allowed commands. Core Vol 4, Part E, 7.7.14.
    fileprivate static func credits(_ count: Int) -> HCIPacket {
        HCIPacket(completeOpcode: CommandQueue.noCommand, returns: [], credits: UInt8(clamping: count))
    }
}
