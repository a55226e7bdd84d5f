import BBCases
import BBHost
import BBPackets

/// The violations in advertising data by rule; each is empty if there is none. Core Vol 3, Part C, 11; Supplement, Part A.
package struct AdvertisingRules {
    package struct Structure: Hashable {
        package var type: UInt8
        package var data: [UInt8]
    }

    private struct Block {
        var name: String
        var structures: [Structure]
        /// The octets that form no structure.
        var rest: [UInt8]
    }

    private let blocks: [Block]

    package init(data: [UInt8], response: [UInt8]) {
        blocks = [("advertising data", data), ("scan response", response)].map { name, octets in
            let (found, rest) = Self.structures(in: octets)
            return Block(name: name, structures: found, rest: rest)
        }
    }

    /// Returns the AD structures, and the octets from a length that is 0 or too large on.
    private static func structures(in octets: [UInt8]) -> (found: [Structure], rest: [UInt8]) {
        var found: [Structure] = []
        var position = 0
        while position < octets.count {
            let next = position + 1 + Int(octets[position])
            guard next > position + 1, next <= octets.count else { return (found, Array(octets[position...])) }
            found.append(Structure(type: octets[position + 1], data: Array(octets[(position + 2)..<next])))
            position = next
        }
        return (found, [])
    }

    /// Returns the AD types of the advertising data, block 0, or of the scan response, block 1.
    package func types(_ block: Int) -> [CaseValue] { blocks[block].structures.map { .number(Int($0.type)) } }

    /// The local name, complete or shortened.
    package var name: [UInt8] {
        blocks.lazy.flatMap(\.structures).first { [ADType.completeLocalName, ADType.shortenedLocalName].contains($0.type) }?.data ?? []
    }

    /// The octets that form no structure, unless all are zeros.
    package var cut: String { first { block in block.rest.allSatisfy { $0 == 0 } ? nil : Self.end(of: block) } }

    /// Zeros after the structures: a device sends the significant part alone, since no field has a fixed length.
    package var zeros: String {
        first { block in !block.rest.isEmpty && block.rest.allSatisfy { $0 == 0 } ? Self.end(of: block) : nil }
    }

    private static func end(of block: Block) -> String {
        "the \(block.name) ends with \(Hexadecimal.text(block.rest))"
    }

    /// The data lengths by type: exact numbers of octets, or a multiple.
    private static let exact: [UInt8: [Int]] = [
        ADType.txPowerLevel: [1], ADType.peripheralIntervalRange: [4], ADType.appearance: [2], ADType.advertisingInterval: [2],
        ADType.leRole: [1], ADType.longAdvertisingInterval: [3, 4],
    ]
    private static let units: [UInt8: Int] = [
        ADType.incompleteServices16: 2, ADType.completeServices16: 2, ADType.incompleteServices32: 4, ADType.completeServices32: 4,
        ADType.incompleteServices128: 16, ADType.completeServices128: 16, ADType.solicitation16: 2, ADType.solicitation32: 4,
        ADType.solicitation128: 16, ADType.publicTargetAddress: 6, ADType.randomTargetAddress: 6,
    ]
    private static let least: [UInt8: Int] = [
        ADType.publicTargetAddress: 6, ADType.randomTargetAddress: 6, ADType.serviceData16: 2, ADType.serviceData32: 4,
        ADType.serviceData128: 16, ADType.manufacturerData: 2,
    ]

    package var sizes: String {
        first { block in
            block.structures.lazy.compactMap { structure -> String? in
                let count = structure.data.count
                let isRight =
                    (Self.exact[structure.type]?.contains(count) ?? true) && count % (Self.units[structure.type] ?? 1) == 0
                    && count >= (Self.least[structure.type] ?? 0)
                return isRight ? nil : "the \(block.name) has type \(structure.type) with \(count) octets"
            }.first
        }
    }

    /// The types that may occur only once in a block.
    private static let single: [(name: String, types: Set<UInt8>)] = [
        ("flags", [ADType.flags]), ("local names", [ADType.completeLocalName, ADType.shortenedLocalName]),
        ("lists of services of 16 bits", [ADType.incompleteServices16, ADType.completeServices16]),
        ("lists of services of 32 bits", [ADType.incompleteServices32, ADType.completeServices32]),
        ("lists of services of 128 bits", [ADType.incompleteServices128, ADType.completeServices128]),
        ("appearances", [ADType.appearance]), ("random target addresses", [ADType.randomTargetAddress]),
    ]

    package var repeats: String {
        first { block in
            Self.single.lazy.compactMap { kind -> String? in
                let count = block.structures.count { kind.types.contains($0.type) }
                return count > 1 ? "the \(block.name) has \(count) \(kind.name)" : nil
            }.first
        }
    }

    package var flags: String {
        if blocks[1].structures.contains(where: { $0.type == ADType.flags }) { return "the scan response has flags" }
        let octets = flagOctets ?? []
        if octets.last == 0 { return "the flags end with an octet of 0" }
        let flags = octets.first ?? 0
        if flags & 0xE0 != 0 || octets.count > 1 { return "the flags have reserved bits" }
        return flags & 3 == 3 ? "limited and general discoverable mode at once" : ""
    }

    /// The octets of the Flags in the advertising data; nil without them.
    package var flagOctets: [UInt8]? { blocks[0].structures.first { $0.type == ADType.flags }?.data }

    /// Addresses of the Random Target Address that are of no kind. Supplement, Part A, 1.14; Core Vol 6, Part B, 1.3.2.
    package var targets: String {
        let data = blocks.flatMap(\.structures).filter { $0.type == ADType.randomTargetAddress }.map(\.data)
        if data.count > 1 { return "the advertisement has \(data.count) random target addresses" }
        let octets = data.first ?? []
        return stride(from: 0, to: octets.count - 5, by: 6).lazy.map { start in
            let value = octets[start..<start + 6].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return Self.fault(in: DeviceAddress(value: value, kind: .random))
        }.first { !$0.isEmpty } ?? ""
    }

    /// Checks an address. Core Vol 6, Part B, 1.3.2.
    package static func fault(in address: DeviceAddress?) -> String {
        guard let address, address.kind == .random else { return "" }
        if address.value >> 46 == 0b10 { return "\(address.digits) has the reserved type of random addresses" }
        let mask: UInt64 = address.isResolvable ? 0x3FFF_FF00_0000 : 0x3FFF_FFFF_FFFF
        let part = address.value & mask
        return part == 0 || part == mask ? "\(address.digits) has a random part of equal bits" : ""
    }

    private func first(_ fault: (Block) -> String?) -> String { blocks.lazy.compactMap(fault).first ?? "" }
}
