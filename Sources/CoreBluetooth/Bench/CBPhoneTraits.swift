import BBHost
import BBPackets
import Foundation

/// Properties of a simulated phone or accessory that its programs cannot choose.
public struct CBPhoneTraits: Sendable {
    /// Seconds for which a private address is used, 1...3600; nil to use the identity address.
    public var privateAddressLifetime: TimeInterval?
    /// Keeps keys after a pairing.
    public var bonds = true
    /// Reports changes of its services: the Service Changed characteristic and the Database Hash. Core Vol 3, Part G, 7.1 and 7.3.
    public var reportsChanges = true
    /// Offers what an iPhone offers to accessories: ANCS, Current Time, Battery and Device Information.
    public var servesSystemServices = false
    /// The largest MTU that the phone offers, 23...517; nil for that of its persona.
    public var mtu: Int?
    /// The phone that this one behaves like towards accessories; nil for the module's own values.
    public var persona: CBPhonePersona?
    /// Octets of a data packet, 27...251; 27 is a device without the data length extension. Core Vol 6, Part B, 4.5.10.
    public var packetOctets = 251
    /// Has BR/EDR besides LE, under a public address.
    public var isDualMode = false

    public init() {}

    func database(_ name: String) -> GATTDatabase {
        guard !reportsChanges else { return GATTDatabase(deviceName: name) }
        let database = GATTDatabase()
        let definition = CharacteristicDefinition(.deviceName, properties: .read, value: [UInt8](name.utf8))
        database.add(ServiceDefinition(.genericAccess, characteristics: [definition]))
        database.add(ServiceDefinition(.genericAttribute, characteristics: []))
        return database
    }

    func apply(to host: PhoneHost) async throws {
        guard let privateAddressLifetime else { return }
        var settings = PrivacySettings()
        settings.lifetime = .seconds(min(max(privateAddressLifetime, 1), 3_600))
        try await host.enablePrivacy(settings)
    }
}
