import Cases
import Host
import Packets

/// How a device over the air is named: by its address, by a service that it advertises, or by its name.
public enum PeerSelector: Sendable, Hashable {
    /// Of any kind unless it says so.
    case address(UInt64, DeviceAddress.Kind?)
    case service(BluetoothUUID)
    case name(String)

    /// `C0:B1:BE:00:00:01`, with `/public` or `/random` if need be; a UUID as `180D` or in full; anything else is a name, and so is what follows `name:`.
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

    /// Whether a device that was heard is the one. A private address counts as the identity that it resolves to.
    func matches(_ sighting: Sighting) -> Bool {
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
    /// `C0:B1:BE:00:00:01`.
    var digits: String { octets.reversed().map { Hexadecimal.text([$0]) }.joined(separator: ":") }
}
