import BBCases
import BBHost
import BBPackets

/// The violations in advertising data by rule; each is empty if there is none. Core Vol 3, Part C, 11; Supplement, Part A.
package struct AdvertisingRules {
    package struct Structure: Hashable {
        package var type: UInt8
        package var data: [UInt8]
    }

    private let blocks: [(name: String, structures: [Structure], rest: [UInt8])]

    package init(data: [UInt8], response: [UInt8]) {
        blocks = [("advertising data", data), ("scan response", response)].map { name, octets in
            let (found, rest) = Self.structures(in: octets)
            return (name, found, rest)
        }
    }

    /// Returns the AD structures, and the octets after them if a length is too large or nonzero octets follow a length of 0.
    private static func structures(in octets: [UInt8]) -> (found: [Structure], rest: [UInt8]) {
        var found: [Structure] = []
        var position = 0
        while position < octets.count {
            let next = position + 1 + Int(octets[position])
            guard next > position + 1 else {
                let rest = octets[position...]
                return (found, rest.allSatisfy { $0 == 0 } ? [] : Array(rest))
            }
            guard next <= octets.count else { return (found, Array(octets[position...])) }
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

    /// The octets that form no structure.
    package var cut: String { first { block in block.rest.isEmpty ? nil : "the \(block.name) ends with \(Hexadecimal.text(block.rest))" } }

    /// The data lengths by type: exact numbers of octets, or a multiple.
    private static let exact: [UInt8: [Int]] = [
        ADType.txPowerLevel: [1], ADType.peripheralIntervalRange: [4], ADType.appearance: [2], ADType.advertisingInterval: [2],
        ADType.leRole: [1], ADType.longAdvertisingInterval: [3, 4],
    ]
    private static let units: [UInt8: Int] = [
        ADType.incompleteServices16: 2, ADType.completeServices16: 2, ADType.incompleteServices32: 4, ADType.completeServices32: 4,
        ADType.incompleteServices128: 16, ADType.completeServices128: 16, ADType.solicitation16: 2, ADType.solicitation32: 4,
        ADType.solicitation128: 16,
    ]
    private static let least: [UInt8: Int] = [
        ADType.flags: 1, ADType.serviceData16: 2, ADType.serviceData32: 4, ADType.serviceData128: 16, ADType.manufacturerData: 2,
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
        ("appearances", [ADType.appearance]),
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
        let flags = blocks[0].structures.first { $0.type == ADType.flags }?.data.first ?? 0
        return flags & 3 == 3 ? "limited and general discoverable mode at once" : ""
    }

    /// Checks an address. Core Vol 6, Part B, 1.3.2.
    package static func fault(in address: DeviceAddress?) -> String {
        guard let address, address.kind == .random else { return "" }
        if address.value >> 46 == 0b10 { return "\(address.digits) has the reserved type of random addresses" }
        let mask: UInt64 = address.isResolvable ? 0x3FFF_FF00_0000 : 0x3FFF_FFFF_FFFF
        let part = address.value & mask
        return part == 0 || part == mask ? "\(address.digits) has a random part of equal bits" : ""
    }

    private typealias Block = (name: String, structures: [Structure], rest: [UInt8])
    private func first(_ fault: (Block) -> String?) -> String { blocks.lazy.compactMap(fault).first ?? "" }
}
