import BBHost
import Foundation

/// An event of `bluebench pair`: a line of text, or of JSON with names in snake case.
package struct PairEvent: Encodable {
    package var event: String
    package var peer: String?
    /// `bredr`; omitted on LE.
    package var transport: String?
    /// Six digits.
    package var passkey: String?
    package var number: String?
    package var role: String?
    /// `encrypted`, `authenticated` or `secure_connections`.
    package var level: String?
    package var model: String?
    package var secureConnections: Bool?
    package var keySize: Int?
    package var bonded: Bool?
    /// `aes_ccm` or `e0`; omitted on LE.
    var cipher: String?
    package var reason: String?

    /// True if E0 encrypts the link although the key is from Secure Connections.
    var isDowngraded = false

    private enum CodingKeys: String, CodingKey {
        case event, peer, transport, passkey, number, role, level, model, secureConnections, keySize, bonded, cipher, reason
    }

    package init(_ event: String) { self.event = event }

    /// Creates the event of a completed pairing.
    package init(_ result: PairingResult) {
        event = result.model == nil ? "encrypted" : "paired"
        peer = result.peer.address.argument
        level = result.level.name
        model = result.model?.rawValue
        secureConnections = result.isSecureConnections
        keySize = result.keySize
        bonded = result.isBonded
    }

    package init(connected link: PeerLink) {
        switch link {
        case .le(let link):
            self.init("connected")
            (peer, role) = (link.peer.address.argument, link.isCentral ? "central" : "peripheral")
        case .classic(let link):
            self.init("connected", link)
            role = link.isInitiator ? "initiator" : "acceptor"
        }
    }

    /// Creates the event of a link that was encrypted with the key of a bond.
    package init(encrypted link: Connection) {
        self.init("encrypted")
        peer = (link.bond?.identity ?? link.peer.address).argument
        (level, keySize) = (link.security.name, link.encryptionKeySize)
        (secureConnections, bonded) = (link.bond?.isSecureConnections, true)
    }

    /// Creates an event on a link over BR/EDR, with its encryption if there is any.
    package init(_ name: String, _ link: ClassicConnection) {
        self.init(name)
        (transport, peer) = (SessionTransport.bredr.rawValue, link.peer.address.argument)
        guard link.encryptionKeySize > 0 else { return }
        (level, keySize) = (link.linkSecurity.name, link.encryptionKeySize)
        (secureConnections, bonded) = (link.usesSecureConnections, true)
    }

    /// Creates the event of a pairing over BR/EDR; pairing with a PIN has no association model.
    package init(pairedClassic result: PairingResult) {
        self.init(result)
        event = "paired"
    }

    /// Sets what the link at the end of the pairing decides.
    mutating func setEncryption(of link: ClassicConnection) {
        transport = SessionTransport.bredr.rawValue
        cipher = link.encryptionKeySize == 0 ? nil : link.usesAESCCM ? "aes_ccm" : "e0"
        isDowngraded = link.isDowngraded
    }

    /// The line at the end of the command.
    package var line: String {
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
