import BBCLibUSB
import BBPackets
import DequeModule

/// The isochronous pipes of a dongle. All access is under the device's lock.
struct VoicePipe {
    static let inputs = 4
    static let framesPerInput = 6
    static let mostOutputs = 8
    static let mostQueued = 64
    static let longestPacket = 3 + 255

    /// The requested alternate setting; nil is setting 0, without endpoints.
    var wanted: VoiceAlternate?
    private(set) var current: VoiceAlternate?
    var reassembly = VoiceReassembly()
    private(set) var transfers: [USBTransfer] = []
    private var queue = Deque<[UInt8]>()
    /// Number of consecutive failed transfers.
    private var trouble = 0

    var mustChange: Bool { wanted != current }
    var inFlight: [USBTransfer] { transfers.filter(\.isInFlight) }

    /// Called after a change of the alternate setting: creates transfers of the right size and sends queued packets.
    mutating func changed(to setting: VoiceAlternate?, of device: USBDevice) {
        current = setting
        transfers = []
        trouble = 0
        reassembly.restart()
        guard let setting else {
            queue = []
            return
        }
        for _ in 0..<Self.inputs {
            let new = USBTransfer(.voiceIn, capacity: Self.framesPerInput * setting.frameSize, device: device, frames: Self.framesPerInput)
            guard let new else { continue }
            new.prepareVoice(setting, frames: [Int](repeating: setting.frameSize, count: Self.framesPerInput))
            transfers.append(new)
        }
    }

    /// Returns false if the queue is full.
    mutating func enqueue(_ packet: [UInt8]) -> Bool {
        guard packet.count <= Self.longestPacket, queue.count < Self.mostQueued else { return false }
        queue.append(packet)
        return true
    }

    /// The next output transfer to submit, filled in.
    mutating func nextOutput(of device: USBDevice) -> USBTransfer? {
        guard let setting = current, !mustChange, !queue.isEmpty, let free = freeOutput(setting, device), let packet = queue.popFirst()
        else {
            return nil
        }
        free.buffer.update(from: packet, count: packet.count)
        free.prepareVoice(setting, frames: VoiceChoice.frames(octets: packet.count, frameSize: setting.frameSize))
        return free
    }

    private mutating func freeOutput(_ setting: VoiceAlternate, _ device: USBDevice) -> USBTransfer? {
        if let free = transfers.first(where: { $0.role == .voiceOut && !$0.isInFlight }) { return free }
        guard transfers.count(where: { $0.role == .voiceOut }) < Self.mostOutputs else { return nil }
        let frames = (Self.longestPacket + setting.frameSize - 1) / setting.frameSize
        guard let new = USBTransfer(.voiceOut, capacity: Self.longestPacket, device: device, frames: frames) else { return nil }
        transfers.append(new)
        return new
    }

    /// Handles the frames of a completed input transfer.
    mutating func receive(_ transfer: USBTransfer, _ deliver: (HCIPacket) -> Void) {
        var octets = UnsafeRawPointer(transfer.buffer)
        for index in 0..<transfer.transfer.pointee.num_iso_packets {
            guard let frame = bluebench_iso_packet(transfer.transfer, index)?.pointee else { continue }
            if frame.status == LIBUSB_TRANSFER_COMPLETED {
                reassembly.frame(UnsafeRawBufferPointer(start: octets, count: Int(frame.actual_length)), deliver)
            } else {
                reassembly.frameWasLost()
            }
            octets += Int(frame.length)
        }
    }

    /// Counts the result of a transfer; true after too many consecutive errors.
    mutating func isHopeless(afterSuccess isGood: Bool) -> Bool {
        trouble = isGood ? 0 : trouble + 1
        return trouble > 16
    }
}
