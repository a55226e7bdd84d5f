import Cases
import Host
import Packets
import Timing

/// What a device over the air is: facts that a survey has found, what its maker declares, and what is to be left out. It decides which cases are
/// applicable, and gives them handles and values.
public struct DeviceDescription: Sendable, Hashable {
    public var device = Device()
    public var advertising = Advertising()
    public var link = Link()
    public var services: [Service] = []
    public var declares = Declares()
    public var leaveOut: [LeftOut] = []
    /// What the survey could not find out, and why.
    public var remarks: [String] = []

    public init() {}

    public struct Device: Sendable, Hashable {
        /// From advertising, else of the GAP service.
        public var name: String?
        public var address = DeviceAddress(value: 0)
    }

    public struct Advertising: Sendable, Hashable {
        public var isConnectable = true
        public var isLegacy = true
        public var data: [UInt8] = []
        /// Nil if no scan response came.
        public var response: [UInt8]?
        /// Between two events, the delay of 0 to 10 ms included; nil if too few were heard.
        public var period: Microseconds?
        /// Its Flags do not say that BR/EDR is not supported. Supplement, Part A, 1.3.
        var claimsBothTransports: Bool {
            let flags = [data, response ?? []].lazy.compactMap { AdvertisingData(octets: $0).flags }.first
            return flags.map { !$0.contains(.brEDRNotSupported) } ?? false
        }
    }

    public struct Link: Sendable, Hashable {
        /// By their names in the specification.
        public var features: [String] = []
        /// Core version of the controller as HCI numbers it, and its company.
        public var version: Int?
        public var company: Int?
        /// ATT_MTU after both sides have offered what they can.
        public var mtu = 23
        /// PHYs that the link could be brought to: `1M`, `2M`, `Coded`.
        public var phys = ["1M"]
        /// LL data PDU octets from the device.
        public var dataLength = 27
        /// What the device asks for by itself on a new connection.
        public var asks: [String] = []
        /// How long it took to advertise again after the connection; nil if it did not within the survey's timeout.
        public var readvertises: Microseconds?
    }

    public struct Service: Sendable, Hashable {
        public var uuid: BluetoothUUID
        public var start: UInt16
        public var end: UInt16
        public var isPrimary = true
        public var characteristics: [Characteristic] = []
    }

    public struct Characteristic: Sendable, Hashable {
        public var uuid: BluetoothUUID
        public var declaration: UInt16
        public var handle: UInt16
        /// The last handle that may hold one of its descriptors.
        public var end: UInt16
        /// Characteristic Properties. Core Vol 3, Part G, 3.3.1.1.
        public var properties: Int
        /// What reading gave: nil if it was not tried or was refused.
        public var value: [UInt8]?
        /// How reading was refused.
        public var error: UInt8?
        public var descriptors: [Descriptor] = []
        /// A stored description has it, or there is none.
        var isDescribed = true
    }

    public struct Descriptor: Sendable, Hashable {
        public var uuid: BluetoothUUID
        public var handle: UInt16
        public var value: [UInt8]?
        public var error: UInt8?
    }

    /// What only the maker knows; a survey leaves it open.
    public struct Declares: Sendable, Hashable {
        /// Services can change in the product's life.
        public var servicesChange: Bool?
        /// The device keeps bonds.
        public var bonds: Bool?
        /// Seconds within which it advertises again after a connection.
        public var readvertisesWithin: Microseconds?
    }

    /// A case, a suite or a characteristic that is not touched.
    public struct LeftOut: Sendable, Hashable {
        public var what: What
        public var because: String

        public enum What: Sendable, Hashable {
            /// An id, a suite, or a pattern with `*`.
            case cases(String)
            case characteristic(BluetoothUUID)
        }
    }
}

extension DeviceDescription {
    /// Why a case is left out; nil if it is not.
    func reason(toLeaveOut id: String) -> String? {
        leaveOut.first { entry in if case .cases(let pattern) = entry.what { CaseFilter.matches(id, pattern) } else { false } }?.because
    }

    /// What does not lie in its service, after its declaration or before the next; empty if everything does. Core Vol 3, Part G, 3.
    var reordering: String {
        for (service, next) in zip(services, services.dropFirst()) where next.start <= service.end {
            return "\(next.uuid) begins at \(next.start), before \(service.uuid) ends at \(service.end)"
        }
        for service in services {
            for found in service.characteristics {
                let handles = [found.handle] + found.descriptors.map(\.handle)
                guard found.declaration > service.start, found.handle > found.declaration, handles.allSatisfy({ $0 <= found.end }),
                    found.end <= service.end
                else { return "\(found.uuid) at \(found.handle) does not lie between its declaration and the end of its service" }
            }
        }
        return ""
    }

    /// In one line, for people.
    public var line: String {
        let name = device.name.map { "'\(PlainText.escaped($0))' " } ?? ""
        let count = services.reduce(0) { $0 + $1.characteristics.count }
        return "\(name)\(device.address.digits), \(services.count) services with \(count) characteristics, ATT_MTU \(link.mtu), "
            + link.phys.joined(separator: " ")
    }

    func isLeftOut(_ uuid: BluetoothUUID) -> Bool { leaveOut.contains { $0.what == .characteristic(uuid) } }

    /// Whether it offers the profile of docs/guide/accessory.md.
    var isReference: Bool { services.contains { $0.uuid == ReferenceAccessory.uuid(0) } }

    /// Names of the properties, by their bits. Core Vol 3, Part G, 3.3.1.1.
    static let propertyNames = [
        "broadcast", "read", "write_without_response", "write", "notify", "indicate", "authenticated_signed_writes", "extended_properties",
    ]
}
