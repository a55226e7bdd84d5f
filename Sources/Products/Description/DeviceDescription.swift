import BBCases
import BBHost
import BBPackets
import BBTiming

/// The description of a device over the air: facts found by a survey, declarations of its maker, and exclusions. It determines the
/// applicable cases and provides their handles and values.
public struct DeviceDescription: Sendable, Hashable {
    public var device = Device()
    public var advertising = Advertising()
    public var link = Link()
    /// Result of the pairing attempt; nil if the survey made none.
    public var pairing: Pairing?
    public var services: [Service] = []
    public var declares = Declares()
    public var leaveOut: [LeftOut] = []
    /// The facts that the survey could not determine, with reasons.
    public var remarks: [String] = []
    /// The first part of the discovery in which a PDU of the device was malformed, with the error; nil if none was.
    var malformed: String?

    public init() {}

    public struct Device: Sendable, Hashable {
        /// The name in advertising, or that of the GAP service.
        public var name: String?
        public var address = DeviceAddress(value: 0)
    }

    public struct Advertising: Sendable, Hashable {
        public var isConnectable = true
        public var isLegacy = true
        public var data: [UInt8] = []
        /// Scan response data; nil if none was received.
        public var response: [UInt8]?
        /// The time between two events, including the delay of 0 to 10 ms; nil if too few were received.
        public var period: Microseconds?
        /// True if its Flags do not report that BR/EDR is unsupported. Supplement, Part A, 1.3.
        var claimsBothTransports: Bool {
            let flags = [data, response ?? []].lazy.compactMap { AdvertisingData(octets: $0).flags }.first
            return flags.map { !$0.contains(.brEDRNotSupported) } ?? false
        }
    }

    public struct Link: Sendable, Hashable {
        /// The features by their names in the specification.
        public var features: [String] = []
        /// The controller's Core version as numbered in HCI, and its company identifier.
        public var version: Int?
        public var company: Int?
        /// The ATT_MTU after the MTU exchange.
        public var mtu = 23
        /// The PHYs that the link could use: `1M`, `2M`, `Coded`.
        public var phys = ["1M"]
        /// The number of octets in an LL data PDU from the device.
        public var dataLength = 27
        /// The procedures that the device starts on a new connection.
        public var asks: [String] = []
        /// The time until it advertised again after the connection; nil if it did not within the survey's time-out.
        public var readvertises: Microseconds?
    }

    /// The answer to a Pairing Request. Core Vol 3, Part H, 3.5.2.
    public struct Pairing: Sendable, Hashable {
        /// True if the device has declined to pair.
        public var isDeclined = false
        /// The IO capability by its name; nil if there was no Pairing_Response.
        public var io: String?
        /// The names of the bits of AuthReq.
        public var requirements: [String] = []
        public var keySize: Int?
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
        /// The last handle that may belong to one of its descriptors.
        public var end: UInt16
        /// Characteristic Properties. Core Vol 3, Part G, 3.3.1.1.
        public var properties: Int
        /// The value that was read; nil if reading was refused or not tried.
        public var value: [UInt8]?
        /// The error with which reading was refused.
        public var error: UInt8?
        /// The error with which reading was refused before pairing.
        public var protection: UInt8?
        public var descriptors: [Descriptor] = []
        /// True if a stored description contains it, or there is no stored description.
        var isDescribed = true
    }

    public struct Descriptor: Sendable, Hashable {
        public var uuid: BluetoothUUID
        public var handle: UInt16
        public var value: [UInt8]?
        public var error: UInt8?
    }

    /// Declarations that only the maker can give; a survey leaves them empty.
    public struct Declares: Sendable, Hashable {
        /// True if the services may change during the product's lifetime.
        public var servicesChange: Bool?
        /// True if the device stores bonds.
        public var bonds: Bool?
        /// The time in which it advertises again after a connection.
        public var readvertisesWithin: Microseconds?
        public var protects: [Protected] = []
        public var sends: [Sender] = []
        /// Nil if no write changes the services.
        public var changes: ServiceChange?
        public var channels: [Channel] = []
    }

    /// A characteristic whose value needs protection.
    public struct Protected: Sendable, Hashable {
        public var characteristic: BluetoothUUID
        public var needs = Need.encryption
        /// A value that may be written to show that writing without the protection is refused; nil if nothing is to be written.
        public var value: [UInt8]?
        /// The accesses that need it.
        public var access = Access.allCases

        public enum Need: String, Sendable, Hashable, CaseIterable { case encryption, authentication, longKey }
        public enum Access: String, Sendable, Hashable, CaseIterable { case read, write, subscribe }
    }

    /// A characteristic that notifies or indicates a client which has subscribed.
    public struct Sender: Sendable, Hashable {
        public var characteristic: BluetoothUUID
        /// The time until the first value, from the subscription or the stimulus.
        public var within: Microseconds
        /// A write that makes it send.
        public var stimulus: Stimulus?
    }

    public struct Stimulus: Sendable, Hashable {
        public var characteristic: BluetoothUUID
        public var value: [UInt8]
    }

    /// A write after which the device has other services, and the one after which it has the same as before.
    public struct ServiceChange: Sendable, Hashable {
        public var characteristic: BluetoothUUID
        public var value: [UInt8]
        public var undo: [UInt8]
    }

    /// A service of credit-based channels.
    public struct Channel: Sendable, Hashable {
        /// The SPSM, 0x01...0xFF. Core Vol 3, Part A, 4.22.
        public var psm: UInt16
        /// True if each SDU is returned as it came, in its order.
        public var echoes = false
        /// The security that the channel needs; nil if it opens on an unencrypted link.
        public var needs: Protected.Need?
    }

    /// An excluded case, suite or characteristic.
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
    /// Returns the reason why a case is excluded; nil if it is not.
    package func reason(toLeaveOut id: String) -> String? {
        leaveOut.first { entry in if case .cases(let pattern) = entry.what { CaseFilter.matches(id, pattern) } else { false } }?.because
    }

    /// The first attribute that is outside its service, or not between its declaration and the next; empty if there is none. Core Vol 3,
    /// Part G, 3.
    package var reordering: String {
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

    /// A one-line description.
    public var line: String {
        let name = device.name.map { "'\(PlainText.escaped($0))' " } ?? ""
        let count = services.reduce(0) { $0 + $1.characteristics.count }
        return "\(name)\(device.address.digits), \(services.count) services with \(count) characteristics, ATT_MTU \(link.mtu), "
            + link.phys.joined(separator: " ")
    }

    package func isLeftOut(_ uuid: BluetoothUUID) -> Bool { leaveOut.contains { $0.what == .characteristic(uuid) } }

    /// True if the device offers the profile of docs/guide/accessory.md.
    package var isReference: Bool { services.contains { $0.uuid == ReferenceAccessory.uuid(0) } }

    /// The names of the properties by bit. Core Vol 3, Part G, 3.3.1.1.
    package static let propertyNames = [
        "broadcast", "read", "write_without_response", "write", "notify", "indicate", "authenticated_signed_writes", "extended_properties",
    ]
}
