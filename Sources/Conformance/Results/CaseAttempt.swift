/// One of several attempts at a case.
public struct CaseAttempt: Sendable, Hashable, Codable {
    public var verdict: Verdict
    public var message: String
    public var seed: SeedText
    public var durationMilliseconds: Double
    public var firstPacket: Int?
    public var lastPacket: Int?
    public var evidence: [Evidence]

    private enum CodingKeys: String, CodingKey {
        case verdict, message, seed, evidence
        case durationMilliseconds = "duration_ms"
        case firstPacket = "first_packet"
        case lastPacket = "last_packet"
    }

    public init(_ result: CaseResult) {
        (verdict, message, seed) = (result.verdict, result.message, SeedText(result.seed))
        (durationMilliseconds, evidence) = (result.durationMilliseconds, result.evidence)
        (firstPacket, lastPacket) = (result.packetRange?.first, result.packetRange?.last)
    }
}
