import BBBluetoothCrypto
import BBCases
import BBHost
import BBPackets

/// An attribute that a device shows: its handle, its type, and its value if that is part of the database's structure.
struct ShownAttribute: Hashable {
    var handle: UInt16
    var type: BluetoothUUID
    var value: [UInt8] = []

    /// Reads all attributes by Find Information, and the values that a Database Hash counts. Core Vol 3, Part G, 7.3.1.
    static func all(of client: GATTClient) async throws -> [ShownAttribute] {
        var rows: [ShownAttribute] = []
        for found in try await client.discoverDescriptors(from: 1, to: .max) {
            var row = ShownAttribute(handle: found.handle, type: found.uuid)
            if row.hashes(isValue: true) { row.value = try await client.readLong(found.handle) }
            rows.append(row)
        }
        return rows
    }

    /// True if the attribute, or its value too, is part of the Database Hash.
    func hashes(isValue: Bool) -> Bool {
        guard let number = type.short else { return false }
        return (0x2800...0x2803).contains(number) || number == 0x2900 || !isValue && (0x2901...0x2905).contains(number)
    }

    /// The Database Hash, least significant octet first.
    static func hash(of rows: [ShownAttribute]) -> [UInt8] {
        var writer = ByteWriter()
        for row in rows where row.hashes(isValue: false) {
            writer.u16(row.handle)
            writer.u16(row.type.short ?? 0)
            writer.bytes(row.value)
        }
        return AttributeHashes.databaseHash(writer.bytes).littleEndianOctets
    }

    /// The handles at which two databases differ.
    static func differences(_ old: [ShownAttribute], _ new: [ShownAttribute]) -> [UInt16] {
        Set(Set(old).symmetricDifference(new).map(\.handle)).sorted()
    }

    /// The mistake in the ranges of Service Changed; nil if each changed handle is in one of them. Core Vol 3, Part G, 7.1.
    static func fault(inRanges values: [[UInt8]], for handles: [UInt16]) -> String? {
        var ranges: [ClosedRange<UInt16>] = []
        for value in values {
            let numbers = stride(from: 0, to: value.count & ~1, by: 2).map { UInt16(value[$0]) | UInt16(value[$0 + 1]) << 8 }
            guard value.count == 4, numbers[0] > 0, numbers[0] <= numbers[1] else {
                return "expected Service Changed to have the first and the last handle of a range, got \(Hexadecimal.text(value))"
            }
            ranges.append(numbers[0]...numbers[1])
        }
        guard let missed = handles.first(where: { handle in !ranges.contains { $0.contains(handle) } }) else { return nil }
        let told = ranges.isEmpty ? "nothing" : ranges.map { "\($0.lowerBound) to \($0.upperBound)" }.joined(separator: ", ")
        return "expected Service Changed to name handle \(missed), which has changed, got \(told)"
    }
}

/// Remembers the attributes of the device under test.
enum RememberDatabase: NamedAction {
    static let name = "remember database"
    static let about = "the client reads all declarations and remembers them, also under another identity"
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration] }
    static let results = ["hash", "attributes"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let rows = try await ShownAttribute.all(of: context.link().gatt)
        context.bench.memory.attributes = rows
        context.bench.memory.since = context.bench.log.end
        return CaseRecord([("hash", .octets(ShownAttribute.hash(of: rows))), ("attributes", .number(rows.count))])
    }
}

/// Compares the attributes of the device under test with the remembered ones, and the difference with the Service Changed indications.
enum JudgeServiceChange: NamedAction {
    static let name = "judge service change"
    static let about =
        "the client reads all declarations; each that differs from the remembered ones is in a range of Service Changed that has come since"
    static let handle = TypedArgument.number("serviceChanged", 0...0xFFFF, default: 0, "the handle of Service Changed; 0 not to judge it")
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration, handle.declaration] }
    static let results = ["hash", "changed"]
    static let needsHost = true

    /// - Throws: `ActionFinding`; `StepFailure` if nothing has changed.
    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let bench = context.bench
        let rows = try await ShownAttribute.all(of: context.link().gatt)
        let handles = ShownAttribute.differences(bench.memory.attributes, rows)
        guard !handles.isEmpty else {
            throw StepFailure(.environment, "the device shows the same attributes after the write that `changes:` declares")
        }
        let serviceChanged = try context(handle)
        if serviceChanged > 0 {
            let told = bench.log.observations.dropFirst(bench.memory.since).compactMap { seen -> [UInt8]? in
                guard seen.side == context.side, case .upper(_, let octets, _) = seen.content,
                    let pdu = try? ATT.HandleValueInd(bytes: octets), Int(pdu.attributeHandle) == serviceChanged
                else { return nil }
                return pdu.attributeValue
            }
            if let fault = ShownAttribute.fault(inRanges: told, for: handles) { throw ActionFinding(text: fault) }
        }
        return CaseRecord([("hash", .octets(ShownAttribute.hash(of: rows))), ("changed", .number(handles.count))])
    }
}
