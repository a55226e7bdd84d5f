import BBHost
import BBPackets
import Foundation

/// Attributes of one device that a phone has discovered.
struct AttributeCache {
    var services: [RemoteService] = []
    /// All primary services are known.
    var isComplete = false
    /// Services that were searched by UUID.
    var searched: Set<BluetoothUUID> = []
    /// By the first handle of the service.
    var characteristics: [UInt16: [RemoteCharacteristic]] = [:]
    var included: [UInt16: [RemoteService]] = [:]
    /// By value handle.
    var descriptors: [UInt16: [RemoteDescriptor]] = [:]
    /// The last value of each handle, with which a characteristic begins when it is discovered again.
    var values: [UInt16: [UInt8]] = [:]
    /// Core Vol 3, Part G, 7.3.
    var hash: [UInt8]?
    /// The Generic Attribute service was searched.
    var knowsGeneric = false
    /// The server has the subscription of this phone to Service Changed.
    var isSubscribed = false

    func generic(_ uuid: BluetoothUUID) -> RemoteCharacteristic? {
        services.lazy.filter { $0.uuid == .genericAttribute }.compactMap { characteristics[$0.handle] }.joined().first { $0.uuid == uuid }
    }

    var hasServiceChanged: Bool { generic(.serviceChanged) != nil }

    /// The services with one of the UUIDs, all for none; nil if they are not known.
    func known(_ wanted: [BluetoothUUID]) -> [RemoteService]? {
        guard isComplete || (!wanted.isEmpty && searched.isSuperset(of: wanted)) else { return nil }
        return services.filter { wanted.isEmpty || wanted.contains($0.uuid) }
    }

    mutating func learn(_ found: [RemoteService]) {
        for service in found where !services.contains(where: { $0.handle == service.handle }) { services.append(service) }
        services.sort { $0.handle < $1.handle }
    }

    /// Attributes in a range of handles have changed.
    ///
    /// - Returns: the ranges of the services that are no longer known.
    mutating func invalidate(_ range: ClosedRange<UInt16>) -> [ClosedRange<UInt16>] {
        let invalid = services.filter { $0.range.overlaps(range) }
        for service in invalid {
            for characteristic in characteristics[service.handle] ?? [] {
                descriptors[characteristic.value] = nil
                values[characteristic.value] = nil
            }
            characteristics[service.handle] = nil
        }
        included = [:]
        services.removeAll { service in invalid.contains { $0.handle == service.handle } }
        isComplete = false
        searched = []
        hash = nil
        if invalid.contains(where: { $0.uuid == .genericAttribute }) {
            knowsGeneric = false
            isSubscribed = false
        }
        return invalid.map(\.range)
    }
}

extension RemoteService {
    fileprivate var range: ClosedRange<UInt16> { handle...max(handle, endHandle) }
}

/// The attributes that a phone keeps after a connection: those of a device without Service Changed, and of a bonded device with it. A device
/// with Service Changed and without a bond could not report a change between two connections. Core Vol 3, Part G, 2.5.2.
struct AttributeCaches {
    private var caches: [UUID: AttributeCache] = [:]
    private var order: [UUID] = []
    private static let most = 64

    /// The attributes at the begin of a connection.
    func cache(of identifier: UUID, isBonded: Bool) -> AttributeCache {
        guard let kept = caches[identifier], isBonded || !kept.hasServiceChanged else { return AttributeCache() }
        return kept
    }

    mutating func keep(_ cache: AttributeCache, of identifier: UUID) {
        caches[identifier] = cache
        order.removeAll { $0 == identifier }
        order.append(identifier)
        if order.count > Self.most { caches[order.removeFirst()] = nil }
    }

    mutating func forget(_ identifier: UUID) {
        caches[identifier] = nil
        order.removeAll { $0 == identifier }
    }
}
