import Cases
import Host
import Packets
import Timing

/// The behaviour of the bench's accessory that variants can change.
struct AccessoryConduct: Sendable {
    /// Server_Rx_MTU.
    var mtu: Int?
    /// The number of additional services before and after those of docs/guide/accessory.md.
    var servicesBefore = 0
    var servicesAfter = 0
    /// The procedures that it starts on a new connection, and their delay after its start.
    var asksForParameters = false
    var asksForPHY = false
    var asksForDataLength = false
    var asksForFeatures = false
    var exchangesMTU = false
    /// The pairing behaviour: disabled, without bonding, without LE Secure Connections, the key sizes, and whether it requests security.
    var pairs = true
    var bonds = true
    var hasSecureConnections = true
    var leastKeySize = 7
    var mostKeySize = 16
    var asksForSecurity = false
    /// The IO capability, and whether it requests protection against man-in-the-middle attacks where that is possible.
    var io: IOCapability = .noInputNoOutput
    var asksForMITM = false
    /// The server's choices between errors that the specification leaves open.
    var server = ServerChoices()
    /// True if it ends the link after a failed pairing.
    var leavesAfterFailure = false
    /// Ends the link of a bonded central that has not encrypted it after `delay`.
    var leavesUnencrypted = false
    /// Has Characteristic Extended Properties without the property that announces it, and a characteristic without properties.
    var hasSpareDeclarations = false
    /// The delay of the user's answer.
    var userTakes = Microseconds.zero
    /// True if it has no private addresses, which an IRK of zeros indicates.
    var hasNoIRK = false
    /// Its behaviour on BR/EDR, which also applies to a case's own host.
    var classic = ClassicChoices()
    var delay: Microseconds = .milliseconds(20)

    private typealias Apply = @Sendable (inout AccessoryConduct, Int) -> Void

    private static let known: [String: (limits: ClosedRange<Int>, apply: Apply)] = [
        "mtu": (23...65_535, { $0.mtu = $1 }),
        "servicesBefore": (0...100, { $0.servicesBefore = $1 }),
        "servicesAfter": (0...100, { $0.servicesAfter = $1 }),
        "asksForParameters": (0...1, { $0.asksForParameters = $1 != 0 }),
        "asksForPHY": (0...1, { $0.asksForPHY = $1 != 0 }),
        "asksForDataLength": (0...1, { $0.asksForDataLength = $1 != 0 }),
        "asksForFeatures": (0...1, { $0.asksForFeatures = $1 != 0 }),
        "exchangesMTU": (0...1, { $0.exchangesMTU = $1 != 0 }),
        "pairs": (0...1, { $0.pairs = $1 != 0 }),
        "bonds": (0...1, { $0.bonds = $1 != 0 }),
        "hasSecureConnections": (0...1, { $0.hasSecureConnections = $1 != 0 }),
        "leastKeySize": (7...16, { $0.leastKeySize = $1 }),
        "mostKeySize": (7...16, { $0.mostKeySize = $1 }),
        "asksForSecurity": (0...1, { $0.asksForSecurity = $1 != 0 }),
        "io": (0...4, { $0.io = IOCapability(rawValue: UInt8($1)) }),
        "asksForMITM": (0...1, { $0.asksForMITM = $1 != 0 }),
        "readsMultiple": (0...1, { $0.lack($1, [ATT.ReadMultipleReq.opcode, ATT.ReadMultipleVariableReq.opcode]) }),
        "readsBlobs": (0...1, { $0.lack($1, [ATT.ReadBlobReq.opcode]) }),
        "writes": (0...1, { $0.lack($1, [ATT.WriteReq.opcode, ATT.PrepareWriteReq.opcode, ATT.ExecuteWriteReq.opcode]) }),
        "busyEvery": (0...100, { $0.server.busyEvery = $1 }),
        "tellsNotLong": (0...1, { $0.server.tellsNotLong = $1 != 0 }),
        "asksForEncryption": (0...1, { $0.server.asksForEncryption = $1 != 0 }),
        "leavesAfterFailure": (0...1, { $0.leavesAfterFailure = $1 != 0 }),
        "leavesUnencrypted": (0...1, { $0.leavesUnencrypted = $1 != 0 }),
        "hasSpareDeclarations": (0...1, { $0.hasSpareDeclarations = $1 != 0 }),
        "userTakes": (0...20_000_000, { $0.userTakes = Microseconds($1) }),
        "hasNoIRK": (0...1, { $0.hasNoIRK = $1 != 0 }),
        "mostListOctets": (7...65_535, { $0.classic.mostListOctets = $1 }),
        "creditWindow": (1...255, { $0.classic.creditWindow = $1 }),
        "delay": (0...10_000_000, { $0.delay = Microseconds($1) }),
    ]

    /// Removes requests from the server's supported ones, unless `isThere` is 1.
    private mutating func lack(_ isThere: Int, _ requests: Set<UInt8>) { if isThere == 0 { server.withoutRequests.formUnion(requests) } }

    static let limits = known.mapValues(\.limits)

    init(_ settings: [ControllerSetting]) {
        for setting in settings {
            if let number = setting.value.asNumber { Self.known[setting.name]?.apply(&self, number) }
        }
    }

    /// Starts its procedures with the peer; the peer's answers are ignored.
    func ask(on link: Connection, loop: RunLoop) async throws {
        try await loop.sleep(for: delay)
        if asksForFeatures { _ = try? await link.readRemoteFeatures() }
        if asksForDataLength { _ = try? await link.updateDataLength(txOctets: 251) }
        if asksForPHY { _ = try? await link.updatePHY(tx: .le2M, rx: .le2M) }
        if exchangesMTU { _ = try? await link.gatt.exchangeMTU() }
        if asksForParameters {
            try? await link.requestParameters(
                ConnectionParameterRequest(intervalMin: 16, intervalMax: 40, latency: 0, supervisionTimeout: 300))
        }
    }

    /// The pairing settings unless a client has changed them; nil if pairing is disabled.
    var pairing: PairingSettings? {
        guard pairs else { return nil }
        var settings = PairingSettings()
        settings.ioCapability = io
        settings.asksForMITM = asksForMITM
        settings.isBonding = bonds
        settings.supportsSecureConnections = hasSecureConnections
        settings.minimumKeySize = leastKeySize
        settings.maximumKeySize = max(leastKeySize, mostKeySize)
        return settings
    }

    /// Returns true if it supports pairing with these settings.
    func isAble(_ settings: PairingSettings) -> Bool {
        pairs && (bonds || !settings.isBonding) && (hasSecureConnections || !settings.supportsSecureConnections)
            && settings.minimumKeySize >= leastKeySize && settings.maximumKeySize <= max(leastKeySize, mostKeySize)
    }

    var asks: Bool { asksForParameters || asksForPHY || asksForDataLength || asksForFeatures || exchangesMTU }
}
