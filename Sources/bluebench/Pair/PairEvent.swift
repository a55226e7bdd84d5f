import BBHost
import Foundation

/// An event of `bluebench pair`: a line of text, or of JSON with names in snake case.
struct PairEvent: Encodable {
    var event: String
    var peer: String?
    /// `bredr`; omitted on LE.
    var transport: String?
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
    /// `aes_ccm` or `e0`; omitted on LE.
    var cipher: String?
    var reason: String?

    /// True if E0 encrypts the link although the key is from Secure Connections.
    var isDowngraded = false

    private enum CodingKeys: String, CodingKey {
        case event, peer, transport, passkey, number, role, level, model, secureConnections, keySize, bonded, cipher, reason
    }

    init(_ event: String) { self.event = event }

    /// Creates the event of a completed pairing.
    init(_ result: PairingResult) {
        event = result.model == nil ? "encrypted" : "paired"
        peer = result.peer.address.argument
        level = result.level.name
        model = result.model?.rawValue
        secureConnections = result.isSecureConnections
        keySize = result.keySize
        bonded = result.isBonded
    }

    /// The line at the end of the command.
    var line: String {
        let how = event == "paired" ? "paired with" : "encrypted with the key of the bond with"
        var words = ["\(how) \(peer ?? "the peer"): \(level ?? "")"]
        if let model { words.append(model) }
        let name = transport == nil ? "LE " : ""
        words.append(secureConnections == true ? "\(name)Secure Connections" : "\(name)legacy pairing")
        if cipher == "e0", isDowngraded { words.append("warning: \(BridgeEvent.downgrade)") }
        if let keySize { words.append("key of \(keySize) octets") }
        words.append(bonded == true ? "bonded" : "not bonded")
        return words.joined(separator: ", ")
    }

    var json: String { Self.json(self) }

    /// Returns the event as one line of JSON.
    static func json(_ event: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return ((try? encoder.encode(event)).map { String(decoding: $0, as: UTF8.self) } ?? "{}") + "\n"
    }

    /// Returns a passkey or number with six digits. Core Vol 3, Part H, 2.3.5.6.2.
    static func digits(_ number: UInt32) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, 6 - text.count)) + text
    }
}

extension LinkSecurity {
    /// The name in JSON.
    var name: String {
        switch self {
        case .none: "none"
        case .encrypted: "encrypted"
        case .authenticated: "authenticated"
        case .secureConnections: "secure_connections"
        }
    }
}
