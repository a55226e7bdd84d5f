/// What of two set-ups is not the same, in words.
enum Difference {
    static func text(_ what: String, _ before: String?, _ now: String?) -> String? {
        before == now ? nil : "\(what): \(before ?? "unknown") then, \(now ?? "unknown") now"
    }
}
