import BBPackets
import BBTiming

/// The voice interface of a dongle: alternate setting and pending isochronous requests.
final class VoiceInterface {
    /// The alternate setting.
    private(set) var alternate: UInt8 = 0
    var complete: ((USBCompletion) -> Void)?
    /// Receives each voice packet of the host.
    var send: ((HCIPacket) -> Void)?
    /// True if a packet to the host is lost on the bus.
    var isLost: () -> Bool = { false }
    /// Alternate setting in which received voice is replaced by silence.
    var silentAlternate: UInt8?

    private let loop: RunLoop
    private let packetSizes: [Int]
    private var schedule = VoiceSchedule()
    private var inbound = InboundVoice()
    private var outbound = OutboundVoice()

    init(packetSizes: [Int], on loop: RunLoop) {
        self.packetSizes = packetSizes
        self.loop = loop
    }

    /// Schedules one isochronous packet per 1 ms frame, after those already scheduled in this direction.
    func submit(_ request: USBRequest) {
        guard alternate != 0, !request.packetLengths.isEmpty else { return finish(USBCompletion(id: request.id, status: .noEndpoint)) }
        guard let due = schedule.slot(for: request, now: loop.now) else { return finish(USBCompletion(id: request.id, status: .noMemory)) }
        let timer = loop.schedule(at: due) { [weak self] in
            guard let self, schedule.cancel(request.id) != nil else { return }
            finish(move(request))
        }
        schedule.note(request.id, timer: timer)
    }

    /// Cancels a pending request; false if it is not pending.
    func cancel(_ id: UInt32) -> Bool {
        guard let timer = schedule.cancel(id) else { return false }
        loop.cancel(timer)
        return true
    }

    /// Cancels all requests and returns them.
    func takePending() -> [UInt32] {
        let scheduled = schedule.takeAll()
        for timer in scheduled.values { loop.cancel(timer) }
        return scheduled.keys.sorted()
    }

    /// Sets the alternate setting and ends the requests of the previous one.
    func set(alternate number: UInt8) {
        alternate = number
        let frameSize = packetSizes.indices.contains(Int(number)) ? packetSizes[Int(number)] : 0
        inbound = InboundVoice(alternate: number, frameSize: frameSize)
        outbound = OutboundVoice()
        for id in takePending() { finish(USBCompletion(id: id, status: .shutdown)) }
    }

    /// Queues voice from the controller; false if it was dropped.
    func put(_ packet: HCIPacket) -> Bool {
        guard alternate != 0, alternate == silentAlternate, var voice = try? HCIData.SynchronousData(prefixOf: packet.bytes) else {
            return inbound.put(packet)
        }
        voice.data = [UInt8](repeating: 0, count: voice.data.count)
        return inbound.put(HCIPacket(.sco, voice.parameters))
    }

    private func finish(_ completion: USBCompletion) { complete?(completion) }

    private func move(_ request: USBRequest) -> USBCompletion {
        guard !request.isIn else {
            let (data, moved) = inbound.take(request.packetLengths)
            var completion = USBCompletion(id: request.id, status: .success, data: data, packetLengths: moved)
            completion.lostPackets = Set(moved.indices.filter { moved[$0] > 0 && isLost() })
            return completion
        }
        for packet in outbound.append(request.data) { send?(packet) }
        let moved = request.packetLengths
        return USBCompletion(id: request.id, status: .success, actualLength: moved.reduce(0, +), packetLengths: moved)
    }
}
