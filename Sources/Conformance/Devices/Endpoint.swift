import BBCapture
import BBCases
import BBHCI
import BBHost
import BBL2CAP
import BBPackets
import BBTiming
import BBTraffic
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

    private var commands = EndpointCommands()
    /// The conclusions from the packets.
    private var book: EndpointBook
    /// The reason why the transport has failed permanently.
    private(set) var failure: TransportError?
    /// True if packets of the controller are received.
    private(set) var isStarted = false
    /// The connection-oriented channels of its links.
    private(set) var channels = DynamicChannels()
    /// The Extended Feature Mask with which the endpoint answers L2CAP_INFORMATION_REQ; nil to leave the answer to the case.
    var extendedFeatures: UInt32?
    private let scheduler = ACLScheduler()
    /// The entry of the controller in the table of known dongles; nil if it has none, as for a simulated one.
    let knowledge: ControllerKnowledge?
    /// The address that the device uses; nil while it is unknown.
    var address: DeviceAddress?
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
    /// The number of data packets that the controller has not yet reported as completed.
    var uncompletedPackets: Int { scheduler.totals.inFlight }
    /// The data that cannot be sent, since its controller has not reported completed packets; nil if nothing waits.
    var heldBackData: String? {
        let (waiting, inFlight) = scheduler.totals
        guard waiting > 0, inFlight > 0 else { return nil }
        return "\(waiting) packets wait at the \(side.rawValue), whose controller has not reported \(inFlight) others in "
            + HCIEvents.NumberOfCompletedPackets.name
    }

    init(
        _ side: Side, on transport: any HCITransport, knowledge: ControllerKnowledge? = nil, log: ObservationLog, recorder: Recorder,
        loop: RunLoop
    ) {
        self.side = side
        book = EndpointBook(of: side)
        self.transport = transport
        self.knowledge = knowledge
        self.log = log
        self.recorder = recorder
        self.loop = loop
        scheduler.transmit = { [unowned self] in transmit($0) }
        setBuffers([ACLBuffers(fragmentLength: 27, total: 1)])
    }

    /// The controller's connections, as reported by events.
    var tracker: ConnectionTracker { book.tracker }
    var intervals: LatestIntervals { book.intervals }
    /// The controller's first violation of the rules that apply to every case.
    var violation: ConductViolation? { book.violation }
    /// The controller's first violation by which data is lost.
    var lossOfData: ConductViolation? { book.lossOfData }
    /// The reasons why this side is not reliable enough to judge the other.
    var reliability: TesterReliability { book.reliability }
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
        let id = submit(HCIPacket(opcode: opcode, parameters: parameters), answer)
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
        let id = submit(HCIPacket(opcode: opcode, parameters: parameters), answer, transmission)
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
        if packet.kind == .command, packet.commandOpcode != nil {
            giveUpOldCommands()
            submit(packet)
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
        let name = packet.kind == .event ? PDUCodec.name(of: packet) : nil
        log.trail?.add(packet, .controllerToHost, side, event: name, number: number, at: time)
        switch packet.kind {
        case .event: receivedEvent(ReceivedEvent(clean(packet), name: name ?? "", number: number), at: time)
        case .acl:
            guard let connection = book.received(data: packet, number) else {
                strayData += 1
                break
            }
            if let pdu = reassembly.receive(packet) { receivedPDU(pdu.cid, pdu.payload, on: connection, number, at: time) }
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

    private func receivedPDU(_ cid: UInt16, _ payload: [UInt8], on connection: ConnectionState, _ number: Int, at time: Microseconds) {
        let (handle, isClassic) = (connection.handle.rawValue, connection.kind == .classic)
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
        commands.fail(reason)
        log.breakOff(reason)
    }

    private func receivedEvent(_ event: ReceivedEvent, at time: Microseconds) {
        let actions = event.answer.map { commands.answered($0) } ?? []
        if let change = book.received(event, answering: commands.command(finishedBy: actions)) { connectionChanged(change) }
        if event.isCredits { returnBuffers(event.packet) }
        let isForStep = commands.finish(actions, with: event, at: time, index: log.end + 1)
        log.add(side, event.name, .event(fragments.joined(event.packet).bytes), number: event.number, at: time)
        host?.received(isForStep ? .credits(event.answer?.credits ?? 1) : event.packet, at: time)
        perform(actions)
    }

    private func returnBuffers(_ packet: HCIPacket) {
        _ = HCIEvents.NumberOfCompletedPackets.forEach(in: packet) { handle, count in
            scheduler.completed(handle: handle.rawValue, count: count)
        }
    }

    private func connectionChanged(_ change: EndpointBook.Change) {
        if change.endsClassic { onClassicEnd?() }
        switch change.connection {
        case .opened(let connection):
            if connection.kind == .le || connection.kind == .classic { open(connection.handle, pool: connection.kind == .classic ? 1 : 0) }
        case .closed(let handle, _):
            scheduler.close(handle: handle.rawValue)
            reassembly.forget(handle)
            channels.forget(handle.rawValue)
        case .reset:
            scheduler.closeAll()
            reassembly.forgetAll()
            channels.forgetAll()
        case .failed, .parametersChanged, .physChanged, .dataLengthChanged, .encryptionRequested, .encryptionChanged, .keyRefreshed: break
        }
    }

    private func open(_ handle: ConnectionHandle, pool: Int) {
        _ = scheduler.open(handle: handle.rawValue, pool: pool)
        reassembly.forget(handle)
    }

    // MARK: Commands

    @discardableResult
    private func submit(_ packet: HCIPacket, _ answer: Promise<Reply>? = nil, _ transmission: Promise<Void>? = nil) -> Int {
        let (id, actions) = commands.submit(packet, answer: answer, transmission: transmission, at: loop.now)
        perform(actions)
        return id
    }

    private func perform(_ actions: [CommandQueue.Action]) {
        for case .transmit(let id, let packet) in actions {
            book.sent(command: packet)
            let number = transmit(packet)
            commands.sent(id, number: number, at: loop.now)
        }
    }

    private func expire(_ id: Int) {
        let (lapse, actions) = commands.expire(id, at: loop.now)
        if let lapse { book.gaveUp(lapse) }
        perform(actions)
    }

    /// Judges the commands of the host that the controller has not answered in time.
    func judgeUnanswered() {
        if let lapse = commands.overdue(at: loop.now) { book.lapsed(lapse) }
    }

    /// Abandons unanswered commands of the host whose time-out has expired.
    private func giveUpOldCommands() {
        for id in commands.givenUp(at: loop.now) { expire(id) }
    }

    @discardableResult
    private func transmit(_ packet: HCIPacket) -> Int {
        let number = recorder.record(packet, .hostToController, side, at: loop.now)
        log.trail?.add(packet, .hostToController, side, event: nil, number: number, at: loop.now)
        if packet.kind != .command { book.sent(data: packet) }
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
