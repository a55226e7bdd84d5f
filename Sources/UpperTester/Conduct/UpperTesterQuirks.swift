import BBHost
import BBMisbehaviour
import BBPackets
import BBTiming

/// Deviations of an upper tester, and of the application above its host. The table says which of them are legal.
public struct UpperTesterQuirks: Sendable {
    /// Rules that change responses and events.
    public var rewrites = PacketRules()
    /// Rules that change commands before they are performed.
    public var commandRewrites = PacketRules()
    // The protocol
    /// Delay of each response; events meanwhile come before it.
    public var answerDelay = Microseconds.zero
    /// Delay of each event; responses meanwhile come before it.
    public var eventDelay = Microseconds.zero
    /// The number of octets of a message in one write; 0 for all.
    public var pieceLength = 0
    /// The time for which messages are collected into one write.
    public var collectionTime = Microseconds.zero
    /// Does not report that it is ready.
    public var startsSilently = false
    /// The commands that it does not have.
    public var lacks: Set<CommandGroup> = []
    // The application
    /// The ATT_MTU that the host offers.
    public var offeredMTU: Int?
    /// Reports no value on a connection on which the tester has not subscribed.
    public var withholdsUnsubscribed = false
    /// Services of the host before those of the tester.
    public var servicesBefore = 0
    /// Procedures that the host starts on each new connection.
    public var exchangesMTU = false
    public var asksForParameters = false
    public var asksForSecurity = false
    /// Advertises under a non-resolvable private address while it is not connectable.
    public var broadcastsPrivately = false
    /// Sends no advertising events while it is neither connectable nor discoverable.
    public var hidesSilently = false
    /// Advertises with extended events, which have all data in the advertising data.
    public var advertisesExtended = false
    /// The advertising interval in ms.
    public var advertisingInterval: UInt32?
    /// Has Peripheral Preferred Connection Parameters, which it shows on an encrypted link only.
    public var protectsParameters = false
    /// Advertises under a non-resolvable private address without ever changing it.
    public var keepsPrivateAddress = false
    /// Directs advertising to a private address of a peer that is not known to resolve addresses.
    public var directsUnresolved = false
    /// Does not end limited discoverable mode over BR/EDR.
    public var staysDiscoverable = false
    /// Octets of zeros after the structures that it encrypts in advertising data.
    public var paddingLength = 0
    // Pairing
    /// The IO capability, which the tester then cannot change.
    public var ioCapability: IOCapability?
    public var lacksSecureConnections = false
    public var doesNotBond = false
    public var doesNotPair = false
    /// Accepts authenticated pairing only.
    public var insistsOnMITM = false
    public var mostKeySize = 16
    /// The minimum key size, which the tester then cannot change.
    public var leastKeySize = 7
    /// Secure Connections Only mode, which the tester then cannot end.
    public var isSecureConnectionsOnly = false
    /// A dual-mode host does not set CT2.
    public var omitsCT2 = false
    /// The keys that the host distributes; it asks for none of the peer's then. 0 for the usual ones.
    public var ownKeys = 0

    public init() {}

    var padding: [UInt8] { [UInt8](repeating: 0, count: paddingLength) }

    /// A non-resolvable private address. Core Vol 6, Part B, 1.3.2.2.
    static let broadcastAddress = DeviceAddress(value: 0x3F4E_5D6C_7B8A, kind: .random)

    /// Commands that belong together; an upper tester may have any of them.
    public enum CommandGroup: String, Sendable, Hashable, CaseIterable {
        case advertising
        case discovery
        case connecting
        case pairingSettings = "pairing-settings"
        case gattServer = "GATT-server"
        case gattClient = "GATT-client"
        case l2cap = "L2CAP"

        var commands: [String] {
            switch self {
            case .advertising: [BTPCommands.GAPStartAdvertising.name, BTPCommands.GAPStopAdvertising.name]
            case .discovery: [BTPCommands.GAPStartDiscovery.name, BTPCommands.GAPStopDiscovery.name]
            case .connecting: [BTPCommands.GAPConnect.name, BTPCommands.GAPDisconnect.name, BTPCommands.GAPConnectionParameterUpdate.name]
            case .pairingSettings:
                UpperTesterQuirks.ioCommands + UpperTesterQuirks.secureConnectionsCommands
                    + [BTPCommands.GAPSetBondable.name, BTPCommands.GAPSetMinimumKeySize.name]
            case .gattServer:
                [
                    BTPCommands.GATTAddService.name, BTPCommands.GATTAddIncludedService.name, BTPCommands.GATTAddCharacteristic.name,
                    BTPCommands.GATTAddDescriptor.name, BTPCommands.GATTSetValue.name, BTPCommands.GATTStartServer.name,
                    BTPCommands.GATTResetServer.name, BTPCommands.GATTSetRequiredKeySize.name,
                ]
            case .gattClient:
                PDUCatalog.all.filter {
                    $0.layer == .btpCommands && ((0x020A...0x021B).contains($0.code) || $0.code >> 8 == 6)
                }.map(\.name)
            case .l2cap: PDUCatalog.all.filter { $0.layer == .btpCommands && $0.code >> 8 == 3 }.map(\.name)
            }
        }
    }

    private static let ioCommands = [BTPCommands.GAPSetIOCapability.name, BTPCommands.GAPSetMITM.name]
    private static let secureConnectionsCommands = [
        BTPCommands.GAPSetSecureConnections.name, BTPCommands.GAPSetSecureConnectionsOnly.name,
    ]

    /// The names of the missing commands.
    var missingCommands: Set<String> {
        var names = Set(lacks.flatMap(\.commands))
        if ioCapability != nil { names.formUnion(Self.ioCommands) }
        if lacksSecureConnections || isSecureConnectionsOnly { names.formUnion(Self.secureConnectionsCommands) }
        if leastKeySize > 7 { names.insert(BTPCommands.GAPSetMinimumKeySize.name) }
        if doesNotBond { names.insert(BTPCommands.GAPSetBondable.name) }
        if doesNotPair { names.formUnion(CommandGroup.pairingSettings.commands + [BTPCommands.GAPPair.name]) }
        return names
    }

    /// Returns settings with at least the security level that the host insists on.
    func insisting(_ settings: PairingSettings) -> PairingSettings {
        var settings = settings
        // Not where it has no IO capabilities for that. Core Vol 3, Part C, 10.3.1.
        guard settings.ioCapability != .noInputNoOutput else { return settings }
        if insistsOnMITM { settings.minimumLevel = max(settings.minimumLevel, .authenticated) }
        if isSecureConnectionsOnly { settings.asksForMITM = true }
        return settings
    }

    /// Returns the pairing settings before a tester changes them.
    func apply(to settings: PairingSettings) -> PairingSettings {
        var settings = settings
        if let ioCapability {
            settings.ioCapability = ioCapability
            settings.asksForMITM = ioCapability != .noInputNoOutput
        }
        if lacksSecureConnections { settings.supportsSecureConnections = false }
        if doesNotBond { settings.isBonding = false }
        settings.maximumKeySize = mostKeySize
        settings.minimumKeySize = leastKeySize
        if omitsCT2 { settings.supportsH7 = false }
        if isSecureConnectionsOnly {
            settings.requiresSecureConnections = true
            settings.isSecureConnectionsOnly = settings.ioCapability != .noInputNoOutput
        }
        if ownKeys > 0 { (settings.localKeys, settings.peerKeys) = (KeyDistribution(rawValue: UInt8(clamping: ownKeys)), []) }
        return insisting(settings)
    }
}
