import BBPackets

/// Advertising data, scan response data or an inquiry response: a list of AD structures. Core Vol 3, Part C, 11; Supplement, Part A.
public struct AdvertisingData: Sendable, Hashable {
    public var elements: [AdvertisingElement]

    public init(_ elements: [AdvertisingElement] = []) {
        self.elements = elements
    }

    /// Parses data of a peer. A structure whose length exceeds the data becomes `.malformed`; a zero length ends the data early.
    public init(octets: [UInt8]) {
        elements = []
        var position = 0
        while position < octets.count {
            let length = Int(octets[position])
            if length == 0 { break }
            guard position + length < octets.count else {
                elements.append(.malformed([UInt8](octets[position...])))
                break
            }
            elements.append(AdvertisingElement(type: octets[position + 1], data: octets[(position + 2)..<(position + 1 + length)]))
            position += 1 + length
        }
    }

    /// The encoded structures. Data beyond the 254 octets of a structure is truncated.
    public var octets: [UInt8] { elements.flatMap(\.octets) }

    /// The first octet of the flags; later octets are reserved. Supplement, Part A, 1.3.1.
    public var flags: AdvertisingFlags? {
        for case .flags(let flags) in elements { return flags }
        for case .other(ADType.flags, let octets) in elements { return AdvertisingFlags(rawValue: octets.first ?? 0) }
        return nil
    }

    /// The complete local name, otherwise the shortened one.
    public var localName: String? {
        for case .completeLocalName(let name) in elements { return name }
        for case .shortenedLocalName(let name) in elements { return name }
        return nil
    }

    /// All service UUIDs, of any length, from complete and incomplete lists.
    public var serviceUUIDs: [BluetoothUUID] {
        var found: [BluetoothUUID] = []
        for case .serviceUUIDs(let uuids, _, _) in elements { found += uuids }
        return found
    }

    public func manufacturerData(company: UInt16) -> [UInt8]? {
        for case .manufacturerData(company, let data) in elements { return data }
        return nil
    }

    public func serviceData(_ uuid: BluetoothUUID) -> [UInt8]? {
        for case .serviceData(uuid, let data) in elements { return data }
        return nil
    }
}

/// Flags of advertising data. Supplement, Part A, 1.3.
public struct AdvertisingFlags: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let limitedDiscoverable = AdvertisingFlags(rawValue: 1 << 0)
    public static let generalDiscoverable = AdvertisingFlags(rawValue: 1 << 1)
    public static let brEDRNotSupported = AdvertisingFlags(rawValue: 1 << 2)
    public static let simultaneousController = AdvertisingFlags(rawValue: 1 << 3)
}

/// One AD structure. Supplement, Part A, 1.
public enum AdvertisingElement: Sendable, Hashable {
    case flags(AdvertisingFlags)
    /// UUIDs of 2, 4 or 16 octets, as given by `width`.
    case serviceUUIDs([BluetoothUUID], width: Int, complete: Bool)
    case solicitedUUIDs([BluetoothUUID], width: Int)
    case shortenedLocalName(String)
    case completeLocalName(String)
    /// dBm.
    case txPowerLevel(Int8)
    /// N x 1.25 ms; 0xFFFF: no value.
    case peripheralIntervalRange(minimum: UInt16, maximum: UInt16)
    case serviceData(BluetoothUUID, [UInt8])
    case appearance(UInt16)
    /// N x 0.625 ms.
    case advertisingInterval(UInt32)
    case leRole(UInt8)
    case uri([UInt8])
    case manufacturerData(company: UInt16, [UInt8])
    /// Any other type, or a structure whose data does not match its type.
    case other(type: UInt8, [UInt8])
    /// Remaining octets after a length that exceeds the data.
    case malformed([UInt8])
}

extension AdvertisingElement {
    init(type: UInt8, data: ArraySlice<UInt8>) {
        self = Self.typed(type, [UInt8](data)) ?? .other(type: type, [UInt8](data))
    }

    private static func typed(_ type: UInt8, _ data: [UInt8]) -> AdvertisingElement? {
        switch type {
        case ADType.flags: data.count == 1 ? .flags(AdvertisingFlags(rawValue: data[0])) : nil
        case ADType.incompleteServices16: services(data, 2, complete: false)
        case ADType.completeServices16: services(data, 2, complete: true)
        case ADType.incompleteServices32: services(data, 4, complete: false)
        case ADType.completeServices32: services(data, 4, complete: true)
        case ADType.incompleteServices128: services(data, 16, complete: false)
        case ADType.completeServices128: services(data, 16, complete: true)
        case ADType.shortenedLocalName: text(data).map { .shortenedLocalName($0) }
        case ADType.completeLocalName: text(data).map { .completeLocalName($0) }
        case ADType.txPowerLevel: data.count == 1 ? .txPowerLevel(Int8(bitPattern: data[0])) : nil
        case ADType.peripheralIntervalRange:
            data.count == 4 ? .peripheralIntervalRange(minimum: number(data[0..<2]), maximum: number(data[2..<4])) : nil
        case ADType.solicitation16: list(data, 2).map { .solicitedUUIDs($0, width: 2) }
        case ADType.solicitation32: list(data, 4).map { .solicitedUUIDs($0, width: 4) }
        case ADType.solicitation128: list(data, 16).map { .solicitedUUIDs($0, width: 16) }
        case ADType.serviceData16: serviceData(data, 2)
        case ADType.serviceData32: serviceData(data, 4)
        case ADType.serviceData128: serviceData(data, 16)
        case ADType.appearance: data.count == 2 ? .appearance(number(data[0..<2])) : nil
        case ADType.advertisingInterval: data.count == 2 ? .advertisingInterval(UInt32(number(data[0..<2]))) : nil
        case ADType.longAdvertisingInterval:
            data.count == 3 || data.count == 4 ? .advertisingInterval(data.reversed().reduce(0) { $0 << 8 | UInt32($1) }) : nil
        case ADType.leRole: data.count == 1 ? .leRole(data[0]) : nil
        case ADType.uri: .uri(data)
        case ADType.manufacturerData: data.count >= 2 ? .manufacturerData(company: number(data[0..<2]), [UInt8](data[2...])) : nil
        default: nil
        }
    }

    private static func services(_ data: [UInt8], _ width: Int, complete: Bool) -> AdvertisingElement? {
        list(data, width).map { .serviceUUIDs($0, width: width, complete: complete) }
    }

    private static func number(_ octets: ArraySlice<UInt8>) -> UInt16 { octets.reversed().reduce(0) { $0 << 8 | UInt16($1) } }

    private static func text(_ data: [UInt8]) -> String? { String(validating: data, as: UTF8.self) }

    private static func list(_ data: [UInt8], _ width: Int) -> [BluetoothUUID]? {
        guard data.count % width == 0 else { return nil }
        return stride(from: 0, to: data.count, by: width).compactMap { BluetoothUUID(octets: [UInt8](data[$0..<$0 + width])) }
    }

    private static func serviceData(_ data: [UInt8], _ width: Int) -> AdvertisingElement? {
        guard data.count >= width, let uuid = BluetoothUUID(octets: [UInt8](data[..<width])) else { return nil }
        return .serviceData(uuid, [UInt8](data[width...]))
    }

    /// Length, type, data.
    public var octets: [UInt8] {
        if case .malformed(let octets) = self { return octets }
        let (type, data) = typeAndData
        let kept = data.prefix(254)
        return [UInt8(kept.count + 1), type] + kept
    }

    private var typeAndData: (UInt8, [UInt8]) {
        switch self {
        case .flags(let flags): (ADType.flags, [flags.rawValue])
        case .serviceUUIDs(let uuids, let width, let complete):
            (ADType.services(width: width, complete: complete), uuids.flatMap { Self.octets($0, width) })
        case .solicitedUUIDs(let uuids, let width):
            (ADType.solicitation(width: width), uuids.flatMap { Self.octets($0, width) })
        case .shortenedLocalName(let name): (ADType.shortenedLocalName, [UInt8](name.utf8))
        case .completeLocalName(let name): (ADType.completeLocalName, [UInt8](name.utf8))
        case .txPowerLevel(let level): (ADType.txPowerLevel, [UInt8(bitPattern: level)])
        case .peripheralIntervalRange(let minimum, let maximum):
            (ADType.peripheralIntervalRange, Self.octets(minimum) + Self.octets(maximum))
        case .serviceData(let uuid, let data):
            (ADType.serviceData(width: uuid.octetCount), uuid.octets + data)
        case .appearance(let value): (ADType.appearance, Self.octets(value))
        case .advertisingInterval(let value):
            value <= 0xFFFF
                ? (ADType.advertisingInterval, Self.octets(UInt16(value)))
                : (
                    ADType.longAdvertisingInterval,
                    (0..<(value < 1 << 24 ? 3 : 4)).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) }
                )
        case .leRole(let role): (ADType.leRole, [role])
        case .uri(let uri): (ADType.uri, uri)
        case .manufacturerData(let company, let data): (ADType.manufacturerData, Self.octets(company) + data)
        case .other(let type, let data): (type, data)
        case .malformed: (0, [])
        }
    }

    private static func octets(_ value: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(value >> 8)] }

    private static func octets(_ uuid: BluetoothUUID, _ width: Int) -> [UInt8] {
        let octets = uuid.octets
        if octets.count == width { return octets }
        return width == 16 ? uuid.long.octets : [UInt8]((octets + [0, 0, 0, 0]).prefix(width))
    }

    /// A list of UUIDs with the width of the first one; UUIDs of other widths need separate lists.
    public static func services(_ uuids: [BluetoothUUID], complete: Bool = true) -> AdvertisingElement {
        .serviceUUIDs(uuids, width: uuids.first?.octetCount ?? 2, complete: complete)
    }
}
