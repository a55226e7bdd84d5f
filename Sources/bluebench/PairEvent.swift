import Foundation

/// What happens in `bluebench pair`: a line for people, or a line of JSON with names in snake case.
struct PairEvent: Encodable {
    var event: String
    var peer: String?
    /// Six digits.
    var passkey: String?
    var number: String?
    var role: String?
    /// `encrypted`, `authenticated` or `secure_connections`.
    var level: String?
    var model: String?
    var secureConnections: Bool?
    var keySize: Int?
    var bonded: Bool?
    var reason: String?

    init(_ event: String) { self.event = event }

    /// On one line.
    var json: String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return ((try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}") + "\n"
    }

    /// What people type and compare: six digits. Core Vol 3, Part H, 2.3.5.6.2.
    static func digits(_ number: UInt32) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, 6 - text.count)) + text
    }
}
