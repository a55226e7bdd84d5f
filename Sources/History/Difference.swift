/// Descriptions of differences between two set-ups.
enum Difference {
    /// - Parameter absent: the meaning of a missing value.
    static func text(_ what: String, _ before: String?, _ now: String?, absent: String = "unknown") -> String? {
        before == now ? nil : "\(what): \(before ?? absent) then, \(now ?? absent) now"
    }
}
