import BBCases
import BBHost
import BBPackets

/// Connects over BR/EDR from the bench's host. Core Vol 3, Part C, 7.3.
enum ConnectClassic: NamedAction {
    static let name = "connect over BR/EDR"
    static let about = "the host pages a device; repeated if the page is lost"
    static let address = TypedArgument.address("address", "the device's BD_ADDR")
    static var arguments: [ActionArgument] { [address.declaration] }
    static let results = ["handle"]
    static let needsHost = true
    private static let attempts = 4

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let driver = try context.driver()
        let address = BDADDR(rawValue: try context(address))
        for attempt in 1...attempts {
            do {
                let link = try await driver.host.connectClassic(to: address)
                driver.classicLinks[link.handle.rawValue] = link
                return CaseRecord([("handle", .number(Int(link.handle.rawValue)))])
            } catch let error as HostError where attempt < attempts && error.isPageTimeout {
                continue
            }
        }
        throw StepFailure(.environment, "no connection was made")
    }
}

extension HostError {
    fileprivate var isPageTimeout: Bool { if case .peer(.rejected(_, .pageTimeout)) = self { true } else { false } }
}

/// Authenticates with the existing key, or pairs, and encrypts. Core Vol 3, Part C, 5.2.2.
enum SecureClassic: NamedAction {
    static let name = "secure"
    static let about = "the host brings a BR/EDR link to a level of security mode 4"
    static let level = TypedArgument.named(
        "level", ["low": 1, "unauthenticated": 2, "authenticated": 3, "secureConnections": 4], default: 2, "the level to reach")
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration, level.declaration] }
    static let results = ["level", "keySize", "downgraded"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let link = try context.classicLink()
        try await link.secure(to: SecurityMode4Level(rawValue: try context(level)) ?? .unauthenticated)
        return link.security
    }
}

extension ClassicConnection {
    fileprivate var security: CaseRecord {
        CaseRecord([
            ("level", .text("\(securityLevel)")), ("keySize", .number(encryptionKeySize)), ("downgraded", .number(isDowngraded ? 1 : 0)),
        ])
    }
}

/// Performs Secure Simple Pairing from the bench's host. Core Vol 3, Part C, 5.2.2.
enum PairClassic: NamedAction {
    static let name = "pair over BR/EDR"
    static let about = "the host pairs on a BR/EDR link, even if there is a key"
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration] + PairingArguments.all }
    static let results = ["level", "keySize", "secureConnections"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (driver, link) = (try context.driver(), try context.classicLink())
        let settings = try PairingArguments.prepare(driver, context)
        driver.host.pairingSettings = settings
        let result = try await link.pair(settings)
        return CaseRecord([
            ("level", .text("\(link.securityLevel)")), ("keySize", .number(link.encryptionKeySize)),
            ("secureConnections", .number(result.isSecureConnections ? 1 : 0)),
        ])
    }
}

/// Resets the controller and restarts the host with only its stored keys.
enum PowerCycle: NamedAction {
    static let name = "power cycle"
    static let about = "resets the controller; a new host starts with the stored bonds"
    static var arguments: [ActionArgument] { [] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try await context.bench.powerCycle(context.side)
        return CaseRecord()
    }
}

/// Reads the keys that a host has stored of a device.
enum LookAtKeys: NamedAction {
    static let name = "look at keys"
    static let about = "the stored keys of a device"
    static let address = TypedArgument.address("address", "the device's identity address, a public one")
    static var arguments: [ActionArgument] { [address.declaration] }
    static let results = ["ltk", "ltkSize", "ltkAuthenticated", "linkKey", "linkKeyType"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let peer = PeerIdentity(DeviceAddress(value: try context(address), kind: .public))
        let bond = try context.driver().host.keys[peer]
        let longTermKey = bond?.localLongTermKey ?? bond?.peerLongTermKey
        return CaseRecord([
            ("ltk", .octets(longTermKey?.value ?? [])), ("ltkSize", .number(longTermKey?.size ?? 0)),
            ("ltkAuthenticated", .number(longTermKey != nil && bond?.isAuthenticated == true ? 1 : 0)),
            ("linkKey", .octets(bond?.linkKey?.value ?? [])), ("linkKeyType", .number(bond?.linkKey.map { Int($0.type.rawValue) } ?? -1)),
        ])
    }
}
