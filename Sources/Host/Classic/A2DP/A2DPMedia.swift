import BBPackets

/// A media packet: RTP header, number of SBC frames, and frames. A2DP 1.3, 4.3.4; RFC 3550, 5.1.
public struct A2DPMediaPacket: Sendable, Hashable {
    public var sequence: UInt16
    /// RTP timestamp, in samples.
    public var timestamp: UInt32
    public var source: UInt32
    public var frameCount: UInt8
    public var frames: [UInt8]

    public static let headerOctets = 13
    public static let mostFrames = 15
    private static let version: UInt8 = 0x80
    /// A dynamic payload type.
    private static let payloadType: UInt8 = 96

    public init(sequence: UInt16, timestamp: UInt32, source: UInt32, frameCount: UInt8, frames: [UInt8]) {
        (self.sequence, self.timestamp, self.source) = (sequence, timestamp, source)
        (self.frameCount, self.frames) = (frameCount, frames)
    }

    public init(_ octets: [UInt8]) throws(PDUError) {
        var reader = ByteReader(octets.span.bytes)
        let first = try reader.u8("V, P, X and CC")
        guard first >> 6 == 2 else { throw PDUError(field: "V", offset: 0, problem: .value("\(first >> 6)")) }
        try reader.skip(1, "M and PT")
        sequence = try reader.u16be("Sequence Number")
        timestamp = try reader.u32be("Timestamp")
        source = try reader.u32be("SSRC")
        try reader.skip(4 * Int(first & 15), "CSRC")
        frameCount = try reader.u8("SBC Header") & 15
        frames = reader.rest()
    }

    public var octets: [UInt8] {
        var writer = ByteWriter(reserving: Self.headerOctets + frames.count)
        writer.u8(Self.version)
        writer.u8(Self.payloadType)
        writer.u16be(sequence)
        writer.u32be(timestamp)
        writer.u32be(source)
        writer.u8(frameCount)
        writer.bytes(frames)
        return writer.bytes
    }
}

/// A source that plays a tone in real time. A2DP 1.3, 4.3.4.
public struct A2DPSource: Sendable {
    /// Maximum number of packets sent at once when late; earlier ones are skipped.
    static let burst = 16

    public let parameters: SBCParameters
    public let framesPerPacket: Int
    public private(set) var packetCount = 0
    /// Time of the next packet; nil while nothing is played.
    public private(set) var deadline: Microseconds?
    private var encoder: SBCEncoder
    private let tone: Tone
    /// Number of tone samples played.
    private var played = 0
    /// Frames by their start position in the tone. The same samples give the same frame again.
    private var known: [Int: [UInt8]] = [:]
    private var start = Microseconds.zero
    /// Number of packets since the start.
    private var position = 0
    private var sequence: UInt16 = 0
    private var timestamp: UInt32 = 0
    private let identifier: UInt32

    /// Returns nil if not even one frame fits into the MTU of the channel.
    public init?(_ parameters: SBCParameters, mtu: Int, tone: Tone = Tone(cycle: 100, amplitude: 8_000), identifier: UInt32 = 1) {
        let room = (mtu - A2DPMediaPacket.headerOctets) / parameters.frameLength
        guard room >= 1 else { return nil }
        (self.parameters, self.tone, self.identifier) = (parameters, tone, identifier)
        framesPerPacket = min(room, A2DPMediaPacket.mostFrames)
        encoder = SBCEncoder(parameters)
    }

    public var samplesPerPacket: Int { framesPerPacket * parameters.samples }

    /// The stream was started.
    public mutating func start(at now: Microseconds) {
        guard deadline == nil else { return }
        (start, position, deadline) = (now, 0, now)
    }

    /// The stream was suspended or closed.
    public mutating func stop() { deadline = nil }

    /// The packets that are due.
    public mutating func expire(at now: Microseconds) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        while let due = deadline, due <= now, packets.count < Self.burst { packets.append(next()) }
        while let due = deadline, due <= now { skip() }
        return packets
    }

    private mutating func next() -> [UInt8] {
        var frames: [UInt8] = []
        for _ in 0..<framesPerPacket { frames += nextFrame() }
        let packet = A2DPMediaPacket(
            sequence: sequence, timestamp: timestamp, source: identifier, frameCount: UInt8(framesPerPacket), frames: frames)
        packetCount += 1
        sequence &+= 1
        skip()
        return packet.octets
    }

    /// Encodes the next frame. Frames can be reused once the encoder's filter contains nothing but the tone.
    private mutating func nextFrame() -> [UInt8] {
        let phase = played % tone.samples.count
        let isSettled = played >= 10 * parameters.subbands
        played += parameters.samples
        if isSettled, let frame = known[phase] { return frame }
        let samples = (0..<parameters.samples).map { tone.samples[(phase + $0) % tone.samples.count] }
        let frame = encoder.frame([[Int16]](repeating: samples, count: parameters.mode.channels)) ?? []
        if isSettled { known[phase] = frame }
        return frame
    }

    /// Advances the time by one packet.
    private mutating func skip() {
        position += 1
        timestamp &+= UInt32(truncatingIfNeeded: samplesPerPacket)
        let halfMicroseconds = Int64(position) * Int64(samplesPerPacket) * 2_000_000 / Int64(parameters.frequency)
        deadline = start + Microseconds(halfMicroseconds: halfMicroseconds)
    }
}

/// A sink that counts received packets.
public struct A2DPSink: Sendable, Hashable {
    public let parameters: SBCParameters
    public private(set) var packets = 0
    public private(set) var frames = 0
    /// Number of packets missing by sequence number.
    public private(set) var lost = 0
    /// Number of invalid packets, or of packets whose frames do not match the configuration.
    public private(set) var malformed = 0
    private var next: UInt16?

    public init(_ parameters: SBCParameters) { self.parameters = parameters }

    public mutating func receive(_ octets: [UInt8]) {
        guard let packet = try? A2DPMediaPacket(octets), isWhole(packet) else {
            malformed += 1
            return
        }
        packets += 1
        frames += Int(packet.frameCount)
        if let next { lost += Int(packet.sequence &- next) }
        next = packet.sequence &+ 1
    }

    /// True if the packet consists of complete frames with the configured coding; the source may use a smaller bitpool.
    private func isWhole(_ packet: A2DPMediaPacket) -> Bool {
        var rest = packet.frames[...]
        for _ in 0..<packet.frameCount {
            guard let frame = SBCParameters(frame: rest), rest.count >= frame.frameLength, frame.frequency == parameters.frequency,
                frame.mode == parameters.mode, frame.blocks == parameters.blocks, frame.subbands == parameters.subbands,
                frame.bitpool <= parameters.bitpool
            else { return false }
            rest = rest.dropFirst(frame.frameLength)
        }
        return rest.isEmpty && packet.frameCount > 0
    }
}
