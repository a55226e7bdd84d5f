import BBCases
import BBHost
import BBPackets
import BBTiming

/// The device description for cases: features such as `device.readable` for `needs:` and `when:`, and lists such as `$device.readable` for
/// `each:`.
package struct DeviceFacts: Sendable {
    package let features: Set<String>
    package let record: CaseRecord
    private let services: Set<BluetoothUUID>

    private typealias Found = DeviceDescription.Characteristic
    private static let (read, commands, write, notify, indicate, signed) = (0x02, 0x04, 0x08, 0x10, 0x20, 0x40)
    /// Errors that pairing or a stronger key can resolve. Core Vol 3, Part F, 3.4.1.1.
    package static let protections: Set<UInt8> = [0x05, 0x08, 0x0C, 0x0F]

    /// The condition for the characteristics of each list.
    private static let lists: [String: @Sendable (Found) -> Bool] = [
        "characteristics": { _ in true },
        "readable": { $0.value != nil },
        "unreadable": { $0.properties & read == 0 },
        "protected": { ($0.protection ?? $0.error).map(protections.contains) ?? false },
        "writable": { $0.properties & write != 0 },
        "unwritable": { $0.properties & (write | commands | signed) == 0 && fitsARequest($0) },
        "rewritable": { $0.properties & write != 0 && fitsARequest($0) },
        "commandable": { $0.properties & commands != 0 },
        "notifying": { $0.properties & notify != 0 },
        "indicating": { $0.properties & indicate != 0 },
        "subscribable": { $0.properties & (notify | indicate) != 0 && $0.configuration?.value != nil },
        "channels": { $0.uuid == .l2capPSM && $0.value != nil },
        "long": { ($0.value?.count ?? 0) > 22 },
        "telling": { $0.properties & (notify | indicate) != 0 },
        "serviceChanged": { $0.uuid == .serviceChanged },
        "clientFeatures": { $0.uuid == .clientSupportedFeatures && $0.value != nil },
        "short": { $0.value.map { $0.count < 22 } ?? false },
    ]

    /// True if the value can be written back in one request, which does not change the device.
    private static func fitsARequest(_ found: Found) -> Bool { 1...18 ~= found.value?.count ?? 0 }

    private static let characteristicNames = [
        "uuid", "service", "declaration", "declared", "handle", "next", "end", "properties", "cccd", "configurations", "extended",
        "extensions", "subscription", "value", "length", "past", "psm",
    ]
    private static let otherLists: [String: [String]] = [
        "services": ["uuid", "start", "end", "after", "leastEnd", "octets", "extended", "declares"],
        "descriptors": ["uuid", "handle", "characteristic"],
        "descriptions": ["uuid", "handle", "characteristic"], "echoingChannels": ["psm", "needs"], "guardedChannels": ["psm", "needs"],
    ]
    private static let flags = [
        "response", "beyond", "period", "legacy", "reference", "bonds", "servicesChange",
        "servicesStay", "security", "readvertises", "asksMTU", "asksParameters",
        "keepsAddress", "dual", "pairs", "powerCycles",
    ]
    private static let scalars: [String: ValueShape] = [
        "address": .address, "type": .number(0...1), "mtu": .number(23...517), "data": .octets, "response": .octets,
        "beyond": .number(0...0xFFFF), "period": .number(0...Int.max), "last": .number(0...0xFFFF), "reordering": .any,
        "readvertisesWithin": .number(0...Int.max),
    ]

    /// The names available to case files before a device is known.
    package static let shape: Vocabulary.DeviceShape = {
        var parts = scalars
        for name in lists.keys { parts[name] = list(characteristicNames) }
        for name in DeclaredFacts.names { parts[name] = list(characteristicNames, DeclaredFacts.fields) }
        for (name, fields) in otherLists { parts[name] = list(fields) }
        let features = Set(lists.keys).union(DeclaredFacts.names).union(otherLists.keys).union(flags).union(Features.names)
        return Vocabulary.DeviceShape(features: features, variable: .record(parts))
    }()

    private static func list(_ names: [String], _ more: [String: ValueShape] = [:]) -> ValueShape {
        .list(.record(more.merging(names.map { ($0, .any) }) { first, _ in first }))
    }

    /// - Parameter powerCycles: true if a command of the user switches the device off and on.
    package init(_ description: DeviceDescription, powerCycles: Bool = false) {
        let services = description.services
        let all = services.flatMap { service in service.characteristics.map { (service, $0) } }.filter {
            $1.isDescribed && !description.isLeftOut($1.uuid)
        }
        var values: [(String, [CaseValue])] = Self.lists.map { name, belongs in
            (name, all.filter { belongs($1) }.map { .record(Self.record($1, in: $0)) })
        }
        values.append(("services", services.filter(\.isPrimary).map(Self.record)))
        values += DeclaredFacts(description.declares, all).lists
        let rows = all.flatMap { _, found in found.descriptors.map { ($0, found) } }
        values.append(("descriptors", rows.map { Self.record($0, of: $1) }))
        values.append(("descriptions", rows.filter { $0.0.uuid == .userDescription && $0.0.value != nil }.map { Self.record($0, of: $1) }))
        var features = Set(values.filter { !$0.1.isEmpty }.map { "device.\($0.0)" })
        features.formUnion(description.link.features.map { "device.\($0)" })
        let last = Int(services.map(\.end).max() ?? 0)
        // The end of the last service may be 0xFFFF, regardless of its attributes.
        let used = Int(all.map { _, found in max(found.handle, found.descriptors.map(\.handle).max() ?? 0) }.max() ?? 0)
        let beyond = last < 0xFFFF ? 0xFFFF : 0
        let held: [String: Bool] = [
            "response": !(description.advertising.response ?? []).isEmpty, "beyond": beyond > 0,
            "period": description.advertising.period != nil,
            "legacy": description.advertising.isLegacy, "reference": description.isReference,
            "bonds": description.declares.bonds ?? false, "powerCycles": powerCycles,
            "readvertises": Self.readvertises(description) != nil,
            "servicesChange": description.declares.servicesChange ?? false,
            "servicesStay": description.declares.servicesChange == false,
            "asksParameters": description.link.asks.contains("parameters"),
            "keepsAddress": description.device.address.kind == .public
                || description.device.address.value >> 46 == 0b11,
            "dual": description.advertising.claimsBothTransports,
            "security": description.link.asks.contains("security"),
            "asksMTU": description.link.asks.contains("mtu"), "pairs": description.pairing?.isDeclined == false,
        ]
        features.formUnion(held.filter(\.value).map { "device.\($0.key)" })
        self.features = features
        self.services = Set(services.map(\.uuid))
        let address = description.device.address
        record = CaseRecord(
            [
                ("address", .text(address.digits)), ("type", .number(Int(address.kind.rawValue))), ("mtu", .number(description.link.mtu)),
                ("data", .octets(description.advertising.data)), ("response", .octets(description.advertising.response ?? [])),
                ("beyond", .number(beyond)), ("last", .number(max(used, 1))),
                ("period", .number(Int(description.advertising.period?.rawValue ?? 0))), ("reordering", .text(description.reordering)),
                ("readvertisesWithin", .number(Int(Self.readvertises(description)?.rawValue ?? 0))),
            ] + values.map { ($0.0, .list($0.1)) })
    }

    package func offers(_ service: BluetoothUUID) -> Bool { services.contains(service) }

    /// Returns the declared time, or the survey's time-out for a device that was observed to advertise again.
    private static func readvertises(_ description: DeviceDescription) -> Microseconds? {
        description.declares.readvertisesWithin ?? description.link.readvertises.map { _ in Surveyor.timeout }
    }

    package static func record(_ found: DeviceDescription.Characteristic, in service: DeviceDescription.Service) -> CaseRecord {
        CaseRecord([
            ("uuid", .text(found.uuid.digits)), ("service", .text(service.uuid.digits)),
            ("declaration", .number(Int(found.declaration))),
            ("handle", .number(Int(found.handle))), ("next", .number(min(Int(found.handle) + 1, 0xFFFF))),
            ("declared", .octets(found.declared)), ("configurations", .number(found.count(of: .clientConfiguration))),
            ("extended", .number(found.properties >> 7 & 1)), ("extensions", .number(found.count(of: .extendedProperties))),
            ("end", .number(Int(found.end))), ("properties", .number(found.properties)),
            ("cccd", .number(Int(found.configuration?.handle ?? 0))),
            ("subscription", .octets([found.properties & notify != 0 ? 1 : 2, 0])), ("value", .octets(found.value ?? [])),
            ("length", .number(found.value?.count ?? 0)), ("past", .number((found.value?.count ?? 0) + 1)),
            ("psm", .number(found.value?.leadingNumber ?? 0)),
        ])
    }

    /// The first two octets of a service UUID and two others: no UUID has this length.
    private static func extended(_ octets: [UInt8]) -> [UInt8] { octets.prefix(2) + [0xA5, 0x5A] }

    private static func record(_ service: DeviceDescription.Service) -> CaseValue {
        .record(
            CaseRecord([
                ("uuid", .text(service.uuid.digits)), ("start", .number(Int(service.start))), ("end", .number(Int(service.end))),
                ("after", .number(min(Int(service.end) + 1, 0xFFFF))), ("leastEnd", .number(Int(service.leastEnd))),
                ("octets", .octets(service.uuid.octets)),
                ("extended", .octets(Self.extended(service.uuid.octets))), ("declares", .number(service.characteristics.count)),
            ]))
    }

    private static func record(_ row: DeviceDescription.Descriptor, of found: Found) -> CaseValue {
        .record(
            CaseRecord([
                ("uuid", .text(row.uuid.digits)), ("handle", .number(Int(row.handle))), ("characteristic", .number(Int(found.handle))),
            ]))
    }
}

extension BluetoothUUID {
    /// A characteristic with the PSM of a credit-based channel, least significant octet first, as phones use it.
    static let l2capPSM = BluetoothUUID(long: 0xABDD_3056_28FA_441D_A470_55A7_5A52_553A)
}

extension [UInt8] {
    /// The first two octets as a number, least significant octet first.
    fileprivate var leadingNumber: Int { prefix(2).reversed().reduce(0) { $0 << 8 | Int($1) } }
}

extension DeviceDescription.Service {
    /// The least handle that can be the end of the service: 0xFFFF stands for any handle from the last attribute on.
    var leastEnd: UInt16 {
        guard end == 0xFFFF else { return end }
        return characteristics.map { max($0.handle, $0.descriptors.map(\.handle).max() ?? 0) }.max() ?? start
    }
}

extension DeviceDescription.Characteristic {
    package func count(of uuid: BluetoothUUID) -> Int { descriptors.count { $0.uuid == uuid } }

    /// The value of the characteristic's declaration. Core Vol 3, Part G, 3.3.1.
    package var declared: [UInt8] {
        [UInt8(truncatingIfNeeded: properties), UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
            + (uuid.octetCount == 4 ? uuid.long.octets : uuid.octets)
    }

    /// The Client Characteristic Configuration. Core Vol 3, Part G, 3.3.3.3.
    package var configuration: DeviceDescription.Descriptor? { descriptors.first { $0.uuid == .clientConfiguration } }
}
