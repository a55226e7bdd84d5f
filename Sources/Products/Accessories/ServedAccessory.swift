import BBCases
import BBHost
import BBPackets
import BBTiming

/// The kinds of the bench's own accessories.
public enum AccessoryKind: String, Sendable, Hashable, CaseIterable {
    /// The accessory of docs/guide/accessory.md.
    case reference
    case heartRate = "heart-rate"
    case keyboard
    case thermometer
    /// A custom service with one characteristic for writing and one for notifications.
    case serial

    /// The advertised name.
    public var name: String {
        switch self {
        case .reference: TestCase.referenceName
        case .heartRate: "Bluebench Heart Rate"
        case .keyboard: "Bluebench Keyboard"
        case .thermometer: "Bluebench Thermometer"
        case .serial: "Bluebench Serial"
        }
    }

    /// The category that phones display. Assigned Numbers, 2.6.
    package var appearance: UInt16 {
        switch self {
        case .reference: 0
        case .heartRate: 0x0341
        case .keyboard: 0x03C1
        case .thermometer: 0x0300
        case .serial: 0x0080
        }
    }
}

/// An accessory that runs on the bench's host.
package protocol Accessory: AnyObject {
    /// Publishes the services and starts advertising, which continues after each connection.
    func start() async
    func stop() async
}

/// An accessory on a host, for programs other than cases.
public final class ServedAccessory {
    private let accessory: any Accessory

    /// - Parameter host: a started host with its own database for this accessory: `AccessoryKind.database`.
    public init(_ kind: AccessoryKind, on host: Host) { accessory = kind.make(host, conduct: AccessoryConduct([])) }

    /// Plays a device by its description.
    ///
    /// - Parameters:
    ///   - host: a started host whose database is `description.database`.
    ///   - quirks: the defects of the device's host; nil for none.
    public init(_ description: DeviceDescription, quirks: HostQuirks? = nil, on host: Host) {
        if let quirks { host.quirks = quirks }
        accessory = ModelledAccessory(host, AccessoryModel(description), conduct: AccessoryConduct([]))
    }

    /// The time before each response to a read or write of a described value.
    public var responseDelay: Microseconds {
        get { (accessory as? ModelledAccessory)?.responseDelay ?? .zero }
        set { (accessory as? ModelledAccessory)?.responseDelay = newValue }
    }

    public func start() async { await accessory.start() }
    public func stop() async { await accessory.stop() }
}

extension AccessoryKind {
    /// The attributes with which every accessory of the kind starts.
    public var database: GATTDatabase { database() }

    /// - Parameter hasEnhancedBearers: support Enhanced ATT bearers. Core Vol 3, Part G, 7.4.
    public func database(hasEnhancedBearers: Bool = false) -> GATTDatabase {
        GATTDatabase(deviceName: name, appearance: appearance, hasEnhancedBearers: hasEnhancedBearers)
    }

    package func make(_ host: Host, conduct: AccessoryConduct) -> any Accessory {
        switch self {
        case .reference: ReferenceAccessory(host, loop: host.loop, conduct: conduct)
        case .heartRate: ModelledAccessory(host, .heartRate, conduct: conduct)
        case .keyboard: ModelledAccessory(host, .keyboard, conduct: conduct)
        case .thermometer: ModelledAccessory(host, .thermometer, conduct: conduct)
        case .serial: ModelledAccessory(host, .serial, conduct: conduct)
        }
    }
}
