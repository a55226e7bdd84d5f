import BBCases
import BBHost
import BBPackets

/// The selector of a device over the air: by address, advertised service or name.
public enum PeerSelector: Sendable, Hashable {
    /// An address of the given kind, or of any kind.
    case address(UInt64, DeviceAddress.Kind?)
    case service(BluetoothUUID)
    case name(String)

    /// Reads `C0:B1:BE:00:00:01` with optional `/public` or `/random`, or a UUID such as `180D` or in full; any other text, or text after
    /// `name:`, is a name.
    public init(_ text: String) {
        if text.hasPrefix("name:") {
            self = .name(String(text.dropFirst("name:".count)))
        } else if let address = Self.address(text) {
            self = address
        } else if let uuid = BluetoothUUID(text) {
            self = .service(uuid)
        } else {
            self = .name(text)
        }
    }

    private static func address(_ text: String) -> PeerSelector? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let kinds: [String: DeviceAddress.Kind] = ["public": .public, "random": .random]
        guard parts.count <= 2, parts[0].contains(":"), let value = CaseValue.text(parts[0]).asAddress else { return nil }
        guard parts.count == 2 else { return .address(value, nil) }
        return kinds[parts[1]].map { .address(value, $0) }
    }

    /// Returns true if a device matches. A private address is resolved to its identity.
    package func matches(_ sighting: Sighting) -> Bool {
        switch self {
        case .address(let value, let kind):
            [sighting.address, sighting.identity].contains { address in
                address.map { $0.value == value && (kind == nil || $0.kind == kind) } ?? false
            }
        case .service(let uuid): sighting.data.contains { $0.serviceUUIDs.contains(uuid) }
        case .name(let name): sighting.data.contains { $0.localName == name }
        }
    }
}

extension PeerSelector: CustomStringConvertible {
    public var description: String {
        switch self {
        case .address(let value, let kind):
            DeviceAddress(value: value).digits + (kind.map { $0 == .public ? "/public" : "/random" } ?? "")
        case .service(let uuid): "a device with the service \(uuid)"
        case .name(let name): "'\(name)'"
        }
    }
}

extension DeviceAddress {
    /// The address, such as `C0:B1:BE:00:00:01`.
    package var digits: String { octets.reversed().map { Hexadecimal.text([$0]) }.joined(separator: ":") }
}
