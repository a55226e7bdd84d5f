import Cases
import Host
import Packets
import Simulation

/// The faults of a subject's host by name, for mutants.
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
        "losesFirstPart": { $0.losesFirstPart = $1 != 0 },
        "ignoresPartOffsets": { $0.ignoresPartOffsets = $1 != 0 },
        "indicatesWithoutWaiting": { $0.indicatesWithoutWaiting = $1 != 0 },
        "answersUnknownCommands": { $0.answersUnknownCommands = $1 != 0 },
        "claimsAllProperties": { $0.claimsAllProperties = $1 != 0 },
        "ignoresKeySize": { $0.ignoresKeySize = $1 != 0 },
        "ignoresSignCounter": { $0.ignoresSignCounter = $1 != 0 },
        "ignoresSignature": { $0.ignoresSignature = $1 != 0 },
        "trustsAddresses": { $0.trustsAddresses = $1 != 0 },
        "hidesChanges": { $0.hidesChanges = $1 != 0 },
        "acceptsAnyConfirm": { $0.pairing.acceptsAnyConfirm = $1 != 0 },
        "acceptsAnyDHKeyCheck": { $0.pairing.acceptsAnyDHKeyCheck = $1 != 0 },
        "skipsCurveCheck": { $0.pairing.skipsCurveCheck = $1 != 0 },
        "acceptsReflectedKey": { $0.pairing.acceptsReflectedKey = $1 != 0 },
        "ignoresMinimumKeySize": { $0.pairing.ignoresMinimumKeySize = $1 != 0 },
        "ignoresMinimumLevel": { $0.pairing.ignoresMinimumLevel = $1 != 0 },
        "acceptsAnyKeySize": { $0.pairing.acceptsAnyKeySize = $1 != 0 },
        "allowsRepeatedAttempts": { $0.pairing.allowsRepeatedAttempts = $1 != 0 },
        "believesOutOfBandFlag": { $0.pairing.believesOutOfBandFlag = $1 != 0 },
        "overratesKeys": { $0.pairing.overratesKeys = $1 != 0 },
        "keepsOldBond": { $0.pairing.keepsOldBond = $1 != 0 },
        "usesRandomAsKey": { $0.pairing.usesRandomAsKey = $1 != 0 },
        "repeatsPasskey": { $0.pairing.repeatsPasskey = $1 != 0 },
        "misderivesKeys": { $0.pairing.misderivesKeys = $1 != 0 },
        "ignoresCT2": { $0.pairing.ignoresCT2 = $1 != 0 },
        "derivesFromWeakKeys": { $0.pairing.derivesFromWeakKeys = $1 != 0 },
        "replacesStrongerLinkKeys": { $0.pairing.replacesStrongerLinkKeys = $1 != 0 },
        "replacesStrongerLongTermKeys": { $0.pairing.replacesStrongerLongTermKeys = $1 != 0 },
        "derivesUnasked": { $0.pairing.derivesUnasked = $1 != 0 },
        "derivesNoLinkKey": { $0.pairing.derivesNoLinkKey = $1 != 0 },
        "derivesNoLongTermKey": { $0.pairing.derivesNoLongTermKey = $1 != 0 },
        "keepsOldLinkKey": { $0.pairing.keepsOldLinkKey = $1 != 0 },
        "keepsOldLongTermKey": { $0.pairing.keepsOldLongTermKey = $1 != 0 },
        "ignoresFrameCheck": { $0.channels.ignoresFrameCheck = $1 != 0 },
        "repeatsSequence": { $0.channels.repeatsSequence = $1 != 0 },
        "ignoresRemoteBusy": { $0.channels.ignoresRemoteBusy = $1 != 0 },
        "ignoresWindow": { $0.channels.ignoresWindow = $1 != 0 },
        "deliversRepetitions": { $0.channels.deliversRepetitions = $1 != 0 },
        "ignoresCredits": { $0.channels.ignoresCredits = $1 != 0 },
        "ignoresFrameSize": { $0.channels.ignoresFrameSize = $1 != 0 },
        "forgetsContinuation": { $0.channels.forgetsContinuation = $1 != 0 },
        "hidesRecords": { $0.channels.hidesRecords = $1 != 0 },
        "admitsInClear": { $0.channels.admitsInClear = $1 != 0 },
        "exchangesMTU": { $0.channels.exchangesMTU = $1 != 0 },
        "pairsTwice": { $0.pairing.pairsTwice = $1 != 0 },
        "pagesFirst": { $0.pairing.pagesFirst = $1 != 0 },
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
        for rule in rewrites where rule.target == .sent || rule.target == .received {
            guard let layer = PDUCodec.layer(of: rule.pdu),
                let declaration = PDUCatalog.declaration(layer: layer, name: rule.pdu)
            else { continue }
            let change = try PDUChange(rule, declaration)
            for channel in Set([layer.fixedChannel(isClassic: false), layer.fixedChannel(isClassic: true)].compactMap(\.self)).sorted() {
                var rewrite = PDURewrite(
                    cid: channel, opcode: UInt8(truncatingIfNeeded: declaration.code), skip: rule.skip, count: rule.times,
                    replace: { change.applied(to: $0) })
                rewrite.every = rule.every
                if rule.target == .sent { quirks.rewrites.append(rewrite) } else { quirks.receivedRewrites.append(rewrite) }
            }
        }
        return quirks
    }
}

/// A rule's change of PDUs above HCI.
struct PDUChange: Sendable {
    private let layer: Layer
    private let conditions: [FieldPredicate]
    private let effect: Effect

    private enum Effect: Sendable {
        case copies(Int)
        case fields([FieldChange])
        case replace([UInt8])
    }

    init(_ rule: Fault.Rewrite, _ declaration: PDUDeclaration) throws {
        layer = declaration.layer
        conditions = rule.fields
        do {
            switch rule.change {
            case .drop: effect = .copies(0)
            case .duplicate: effect = .copies(2)
            case .fields(let edits): effect = .fields(try edits.map { try ControllerFaults.fieldChange($0, declaration.fields) })
            case .replace(let name, let entries):
                guard case .record(let record) = try Variables().resolve(.record(entries)) else {
                    throw Problem(rule.position, "no values")
                }
                effect = .replace(try PDUCodec.encode(name, record))
            case .delay, .follow, .swap, .answer, .pretend:
                throw Problem(rule.position, "\(rule.pdu) can be dropped, duplicated, changed and replaced")
            }
        } catch let error as PDUCodec.Failure {
            throw Problem(rule.position, "\(rule.pdu): \(error.text)")
        }
    }

    /// - Parameter bytes: a PDU with its opcode.
    /// - Returns: the PDUs that replace it.
    func applied(to bytes: [UInt8]) -> [[UInt8]] {
        if !conditions.isEmpty {
            let record = PDUCodec.record(layer: layer, bytes: bytes)
            guard (try? Predicate.parts(conditions).mismatch(.record(record), Variables())) == nil else { return [bytes] }
        }
        switch effect {
        case .copies(let count): return Array(repeating: bytes, count: count)
        case .fields(let changes):
            var pdu = DynamicPDU(layer: layer, bytes: bytes)
            pdu.apply(changes.filter { $0.path != [Self.identifier] })
            for change in changes where change.path == [Self.identifier] { pdu.identifier = Self.identifier(change, pdu.identifier ?? 0) }
            return [(try? pdu.bytes()) ?? bytes]
        case .replace(let other): return [answering(bytes, other)]
        }
    }

    /// The identifier of signalling PDUs, which precedes their fields.
    static let identifier = "Identifier"

    private static func identifier(_ change: FieldChange, _ old: UInt16) -> UInt16 {
        switch change.source {
        case .value(let value): UInt16(truncatingIfNeeded: value.int ?? 0)
        case .more(let more): UInt16(truncatingIfNeeded: Int(old) + more)
        case .field: old
        }
    }

    /// Returns the replacement of a signalling PDU with the original identifier.
    private func answering(_ bytes: [UInt8], _ other: [UInt8]) -> [UInt8] {
        var pdu = DynamicPDU(layer: layer, bytes: other)
        guard layer == .l2capSignaling else { return other }
        pdu.identifier = DynamicPDU(layer: layer, bytes: bytes).identifier
        return (try? pdu.bytes()) ?? other
    }
}
