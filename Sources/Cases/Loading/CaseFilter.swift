/// The filters of the command line for case ids: a case, a suite, or part of an id with `*`.
package enum CaseFilter {
    package static func matches(_ id: String, _ filter: String) -> Bool {
        if filter.utf8.contains(UInt8(ascii: "*")) { return glob(Array(id.utf8), Array(filter.utf8)) }
        if let round = id.utf8.firstIndex(of: UInt8(ascii: "[")), id != filter {
            let (file, wanted) = (String(id[..<round]), filter.prefix { $0 != "[" })
            return parts(filter[wanted.endIndex...]).isSubset(of: parts(id[round...])) && matches(file, String(wanted))
        }
        return id == filter || id.hasPrefix(filter.hasSuffix("/") ? filter : filter + "/") || id.hasSuffix("/" + filter)
    }

    /// The parts of a round: `[side=central,octets=27]` has two. A filter selects the rounds that have all parts of its own.
    private static func parts(_ round: Substring) -> Set<Substring> {
        Set(round.dropFirst().dropLast().split(separator: ","))
    }

    /// True if a filter can match a case of the file `<suite>/<case>.yaml`. Rounds are ignored, because they are unknown before the file is
    /// read.
    static func canMatch(file: String, _ filter: String) -> Bool {
        let id = file.hasSuffix(".yaml") ? String(file.dropLast(".yaml".count)) : file
        let plain = String(filter.prefix { $0 != "*" && $0 != "[" })
        return filter.contains("*") ? id.hasPrefix(plain) : matches(id, plain)
    }

    /// Matches a pattern in which `*` is any text. Only the last star is retried, which limits the work to the product of the lengths.
    private static func glob(_ text: [UInt8], _ pattern: [UInt8]) -> Bool {
        var (at, next) = (0, 0)
        var star: (next: Int, at: Int)?
        while at < text.count {
            if next < pattern.count, pattern[next] == UInt8(ascii: "*") {
                next += 1
                star = (next, at)
            } else if next < pattern.count, pattern[next] == text[at] {
                (at, next) = (at + 1, next + 1)
            } else if let last = star {
                (at, next) = (last.at + 1, last.next)
                star = (last.next, at)
            } else {
                return false
            }
        }
        return pattern[next...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
