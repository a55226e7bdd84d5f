/// Descriptions of differences between two set-ups.
enum Difference {
    static func text(_ what: String, _ before: String?, _ now: String?) -> String? {
        before == now ? nil : "\(what): \(before ?? "unknown") then, \(now ?? "unknown") now"
    }
}
