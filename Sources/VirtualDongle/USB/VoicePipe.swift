import Packets
import Timing

/// The voice interface of a dongle: its alternate setting, and the isochronous requests under way.
final class VoicePipe {
    /// The alternate setting.
    private(set) var alternate: UInt8 = 0
    var complete: ((USBCompletion) -> Void)?
    /// Takes each packet of the host's voice.
    var send: ((HCIPacket) -> Void)?
    /// Whether a packet for the host is lost on the bus.
    var isLost: () -> Bool = { false }
    /// In this setting voice comes as silence.
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

    /// One isochronous packet a frame of a millisecond, after what is already scheduled in this direction.
    func submit(_ request: USBRequest) {
        guard alternate != 0, !request.packetLengths.isEmpty else { return finish(USBCompletion(id: request.id, status: .noEndpoint)) }
        guard let due = schedule.slot(for: request, now: loop.now) else { return finish(USBCompletion(id: request.id, status: .noMemory)) }
        let timer = loop.schedule(at: due) { [weak self] in
            guard let self, schedule.cancel(request.id) != nil else { return }
            finish(move(request))
        }
        schedule.note(request.id, timer: timer)
    }

    /// Takes back a pending request; false when it is not pending.
    func cancel(_ id: UInt32) -> Bool {
        guard let timer = schedule.cancel(id) else { return false }
        loop.cancel(timer)
        return true
    }

    /// Takes back all, and returns them.
    func takePending() -> [UInt32] {
        let scheduled = schedule.takeAll()
        for timer in scheduled.values { loop.cancel(timer) }
        return scheduled.keys.sorted()
    }

    /// What was under way under the setting before ends.
    func set(alternate number: UInt8) {
        alternate = number
        let frameSize = packetSizes.indices.contains(Int(number)) ? packetSizes[Int(number)] : 0
        inbound = InboundVoice(alternate: number, frameSize: frameSize)
        outbound = OutboundVoice()
        for id in takePending() { finish(USBCompletion(id: id, status: .shutdown)) }
    }

    /// Voice of the controller; false when it was thrown away.
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
