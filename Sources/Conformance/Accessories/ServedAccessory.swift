import Cases
import Host
import Packets
import Timing

/// The accessories of our own that testers, phones and other stacks can meet.
public enum AccessoryKind: String, Sendable, Hashable, CaseIterable {
    /// That of docs/guide/accessory.md.
    case reference
    case heartRate = "heart-rate"
    case keyboard
    case thermometer
    /// A service of its own with one characteristic to write to and one that tells.
    case serial

    /// The name that it advertises.
    public var name: String {
        switch self {
        case .reference: TestCase.referenceName
        case .heartRate: "Bluebench Heart Rate"
        case .keyboard: "Bluebench Keyboard"
        case .thermometer: "Bluebench Thermometer"
        case .serial: "Bluebench Serial"
        }
    }

    /// The category by which phones choose a picture. Assigned Numbers, 2.6.
    var appearance: UInt16 {
        switch self {
        case .reference: 0
        case .heartRate: 0x0341
        case .keyboard: 0x03C1
        case .thermometer: 0x0300
        case .serial: 0x0080
        }
    }
}

/// An accessory that a host of ours serves.
protocol Accessory: AnyObject {
    /// Publishes its services and advertises from now on, again after each connection.
    func start() async
    func stop() async
}

/// One of our accessories on a host, for programs that are not cases.
public final class ServedAccessory {
    private let accessory: any Accessory

    /// - Parameter host: a host that has started, with a database of its own for this accessory: `AccessoryKind.database`.
    public init(_ kind: AccessoryKind, on host: Host) { accessory = kind.make(host, conduct: AccessoryConduct([])) }

    public func start() async { await accessory.start() }
    public func stop() async { await accessory.stop() }
}

extension AccessoryKind {
    /// The attributes that every accessory of the kind begins with.
    public var database: GATTDatabase { GATTDatabase(deviceName: name, appearance: appearance) }

    func make(_ host: Host, conduct: AccessoryConduct) -> any Accessory {
        switch self {
        case .reference: ReferenceAccessory(host, loop: host.loop, conduct: conduct)
        case .heartRate: ModelledAccessory(host, .heartRate, conduct: conduct)
        case .keyboard: ModelledAccessory(host, .keyboard, conduct: conduct)
        case .thermometer: ModelledAccessory(host, .thermometer, conduct: conduct)
        case .serial: ModelledAccessory(host, .serial, conduct: conduct)
        }
    }
}
