import BBPackets

/// Voice of an audio connection: sends a tone in the codec's frames in real time, and counts received frames. HFP 1.8, 5.7.
public struct HFPVoice: Sendable {
    /// Octets of voice per packet, and their interval.
    private struct Pace: Sendable {
        var octets: Int
        var interval: Microseconds
    }

    /// Maximum number of frames sent at once when late; earlier ones are skipped.
    private static let burst = 8

    public let codec: HFPCodec
    /// Time of the next frame; nil while nothing is sent.
    public private(set) var deadline: Microseconds?
    /// Number of mSBC frames, or of 3 ms pieces of linear samples.
    public private(set) var framesSent = 0
    public private(set) var octetsReceived = 0
    private var encoder = SBCEncoder(.modified)
    private var reader = ModifiedSBCReader()
    private let tone = Tone(cycle: 100, amplitude: 8_000)
    private var played = 0
    /// Frames by their start position in the tone, once the encoder's filter contains nothing else.
    private var known: [Int: [UInt8]] = [:]

    public init(_ codec: HFPCodec) { self.codec = codec }

    /// Numbers of intact, missing and invalid mSBC frames.
    public var framesReceived: Int { reader.frames }
    public var framesLost: Int { reader.lost }
    public var malformed: Int { reader.malformed }

    /// Size and interval of packets: mSBC frames of 60 octets with header every 7.5 ms; samples for CVSD every 3 ms, as the isochronous pipes
    /// of USB carry them.
    private var pace: Pace {
        codec == .mSBC ? Pace(octets: ModifiedSBC.octets, interval: 7_500) : Pace(octets: 48, interval: .milliseconds(3))
    }

    mutating func start(at now: Microseconds) { deadline = now }

    mutating func expire(at now: Microseconds) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        while let due = deadline, due <= now {
            if frames.count < Self.burst { frames.append(next()) }
            deadline = due + pace.interval
        }
        return frames
    }

    private mutating func next() -> [UInt8] {
        defer { framesSent += 1 }
        guard codec == .mSBC else {
            return samples(pace.octets / 2).flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        }
        return ModifiedSBC.header(framesSent) + coded() + [0]
    }

    private mutating func coded() -> [UInt8] {
        let phase = played % tone.samples.count
        let isSettled = played >= 10 * encoder.parameters.subbands
        let samples = samples(encoder.parameters.samples)
        if isSettled, let frame = known[phase] { return frame }
        let frame = encoder.frame([samples]) ?? []
        if isSettled { known[phase] = frame }
        return frame
    }

    private mutating func samples(_ count: Int) -> [Int16] {
        defer { played += count }
        return (played..<played + count).map { tone.samples[$0 % tone.samples.count] }
    }

    mutating func receive(_ octets: [UInt8]) {
        octetsReceived += octets.count
        if codec == .mSBC { reader.receive(octets) }
    }
}

/// mSBC frames with synchronization headers. HFP 1.8, 5.7.2.
enum ModifiedSBC {
    /// Length of header, frame and padding.
    static let octets = 60
    static let first: UInt8 = 0x01
    /// Sequence numbers: two bits, each sent twice, before four constant bits.
    static let numbers: [UInt8] = [0x08, 0x38, 0xC8, 0xF8]

    static func header(_ number: Int) -> [UInt8] { [first, numbers[number % numbers.count]] }

    /// True if the CRC of a frame is correct. A2DP 1.3, 12.6.1.1.
    static func isIntact(_ frame: some Collection<UInt8>) -> Bool {
        let octets = Array(frame.prefix(8))
        guard octets.count == 8 else { return false }
        var check = SBCCheck()
        for octet in octets[1...2] + octets[4...] { check.add(Int(octet), bits: 8) }
        return check.value == octets[3]
    }
}

/// Finds mSBC frames in the data of a synchronous connection, however it is split.
struct ModifiedSBCReader: Sendable {
    private(set) var frames = 0
    private(set) var lost = 0
    private(set) var malformed = 0
    private var pending: [UInt8] = []
    /// The expected sequence number.
    private var next: Int?

    mutating func receive(_ octets: [UInt8]) {
        pending += octets
        var start = 0
        while pending.count - start >= 3 {
            guard let number = number(at: start) else {
                start += 1
                continue
            }
            guard pending.count - start >= ModifiedSBC.octets else { break }
            take(number, pending[(start + 2)..<(start + ModifiedSBC.octets)])
            start += ModifiedSBC.octets
        }
        pending.removeFirst(start)
    }

    private func number(at start: Int) -> Int? {
        guard pending[start] == ModifiedSBC.first, pending[start + 2] == SBCParameters.modifiedSyncword else { return nil }
        return ModifiedSBC.numbers.firstIndex(of: pending[start + 1])
    }

    private mutating func take(_ number: Int, _ frame: ArraySlice<UInt8>) {
        if let next { lost += (number + ModifiedSBC.numbers.count - next) % ModifiedSBC.numbers.count }
        next = (number + 1) % ModifiedSBC.numbers.count
        if ModifiedSBC.isIntact(frame) { frames += 1 } else { malformed += 1 }
    }
}
