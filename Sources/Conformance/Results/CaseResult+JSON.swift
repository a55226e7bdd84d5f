import BBProducts
import Foundation

/// The format of a case in `results.json`, documented in docs/guide/results.md.
extension CaseResult: Codable {
    private enum Key: String, CodingKey {
        case id, title, verdict, covers, seed, capture, evidence, message, step, notes, swap, started, attempts, flaky, commands, log, lacks
        case notRun = "not_run"
        case partialCovers = "covers_partly"
        case duration = "duration_ms"
        case virtual = "virtual_ms"
        case schedulingDelay = "worst_scheduling_delay_ms"
        case file, purpose, reference, tags, steps, packets
        case firstPacket = "first_packet"
        case lastPacket = "last_packet"
        case omittedPackets = "packets_omitted"
        case gap = "packets_omitted_at"
        case omittedLog = "log_omitted"
        case logGap = "log_omitted_at"
    }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        self.init(
            id: try values.decode(String.self, forKey: .id), title: try values.decodeIfPresent(String.self, forKey: .title) ?? "",
            verdict: try values.decode(Verdict.self, forKey: .verdict))
        covers = try values.decodeIfPresent([String].self, forKey: .covers) ?? []
        partialCovers = try values.decodeIfPresent([String].self, forKey: .partialCovers) ?? []
        // Partial ids are in both lists of the file.
        covers.removeAll { partialCovers.contains($0) }
        durationMilliseconds = try values.decodeIfPresent(Double.self, forKey: .duration) ?? 0
        virtualMilliseconds = try values.decodeIfPresent(Double.self, forKey: .virtual) ?? 0
        worstSchedulingDelayMilliseconds = try values.decodeIfPresent(Double.self, forKey: .schedulingDelay)
        seed = try values.decodeIfPresent(SeedText.self, forKey: .seed)?.value ?? 0
        capture = try values.decodeIfPresent(String.self, forKey: .capture)
        evidence = try values.decodeIfPresent([Evidence].self, forKey: .evidence) ?? []
        message = try values.decodeIfPresent(String.self, forKey: .message) ?? ""
        failedStep = try values.decodeIfPresent(FailedStep.self, forKey: .step)
        lacks = try values.decodeIfPresent([String].self, forKey: .lacks) ?? []
        notes = try values.decodeIfPresent([String].self, forKey: .notes) ?? []
        swap = try values.decodeIfPresent(SwapOutcome.self, forKey: .swap)
        trace = try Self.trace(values)
        let first = try values.decodeIfPresent(Int.self, forKey: .firstPacket)
        packetRange = try values.decodeIfPresent(Int.self, forKey: .lastPacket).flatMap { PacketRange(first: first ?? 0, last: $0) }
        steps = try values.decodeIfPresent([StepRecord].self, forKey: .steps) ?? []
        started = try values.decodeIfPresent(String.self, forKey: .started)
        attempts = try values.decodeIfPresent([CaseAttempt].self, forKey: .attempts) ?? []
        commands = try values.decodeIfPresent([CommandReport].self, forKey: .commands) ?? []
        if let lines = try values.decodeIfPresent([LogExcerpt.Line].self, forKey: .log) {
            var excerpt = LogExcerpt()
            excerpt.lines = lines
            excerpt.omitted = try values.decodeIfPresent(Int.self, forKey: .omittedLog) ?? 0
            excerpt.gap = try values.decodeIfPresent(Int.self, forKey: .logGap) ?? 0
            log = excerpt
        }
        isNotRun = try values.decodeIfPresent(Bool.self, forKey: .notRun) ?? false
        about.file = try values.decodeIfPresent(String.self, forKey: .file) ?? ""
        about.purpose = try values.decodeIfPresent(String.self, forKey: .purpose) ?? ""
        about.reference = try values.decodeIfPresent(String.self, forKey: .reference) ?? ""
        about.tags = try values.decodeIfPresent([String].self, forKey: .tags) ?? []
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(id, forKey: .id)
        try values.encode(title, forKey: .title)
        try values.encode(verdict, forKey: .verdict)
        try values.encode(covers + partialCovers, forKey: .covers)
        if !partialCovers.isEmpty { try values.encode(partialCovers, forKey: .partialCovers) }
        try values.encode(Self.rounded(durationMilliseconds), forKey: .duration)
        try values.encode(Self.rounded(virtualMilliseconds), forKey: .virtual)
        try values.encodeIfPresent(worstSchedulingDelayMilliseconds.map(Self.rounded), forKey: .schedulingDelay)
        try values.encode(SeedText(seed), forKey: .seed)
        try values.encodeIfPresent(capture, forKey: .capture)
        try values.encode(evidence, forKey: .evidence)
        try values.encode(message, forKey: .message)
        try values.encodeIfPresent(failedStep, forKey: .step)
        if !lacks.isEmpty { try values.encode(lacks, forKey: .lacks) }
        if !notes.isEmpty { try values.encode(notes, forKey: .notes) }
        try values.encodeIfPresent(swap, forKey: .swap)
        if let trace { try encode(trace, &values) }
        try values.encodeIfPresent(packetRange?.first, forKey: .firstPacket)
        try values.encodeIfPresent(packetRange?.last, forKey: .lastPacket)
        if !steps.isEmpty, verdict != .notApplicable { try values.encode(steps, forKey: .steps) }
        try values.encodeIfPresent(started, forKey: .started)
        if !attempts.isEmpty { try values.encode(attempts, forKey: .attempts) }
        if !commands.isEmpty { try values.encode(commands, forKey: .commands) }
        if let log, verdict != .notApplicable {
            try values.encode(log.lines, forKey: .log)
            if log.omitted > 0 {
                try values.encode(log.omitted, forKey: .omittedLog)
                try values.encode(log.gap, forKey: .logGap)
            }
        }
        if isFlaky { try values.encode(true, forKey: .flaky) }
        if isNotRun { try values.encode(true, forKey: .notRun) }
        for (text, key) in [(about.file, Key.file), (about.purpose, .purpose), (about.reference, .reference)] where !text.isEmpty {
            try values.encode(text, forKey: key)
        }
        if !about.tags.isEmpty { try values.encode(about.tags, forKey: .tags) }
    }

    /// Writes the packets of a case that needs attention. Those of other cases are in the capture only.
    private func encode(_ trace: CaseTrace, _ values: inout KeyedEncodingContainer<Key>) throws {
        guard verdict != .pass, verdict != .notApplicable, !trace.packets.isEmpty else { return }
        try values.encode(trace.packets, forKey: .packets)
        guard trace.omitted > 0 else { return }
        try values.encode(trace.omitted, forKey: .omittedPackets)
        try values.encode(trace.gap, forKey: .gap)
    }

    private static func trace(_ values: KeyedDecodingContainer<Key>) throws -> CaseTrace? {
        guard let packets = try values.decodeIfPresent([PacketTrace].self, forKey: .packets) else { return nil }
        var trace = CaseTrace()
        trace.packets = packets
        trace.omitted = try values.decodeIfPresent(Int.self, forKey: .omittedPackets) ?? 0
        trace.gap = try values.decodeIfPresent(Int.self, forKey: .gap) ?? 0
        return trace
    }

    /// A number of 1e12 or more keeps its fraction, which it hardly has: three more digits could exceed what JSON can hold.
    private static func rounded(_ value: Double) -> Double { abs(value) < 1e12 ? (value * 1_000).rounded() / 1_000 : value }
}
