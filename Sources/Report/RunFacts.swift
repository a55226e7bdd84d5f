import BBThroughput

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Date, place and program of a run. Empty values keep the reports of equal runs identical.
public struct RunFacts: Sendable {
    /// UTC, in ISO 8601, without the zone: 2026-11-22T01:17:16.
    public var date = ""
    public var host = ""
    /// Version of the program.
    public var version = ""
    /// Shell-quoted options that repeat a case of the run.
    public var again = ""
    /// Command line arguments without the program's name.
    public var arguments: [String] = []
    /// The options of the bench, each with the place where its value is from.
    public var options: [GivenOption] = []

    public init() {}

    /// Shell-quoted words.
    public static func shell(_ words: [String]) -> String { words.map(Markup.quoted).joined(separator: " ") }

    /// Current date and this machine.
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

    /// Text written into a buffer by a system call, up to the first zero.
    private static func text(octets: Int, _ fill: (UnsafeMutablePointer<CChar>, Int) -> Bool) -> String {
        let room = [CChar](unsafeUninitializedCapacity: octets) { room, count in
            room.initialize(repeating: 0)
            if let start = room.baseAddress, !fill(start, octets - 1) { start.pointee = 0 }
            count = octets
        }
        return String(decoding: room.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
