import BBCases
import BBHost
import BBPackets

/// Answers key requests of the controller with a key, which may be wrong.
enum ClaimKeys: NamedAction {
    static let name = "claim keys"
    static let about = "replaces the stored keys of a device, as if an authenticated pairing had made them"
    static let address = TypedArgument.address("address", "the device's identity address, a public one")
    static let longTermKey = TypedArgument.octets("ltk", default: [], "16 octets of LE Secure Connections; none for no LTK")
    static let linkKey = TypedArgument.octets("linkKey", default: [], "16 octets of a P-256 pairing; none for no link key")
    static var arguments: [ActionArgument] { [address.declaration, longTermKey.declaration, linkKey.declaration] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let longTermKey = try key(context(longTermKey)).map { LongTermKey($0) }
        var bond = Bond(
            DeviceAddress(value: try context(address), kind: .public), localLongTermKey: longTermKey, peerLongTermKey: longTermKey,
            isAuthenticated: longTermKey != nil, isSecureConnections: longTermKey != nil)
        bond.linkKey = try key(context(linkKey)).map { LinkKey($0, .authenticatedCombinationP256) }
        try context.driver().host.keys.add(bond)
        return CaseRecord()
    }

    private static func key(_ octets: [UInt8]) throws(StepFailure) -> [UInt8]? {
        guard octets.isEmpty || octets.count == 16 else { throw StepFailure(.precondition, "\(name) needs keys of 16 octets") }
        return octets.isEmpty ? nil : octets
    }
}
