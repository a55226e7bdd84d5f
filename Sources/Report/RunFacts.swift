#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// When, where and by which program a run was made; all of it empty keeps the reports of equal runs equal.
public struct RunFacts: Sendable {
    /// As in ISO 8601, in UTC, without the zone: 2026-11-22T01:17:16.
    public var date = ""
    public var host = ""
    /// The program's version.
    public var version = ""
    /// The options with which a case of the run is run again, as a shell takes them.
    public var again = ""
    /// The command line that made it, without the program's name.
    public var arguments: [String] = []

    public init() {}

    /// Words as a shell takes them.
    public static func shell(_ words: [String]) -> String { words.map(Markup.quoted).joined(separator: " ") }

    /// Now, here.
    public static func ofThisMachine(version: String) -> RunFacts {
        var facts = RunFacts()
        facts.version = version
        var seconds = time(nil)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        facts.date = text(octets: 32) { strftime($0, $1, "%Y-%m-%dT%H:%M:%S", &parts) > 0 }
        facts.host = text(octets: 256) { gethostname($0, $1) == 0 }
        return facts
    }

    /// What a call of the system writes into its room, up to the first zero.
    private static func text(octets: Int, _ fill: (UnsafeMutablePointer<CChar>, Int) -> Bool) -> String {
        let room = [CChar](unsafeUninitializedCapacity: octets) { room, count in
            room.initialize(repeating: 0)
            if let start = room.baseAddress, !fill(start, octets - 1) { start.pointee = 0 }
            count = octets
        }
        return String(decoding: room.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
