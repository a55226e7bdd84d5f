import Capture
import Packets
import Timing
import Transport

/// One end of the bench: a controller, seen from above its HCI. Case steps send commands here, and a host of ours may use the same controller:
/// commands of both go one at a time, and what answers a step's command does not reach the host.
final class Endpoint: HCITransport, HCITransportSink {
    let side: Side
    let log: ObservationLog
    let loop: RunLoop
    private let recorder: Recorder
    private let transport: any HCITransport
    /// A host of ours above this end.
    private var host: (any HCITransportSink)?

    private var credits = 1
    private var outstanding: Pending?
    private var queue: [Pending] = []
    /// The connection is gone for good.
    private(set) var failure: TransportError?
    /// What the controller says arrives here.
    private(set) var isStarted = false
    let data: DataChannel
    private(set) var links = LinkTable()
    /// Data packets of connections that no event had told of: a host throws them away.
    private(set) var strayData = 0

    private struct Pending {
        var packet: HCIPacket
        var opcode: UInt16
        /// Nil for a command of the host.
        var answer: Promise<Reply>?
    }

    /// What a controller says to a command.
    struct Reply: Sendable {
        /// Command Status rather than Command Complete.
        var isStatus: Bool
        /// The return parameters, or the one octet of status.
        var parameters: [UInt8]
        /// Numbers of command and answer in the capture.
        var commandNumber: Int
        var number: Int
        var sentAt: Microseconds
        var answeredAt: Microseconds
        /// The place in the log after the answer.
        var index: Int
    }

    init(_ side: Side, on transport: any HCITransport, log: ObservationLog, recorder: Recorder, loop: RunLoop) {
        self.side = side
        self.transport = transport
        self.log = log
        self.recorder = recorder
        self.loop = loop
        data = DataChannel()
    }

    var name: String { transport.name }
    func takeDisorder() -> PipeDisorder { transport.takeDisorder() }
    private var lastCommand: (number: Int, time: Microseconds) = (0, .zero)

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

    /// Sends a command when the controller takes one.
    ///
    /// - Returns: the answer, or nil when none came by `deadline`.
    func command(opcode: UInt16, parameters: [UInt8], until deadline: Microseconds) async throws -> Reply? {
        if let failure { throw failure }
        let answer = Promise<Reply>(on: loop)
        queue.append(Pending(packet: HCIPacket(.command, opcode: opcode, parameters: parameters), opcode: opcode, answer: answer))
        pump()
        do {
            return try await answer.value(until: deadline)
        } catch is TimeOut {
            queue.removeAll { $0.answer === answer }
            if outstanding?.answer === answer {
                outstanding = nil
                credits = max(credits, 1)
                pump()
            }
            return nil
        }
    }

    /// Sends an L2CAP frame on a connection, cut to the controller's buffers.
    func sendFrame(_ payload: [UInt8], channel: UInt16, handle: UInt16) {
        for packet in data.packets(of: payload, channel: channel, handle: handle) { transmit(packet) }
    }

    // MARK: The host's end

    func open(_ sink: any HCITransportSink) throws(TransportError) {
        if let failure { throw failure }
        host = sink
    }

    func send(_ packet: HCIPacket) {
        guard packet.kind == .command, let opcode = packet.commandOpcode else {
            transmit(packet)
            return
        }
        queue.append(Pending(packet: packet, opcode: opcode, answer: nil))
        pump()
    }

    func close() { host = nil }

    /// Ends the pipe to the controller.
    func shutDown() {
        host = nil
        transport.close()
    }

    // MARK: The controller's end

    func received(_ packet: HCIPacket, at time: Microseconds) {
        let number = recorder.record(packet, .controllerToHost, side, at: time)
        switch packet.kind {
        case .event: receivedEvent(packet, number, at: time)
        case .acl:
            guard links.handles.contains(DataChannel.handle(of: packet)) else {
                strayData += 1
                break
            }
            if let frame = data.received(packet), let layer = PDULayer(channel: frame.channel) {
                log.add(
                    side, PDUBook.name(of: frame.payload, in: layer), .upper(layer, frame.payload, handle: frame.handle), number: number,
                    at: time)
            }
            host?.received(packet, at: time)
        case .command, .sco, .iso: host?.received(packet, at: time)
        }
    }

    func closed(_ reason: TransportError) {
        failure = reason
        host?.closed(reason)
        host = nil
        for pending in queue { pending.answer?.fail(reason) }
        queue.removeAll()
        outstanding?.answer?.fail(reason)
        outstanding = nil
        log.breakOff(reason)
    }

    private func receivedEvent(_ packet: HCIPacket, _ number: Int, at time: Microseconds) {
        links.note(packet)
        if packet.eventCode == 0x13 { for packet in data.completed(packet) { transmit(packet) } }
        if packet.eventCode == 0x05 { data.forget(packet) }
        if let (opcode, newCredits, reply) = reply(in: packet, number, at: time) {
            credits = newCredits
            if let pending = outstanding, pending.opcode == opcode {
                outstanding = nil
                if let answer = pending.answer {
                    answer.fulfil(reply)
                    log.add(side, PDUBook.name(of: packet), .event(packet.bytes), number: number, at: time)
                    host?.received(HCIPacket(eventCode: 0x0E, parameters: [UInt8(clamping: newCredits), 0, 0]), at: time)
                    return pump()
                }
            }
        }
        log.add(side, PDUBook.name(of: packet), .event(packet.bytes), number: number, at: time)
        host?.received(packet, at: time)
        pump()
    }

    private func reply(in packet: HCIPacket, _ number: Int, at time: Microseconds) -> (UInt16, Int, Reply)? {
        let bytes = packet.bytes
        func made(_ isStatus: Bool, _ parameters: [UInt8]) -> Reply {
            Reply(
                isStatus: isStatus, parameters: parameters, commandNumber: lastCommand.number, number: number, sentAt: lastCommand.time,
                answeredAt: time, index: log.end + 1)
        }
        if packet.eventCode == 0x0E, bytes.count >= 5 {
            return (UInt16(bytes[3]) | UInt16(bytes[4]) << 8, Int(bytes[2]), made(false, Array(bytes[5...])))
        }
        if packet.eventCode == 0x0F, bytes.count >= 6 {
            return (UInt16(bytes[4]) | UInt16(bytes[5]) << 8, Int(bytes[3]), made(true, [bytes[2]]))
        }
        return nil
    }

    private func pump() {
        guard outstanding == nil, credits > 0, !queue.isEmpty else { return }
        let next = queue.removeFirst()
        outstanding = next
        credits -= 1
        if next.opcode == 0x0C03 { data.reset() }
        links.note(next.packet)
        lastCommand = (transmit(next.packet), loop.now)
    }

    @discardableResult
    private func transmit(_ packet: HCIPacket) -> Int {
        let number = recorder.record(packet, .hostToController, side, at: loop.now)
        transport.send(packet)
        return number
    }
}
