import BBPackets
import BBTraffic

/// Packets returned by a controller in local loopback mode, and their rate.
public struct LoopbackResult: Sendable, Hashable {
    public var channel = LoopbackPlan.Channel.data
    public var handles = 0
    public var octets = 0
    /// Length and number of the controller's buffers.
    public var bufferOctets = 0
    public var buffers = 0
    /// Number of packets to send.
    public var planned = 0
    public var sent = 0
    public var returned = 0
    public var lost = 0
    public var duplicated = 0
    public var reordered = 0
    public var corrupted = 0
    /// Number of buffer overflows reported by the controller.
    public var overflows = 0
    /// Time from sending the first packet to receiving the last one.
    public var time = Microseconds.zero
    public var worstRoundTrip = Microseconds.zero
    public var meanRoundTrip = Microseconds.zero
    /// Time during which packets were waiting and no buffer of the controller was free.
    public var waitForBuffers = Microseconds.zero
    public var pipe: LoopbackPipe?

    /// True if every packet was sent and returned once, in order and intact.
    public var isClean: Bool {
        sent == planned && sent == returned && lost == 0 && duplicated == 0 && reordered == 0 && corrupted == 0 && overflows == 0
    }

    public var packetsPerSecond: Double { time > .zero ? Double(returned) / time.seconds : 0 }
    /// Rate of data in one direction, without headers.
    public var kilobitsPerSecond: Double { packetsPerSecond * Double(octets) * 8 / 1_000 }

    /// Utilization of the pipe by packets with headers, 0...1; more than 1 if the pipe is faster than specified.
    public var pipeUse: Double? {
        pipe.map { packetsPerSecond * Double(octets + 4) * ($0.isShared ? 2 : 1) / $0.octetsPerSecond }
    }

    /// The limiting factor; nil for voice, which has a fixed rate.
    public var limit: Limit? {
        guard channel == .data, time > .zero else { return nil }
        if let use = pipeUse, (0.9...1.02).contains(use) { return .transport }
        return waitForBuffers.seconds >= 0.5 * time.seconds ? .credits : .host
    }

    /// The limit as text, with the relevant figures.
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
        return digits == 0 ? "\(Int(saturating: rounded))" : "\(rounded)"
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
