import Host
import Packets

/// Faults of a subject's host by name, as mutants declare them.
enum HostFaults {
    private typealias Apply = @Sendable (inout HostQuirks, Int) -> Void

    private static let known: [String: Apply] = [
        "neverConfirms": { $0.neverConfirms = $1 != 0 },
        "usedMTU": { $0.usedMTU = $1 },
        "ignoresPermissions": { $0.ignoresPermissions = $1 != 0 },
        "longReadOffByOne": { $0.longReadOffByOne = $1 != 0 },
        "forgetsPreparedWrites": { $0.forgetsPreparedWrites = $1 != 0 },
        "duplicatesNotifications": { $0.duplicatesNotifications = $1 != 0 },
        "notifiesUnasked": { $0.notifiesUnasked = $1 != 0 },
        "errorCode": { $0.errorCode = ATTErrorCode(UInt8(clamping: $1)) },
    ]

    static var names: Set<String> { Set(known.keys) }

    static func quirks(_ settings: [ControllerSetting], _ rewrites: [Fault.Rewrite]) throws -> HostQuirks {
        var quirks = HostQuirks()
        for setting in settings {
            guard let apply = known[setting.name], let number = setting.value.asNumber else {
                throw Problem(setting.position, "the fault '\(setting.name)' cannot be \(setting.value)")
            }
            apply(&quirks, number)
        }
        for rule in rewrites {
            guard let layer = PDUBook.layer(of: rule.pdu),
                let declaration = PDUCatalog.declaration(layer: layer.catalogName, name: rule.pdu)
            else { continue }
            let change = rule
            quirks.rewrites.append(
                PDURewrite(cid: layer.channel, opcode: UInt8(truncatingIfNeeded: declaration.code), skip: rule.skip, count: rule.times) {
                    pdu in
                    PDUChange.apply(change, to: pdu, layer: layer.catalogName)
                })
        }
        return quirks
    }
}

/// A rule's change, carried out on one PDU.
enum PDUChange {
    /// - Parameter pdu: with its opcode.
    /// - Returns: what is sent instead.
    static func apply(_ rule: Fault.Rewrite, to pdu: [UInt8], layer: String) -> [[UInt8]] {
        if !rule.fields.isEmpty {
            let record = PDUBook.record(layer: layer, bytes: pdu)
            guard (try? Predicate.parts(rule.fields).mismatch(.record(record), Variables())) == .some(nil) else { return [pdu] }
        }
        switch rule.change {
        case .drop: return []
        case .duplicate: return [pdu, pdu]
        case .delay: return [pdu]
        case .set(let entries):
            guard let record = record(entries), let changed = PDUBook.changed(layer: layer, bytes: pdu, setting: record) else {
                return [pdu]
            }
            return [changed]
        case .replace(let name, let entries):
            guard var record = record(entries) else { return [pdu] }
            if layer == "L2CAPSignaling", pdu.count > 1 { record["Identifier"] = .number(Int(pdu[1])) }
            return (try? PDUBook.encode(name, record)).map { [$0] } ?? [pdu]
        }
    }

    private static func record(_ entries: [Operand.Entry]) -> CaseRecord? {
        guard case .record(let record)? = try? Variables().resolve(.record(entries)) else { return nil }
        return record
    }
}
