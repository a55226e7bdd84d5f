import Host
import Packets
import Timing

/// What an accessory of ours may do otherwise than usual, as variants set it.
struct AccessoryConduct: Sendable {
    /// Server_Rx_MTU.
    var mtu: Int?
    /// Services of its own before and after those of docs/accessory.md.
    var servicesBefore = 0
    var servicesAfter = 0
    /// What it asks for by itself on a new connection, and how long after its beginning.
    var asksForParameters = false
    var asksForPHY = false
    var asksForDataLength = false
    var asksForFeatures = false
    var exchangesMTU = false
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
        "delay": (0...10_000_000, { $0.delay = Microseconds($1) }),
    ]

    static let limits = known.mapValues(\.limits)

    init(_ settings: [ControllerSetting]) {
        for setting in settings {
            if let number = setting.value.asNumber { Self.known[setting.name]?.apply(&self, number) }
        }
    }

    /// What it asks its peer for; whether the peer grants it makes no difference.
    func ask(on link: Connection, loop: RunLoop) async {
        try? await loop.sleep(for: delay)
        if asksForFeatures { _ = try? await link.readRemoteFeatures() }
        if asksForDataLength { _ = try? await link.updateDataLength(txOctets: 251) }
        if asksForPHY { _ = try? await link.updatePHY(tx: .le2M, rx: .le2M) }
        if exchangesMTU { _ = try? await link.gatt.exchangeMTU() }
        if asksForParameters {
            try? await link.requestParameters(
                ConnectionParameterRequest(intervalMin: 16, intervalMax: 40, latency: 0, supervisionTimeout: 300))
        }
    }

    var asks: Bool { asksForParameters || asksForPHY || asksForDataLength || asksForFeatures || exchangesMTU }
}
