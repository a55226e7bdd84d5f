import BBPackets

/// An attribute ID, universal (Core Vol 3, Part B, 5.1) or profile-specific.
public struct SDPAttributeID: RawRepresentable, Sendable, Hashable, Comparable, ExpressibleByIntegerLiteral {
    public var rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
    public init(integerLiteral value: UInt16) { rawValue = value }
    public static func < (a: SDPAttributeID, b: SDPAttributeID) -> Bool { a.rawValue < b.rawValue }

    public static let serviceRecordHandle: SDPAttributeID = 0x0000
    public static let serviceClassIDList: SDPAttributeID = 0x0001
    public static let protocolDescriptorList: SDPAttributeID = 0x0004
    public static let browseGroupList: SDPAttributeID = 0x0005
    public static let profileDescriptorList: SDPAttributeID = 0x0009
    public static let additionalProtocolDescriptorLists: SDPAttributeID = 0x000D
    /// Offset 0x0000 from the base of the primary language.
    public static let serviceName: SDPAttributeID = 0x0100
    public static let network: SDPAttributeID = 0x0301
    public static let supportedFeatures: SDPAttributeID = 0x0311
}

/// A service record: attributes by ID. Core Vol 3, Part B, 2.2.
public struct SDPRecord: Sendable, Hashable {
    public private(set) var attributes: [(id: SDPAttributeID, value: SDPDataElement)] = []

    public init(_ attributes: [SDPAttributeID: SDPDataElement] = [:]) {
        for (id, value) in attributes.sorted(by: { $0.key < $1.key }) { self.attributes.append((id, value)) }
    }

    public subscript(id: SDPAttributeID) -> SDPDataElement? {
        get { attributes.first { $0.id == id }?.value }
        set {
            attributes.removeAll { $0.id == id }
            guard let newValue else { return }
            attributes.insert((id, newValue), at: attributes.firstIndex { $0.id > id } ?? attributes.endIndex)
        }
    }

    public static func == (a: SDPRecord, b: SDPRecord) -> Bool { a.list == b.list }
    public func hash(into hasher: inout Hasher) { hasher.combine(list) }

    /// Value of ServiceRecordHandle.
    public var handle: UInt32? { self[.serviceRecordHandle]?.number() }

    /// True if the record contains each UUID. Core Vol 3, Part B, 2.7.1.
    public func matches(_ pattern: [BluetoothUUID]) -> Bool {
        pattern.allSatisfy { uuid in attributes.contains { $0.value.contains(uuid) } }
    }

    // MARK: Attribute lists

    /// The attribute list: alternating IDs and values in ascending order. Core Vol 3, Part B, 4.6.2.
    public var list: SDPDataElement { list(of: [.all]) }

    public func list(of ranges: [SDPAttributeRange]) -> SDPDataElement {
        .sequence(
            attributes.filter { attribute in ranges.contains { $0.contains(attribute.id.rawValue) } }
                .flatMap { [.u16($0.id.rawValue), $0.value] })
    }

    /// Parses an attribute list; nil if it is malformed.
    public init?(list: SDPDataElement) {
        guard case .sequence(let elements) = list, elements.count.isMultiple(of: 2) else { return nil }
        for index in stride(from: 0, to: elements.count, by: 2) {
            guard case .unsigned(let id, octets: 2) = elements[index] else { return nil }
            self[SDPAttributeID(rawValue: UInt16(truncatingIfNeeded: id))] = elements[index + 1]
        }
    }

    // MARK: Queries of a client

    /// UUIDs of ServiceClassIDList.
    public var serviceClasses: [BluetoothUUID] { self[.serviceClassIDList]?.elements?.compactMap(\.uuid) ?? [] }

    /// The first parameter of a protocol: PSM of L2CAP, server channel of RFCOMM, version of AVDTP and AVCTP.
    public func parameter(of protocolUUID: BluetoothUUID) -> UInt16? {
        let value = self[.protocolDescriptorList]
        // Alternatives are lists of protocols; the first one is used.
        let stack: [SDPDataElement] =
            if case .alternative(let stacks) = value { stacks.first?.elements ?? [] } else { value?.elements ?? [] }
        let descriptor = stack.compactMap(\.elements).first { $0.first?.uuid == protocolUUID }
        return descriptor?.dropFirst().first?.number()
    }

    public var psm: UInt16? { parameter(of: .l2capProtocol) }
    public var rfcommChannel: UInt8? { parameter(of: .rfcommProtocol).flatMap { UInt8(exactly: $0) } }

    /// Version of a profile in BluetoothProfileDescriptorList.
    public func version(ofProfile uuid: BluetoothUUID) -> UInt16? {
        let descriptor = self[.profileDescriptorList]?.elements?.compactMap(\.elements).first { $0.first?.uuid == uuid }
        return descriptor?.dropFirst().first?.number()
    }

    public var supportedFeatures: UInt16? { self[.supportedFeatures]?.number() }
}
