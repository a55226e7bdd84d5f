import Cases
import Host
import Packets
import Timing

/// What an accessory of ours may do otherwise than usual, as variants set it.
struct AccessoryConduct: Sendable {
    /// Server_Rx_MTU.
    var mtu: Int?
    /// Services of its own before and after those of docs/guide/accessory.md.
    var servicesBefore = 0
    var servicesAfter = 0
    /// What it asks for by itself on a new connection, and how long after its beginning.
    var asksForParameters = false
    var asksForPHY = false
    var asksForDataLength = false
    var asksForFeatures = false
    var exchangesMTU = false
    /// How it pairs: not at all, without keeping keys, without LE Secure Connections, with these key sizes, and whether it asks for security by itself.
    var pairs = true
    var bonds = true
    var hasSecureConnections = true
    var leastKeySize = 7
    var mostKeySize = 16
    var asksForSecurity = false
    /// Its IO capability, and whether it wants protection against a man in the middle where that can be had.
    var io: IOCapability = .noInputNoOutput
    var asksForMITM = false
    /// Which refusals its server prefers where the specification leaves it the choice.
    var server = ServerChoices()
    /// Ends the link when a pairing has failed.
    var leavesAfterFailure = false
    /// How long its user thinks before agreeing.
    var userTakes = Microseconds.zero
    /// Has no private addresses, and says so by an IRK of zeros.
    var hasNoIRK = false
    /// What it does otherwise on BR/EDR, also below a case's own host.
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
        "userTakes": (0...20_000_000, { $0.userTakes = Microseconds($1) }),
        "hasNoIRK": (0...1, { $0.hasNoIRK = $1 != 0 }),
        "mostListOctets": (7...65_535, { $0.classic.mostListOctets = $1 }),
        "creditWindow": (1...255, { $0.classic.creditWindow = $1 }),
        "delay": (0...10_000_000, { $0.delay = Microseconds($1) }),
    ]

    /// Takes requests from what the server supports, unless `isThere` is 1.
    private mutating func lack(_ isThere: Int, _ requests: Set<UInt8>) { if isThere == 0 { server.withoutRequests.formUnion(requests) } }

    static let limits = known.mapValues(\.limits)

    init(_ settings: [ControllerSetting]) {
        for setting in settings {
            if let number = setting.value.asNumber { Self.known[setting.name]?.apply(&self, number) }
        }
    }

    /// What it asks its peer for; whether the peer grants it makes no difference.
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

    /// How it pairs unless a client tells it otherwise; nil if it does not.
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

    /// Whether it is able to pair like that.
    func isAble(_ settings: PairingSettings) -> Bool {
        pairs && (bonds || !settings.isBonding) && (hasSecureConnections || !settings.supportsSecureConnections)
            && settings.minimumKeySize >= leastKeySize && settings.maximumKeySize <= max(leastKeySize, mostKeySize)
    }

    var asks: Bool { asksForParameters || asksForPHY || asksForDataLength || asksForFeatures || exchangesMTU }
}
