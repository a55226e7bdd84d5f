import BBCases
import BBHost
import BBMisbehaviour
import BBPackets
import BBTiming

/// The behaviour of the bench's accessory that variants can change.
package struct AccessoryConduct: Sendable {
    /// Server_Rx_MTU.
    package var mtu: Int?
    /// The number of additional services before and after those of docs/guide/accessory.md.
    package var servicesBefore = 0
    var servicesAfter = 0
    /// The procedures that it starts on a new connection, and their delay after its start.
    package var asksForParameters = false
    var asksForPHY = false
    var asksForDataLength = false
    var asksForFeatures = false
    package var exchangesMTU = false
    /// The pairing behaviour: disabled, without bonding, without LE Secure Connections, the key sizes, and whether it requests security.
    package var pairs = true
    package var bonds = true
    var hasSecureConnections = true
    package var leastKeySize = 7
    package var mostKeySize = 16
    package var asksForSecurity = false
    /// The IO capability, and whether it requests protection against man-in-the-middle attacks where that is possible.
    package var io: IOCapability = .noInputNoOutput
    package var asksForMITM = false
    /// The server's choices between errors that the specification leaves open.
    package var server = ServerChoices()
    /// True if it ends the link after a failed pairing.
    var leavesAfterFailure = false
    /// Ends the link of a bonded central that has not encrypted it after `delay`.
    var leavesUnencrypted = false
    /// Has Characteristic Extended Properties without the property that announces it, and a characteristic without properties.
    var hasSpareDeclarations = false
    /// Has the optional characteristics of the Generic Access service.
    var hasAllOfGenericAccess = false
    /// Shows its Peripheral Preferred Connection Parameters on an encrypted link only.
    var protectsParameters = false
    /// Has a Heart Rate Control Point and an SC Control Point.
    var hasControlPoints = false
    /// The advertising interval in ms.
    var advertisingInterval: UInt32?
    /// The most connections at a time.
    var links = 2
    /// The delay of the user's answer.
    var userTakes = Microseconds.zero
    /// True if it distributes no keys: LE legacy pairing then leaves no bond.
    var keepsKeysToItself = false
    /// True if it ends all links when its services change, as a device that restarts.
    var restartsAtChanges = false
    /// True if it has no private addresses, which an IRK of zeros indicates.
    var hasNoIRK = false
    /// Its behaviour on BR/EDR, which also applies to a case's own host.
    package var classic = ClassicChoices()
    /// Its Enhanced ATT bearers, which also applies to a case's own host.
    package var bearers = EnhancedBearerSettings()
    package var delay: Microseconds = .milliseconds(20)

    package init(_ settings: [QuirkSetting]) {
        for setting in settings { _ = Self.allQuirks.apply(setting.name, setting.value, to: &self) }
    }

    /// Starts its procedures with the peer; the peer's answers are ignored.
    package func ask(on link: Connection, loop: RunLoop) async throws {
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
    package var pairing: PairingSettings? {
        guard pairs else { return nil }
        var settings = PairingSettings()
        settings.ioCapability = io
        settings.asksForMITM = asksForMITM
        settings.isBonding = bonds
        settings.supportsSecureConnections = hasSecureConnections
        settings.minimumKeySize = leastKeySize
        settings.maximumKeySize = max(leastKeySize, mostKeySize)
        if keepsKeysToItself { settings.localKeys = [] }
        return settings
    }

    /// Returns true if it supports pairing with these settings.
    package func isAble(_ settings: PairingSettings) -> Bool {
        pairs && (bonds || !settings.isBonding) && (hasSecureConnections || !settings.supportsSecureConnections)
            && settings.minimumKeySize >= leastKeySize && settings.maximumKeySize <= max(leastKeySize, mostKeySize)
    }

    package var asks: Bool { asksForParameters || asksForPHY || asksForDataLength || asksForFeatures || exchangesMTU }
}
