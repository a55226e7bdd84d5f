import Packets

/// What came back from a controller in local loopback mode, and how fast.
public struct LoopbackResult: Sendable, Hashable {
    public var channel = LoopbackPlan.Channel.data
    public var handles = 0
    public var octets = 0
    /// The controller's buffers.
    public var bufferOctets = 0
    public var buffers = 0
    /// How many packets there were to send.
    public var planned = 0
    public var sent = 0
    public var returned = 0
    public var lost = 0
    public var duplicated = 0
    public var reordered = 0
    public var corrupted = 0
    /// Packets the controller said did not fit.
    public var overflows = 0
    /// From the first packet's departure to the last one's return.
    public var time = Microseconds.zero
    public var worstRoundTrip = Microseconds.zero
    public var meanRoundTrip = Microseconds.zero
    /// How long packets were there to be sent and none of the controller's buffers was free.
    public var waitForBuffers = Microseconds.zero
    public var pipe: LoopbackPipe?

    /// Whether every packet was sent and came back once, in order and intact.
    public var isClean: Bool {
        sent == planned && sent == returned && lost == 0 && duplicated == 0 && reordered == 0 && corrupted == 0 && overflows == 0
    }

    public var packetsPerSecond: Double { time > .zero ? Double(returned) / time.seconds : 0 }
    /// Data in one direction, without headers.
    public var kilobitsPerSecond: Double { packetsPerSecond * Double(octets) * 8 / 1_000 }

    /// How much of the pipe the packets took with their headers, 0...1; more than 1 on a pipe that is not what it claims.
    public var pipeUse: Double? {
        pipe.map { packetsPerSecond * Double(octets + 4) * ($0.isShared ? 2 : 1) / $0.octetsPerSecond }
    }

    /// What keeps it from being more; nil for voice, which has its pace.
    public var limit: Limit? {
        guard channel == .data, time > .zero else { return nil }
        if let use = pipeUse, (0.9...1.02).contains(use) { return .transport }
        return waitForBuffers.seconds >= 0.5 * time.seconds ? .credits : .host
    }

    /// The limit in words, with the figures that show it.
    public var explanation: String {
        guard let limit else { return "voice is sent at the pace of its links" }
        let round = "\(fixed(meanRoundTrip.milliseconds, 2)) ms"
        switch limit {
        case .transport: return "\(pipe?.name ?? "the pipe") is full: \(fixed(100 * (pipeUse ?? 0), 0)) % of what it carries"
        case .credits:
            let share = fixed(100 * waitForBuffers.seconds / time.seconds, 0)
            return
                "\(share) % of the time all \(buffers) buffers of \(bufferOctets) octets were on their way or not yet reported free; "
                + "a packet takes \(round) there and back"
        default: return "buffers of the controller were free most of the time: this host does not send faster"
        }
    }

    private func fixed(_ value: Double, _ digits: Int) -> String {
        let scale = digits == 0 ? 1.0 : 100.0
        let rounded = (value * scale).rounded() / scale
        return digits == 0 ? "\(Int(rounded))" : "\(rounded)"
    }
}

extension LoopbackResult: Encodable {
    private enum Key: String, CodingKey {
        case channel, handles, octets, buffers, planned, sent, returned, lost, duplicated, reordered, corrupted, overflows, limit,
            explanation
        case bufferOctets = "buffer_octets"
        case time = "time_us"
        case packetsPerSecond = "packets_per_second"
        case kilobitsPerSecond = "kbps"
        case worstRoundTrip = "worst_round_trip_us"
        case meanRoundTrip = "mean_round_trip_us"
        case waitForBuffers = "wait_for_buffers_us"
        case pipe
        case pipeUse = "pipe_use"
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(channel, forKey: .channel)
        for (key, number) in [
            (Key.handles, handles), (.octets, octets), (.buffers, buffers), (.bufferOctets, bufferOctets), (.planned, planned),
            (.sent, sent),
            (.returned, returned), (.lost, lost), (.duplicated, duplicated), (.reordered, reordered), (.corrupted, corrupted),
            (.overflows, overflows),
        ] {
            try values.encode(number, forKey: key)
        }
        for (key, time) in [
            (Key.time, time), (.worstRoundTrip, worstRoundTrip), (.meanRoundTrip, meanRoundTrip), (.waitForBuffers, waitForBuffers),
        ] {
            try values.encode(time.rawValue, forKey: key)
        }
        try values.encode(packetsPerSecond, forKey: .packetsPerSecond)
        try values.encode(kilobitsPerSecond, forKey: .kilobitsPerSecond)
        try values.encodeIfPresent(pipe?.name, forKey: .pipe)
        try values.encodeIfPresent(pipeUse, forKey: .pipeUse)
        try values.encodeIfPresent(limit, forKey: .limit)
        try values.encode(explanation, forKey: .explanation)
    }
}
