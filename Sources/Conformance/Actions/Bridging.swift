import BBCases
import BBHost
import BBPackets
import BBProducts

/// The names of a bridge's profiles.
enum BridgedProfiles {
    static let profiles = TypedArgument.number("profiles", 0...7, default: 7, "1 A2DP, 2 HFP, 4 AVRCP")

    static func list(_ number: Int) -> [ClassicProfile] {
        [(1, ClassicProfile.a2dp), (2, .hfp), (4, .avrcp)].filter { number & $0.0 != 0 }.map(\.1)
    }
}

/// Accepts an accessory's bridge to LE and BR/EDR, as a phone does.
enum AcceptBridging: NamedAction {
    static let name = "accept bridging"
    static let about = "the host waits as a bridging accessory: advertises, pairs with a link key, offers profiles over BR/EDR"
    static var arguments: [ActionArgument] { [BridgedProfiles.profiles.declaration] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let driver = try context.driver()
        driver.user = PairingUser(passkey: nil)
        try await driver.host.acceptBridging(Set(BridgedProfiles.list(try context(BridgedProfiles.profiles))), named: "Bridged")
        return CaseRecord()
    }
}

/// Connects over LE, pairs once, connects over BR/EDR with the derived key, and opens the profiles.
enum BridgeOver: NamedAction {
    static let name = "bridge"
    static let about = "the host pairs over LE, connects over BR/EDR with the derived key, and sets up profiles"
    static let address = TypedArgument.address("address", "the device's public address")
    static var arguments: [ActionArgument] { [address.declaration, BridgedProfiles.profiles.declaration] }
    static let results = ["paired", "level", "failures", "handle", "classicHandle"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let driver = try context.driver()
        driver.user = PairingUser(passkey: nil)
        var isPaired = false
        let bridge = try await driver.host.connect(
            to: DeviceAddress(value: try context(address), kind: .public),
            bridging: BridgedProfiles.list(try context(BridgedProfiles.profiles))
        ) { if case .paired = $0 { isPaired = true } }
        driver.links[bridge.connection.handle.rawValue] = bridge.connection
        driver.classicLinks[bridge.classic.handle.rawValue] = bridge.classic
        return CaseRecord([
            ("paired", .number(isPaired ? 1 : 0)), ("level", .text("\(bridge.classic.securityLevel)")),
            ("failures", .number(bridge.failures.count)), ("handle", .number(Int(bridge.connection.handle.rawValue))),
            ("classicHandle", .number(Int(bridge.classic.handle.rawValue))),
        ])
    }
}

/// Reads the state of the bridge's audio stream.
enum LookAtStream: NamedAction {
    static let name = "look at stream"
    static let about = "media packets sent and received on the first BR/EDR link"
    static var arguments: [ActionArgument] { [] }
    static let results = ["streaming", "sent", "received"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        guard let link = try context.driver().classicLinks.values.first(where: { $0.isConnected }) else {
            throw StepFailure(.precondition, "there is no BR/EDR link")
        }
        let profiles = link.profiles
        return CaseRecord([
            ("streaming", .number(profiles.isStreaming ? 1 : 0)), ("sent", .number(profiles.mediaSent)),
            ("received", .number(profiles.sink?.packets ?? 0)),
        ])
    }
}
