import BBCases
import BBHost
import BBMisbehaviour
import BBPackets
import BBSimulation
import BBUpperTester

/// Conversion of a fault's rules and quirks for the subject's controller and host.
enum FaultRules {
    /// Adds the rules about PDUs that controllers process to the quirks of a controller.
    static func add(_ rules: [Fault.Rewrite], to quirks: inout ControllerQuirks) throws {
        for rule in rules {
            guard let rewrite = try controllerRewrite(rule) else { continue }
            if rule.target == .received { quirks.receivedRewrites.append(rewrite) } else { quirks.rewrites.append(rewrite) }
        }
    }

    /// Returns the rule of a controller's taps; nil for a rule about a PDU that controllers do not process.
    static func controllerRewrite(_ rule: Fault.Rewrite) throws -> PacketRewrite? {
        switch rule.target {
        case .received: try rewrite(rule, PacketRewrite.controlLayers)
        case .command, .answer: try rewrite(rule, [.hciCommands])
        case .sent: try rewrite(rule, PacketRewrite.controllerLayers.filter { $0 != .hciCommands })
        }
    }

    /// Returns the host's quirks, with the rules about PDUs that hosts process.
    static func hostQuirks(_ settings: [QuirkSetting], _ rules: [Fault.Rewrite]) throws -> HostQuirks {
        var quirks = HostQuirks()
        for setting in settings
        where !HostQuirks.all.apply(setting.name, setting.value, to: &quirks) && UpperTesterQuirks.all[setting.name] == nil {
            throw Problem(setting.position, "there is no quirk '\(setting.name)' of hosts")
        }
        for rule in rules where rule.target == .sent || rule.target == .received {
            guard let rewrite = try rewrite(rule, PacketRewrite.hostLayers) else { continue }
            if rule.target == .sent { quirks.rewrites.append(rewrite) } else { quirks.receivedRewrites.append(rewrite) }
        }
        return quirks
    }

    /// Returns the quirks of the upper tester, with the rules about its messages.
    static func upperTesterQuirks(_ settings: [QuirkSetting], _ rules: [Fault.Rewrite]) throws -> UpperTesterQuirks {
        var quirks = UpperTesterQuirks()
        for setting in settings { _ = UpperTesterQuirks.all.apply(setting.name, setting.value, to: &quirks) }
        for rule in rules {
            switch rule.target {
            case .command: if let rewrite = try rewrite(rule, [.btpCommands]) { quirks.commandRewrites.append(rewrite) }
            case .answer: if let rewrite = try rewrite(rule, [.btpResponses]) { quirks.rewrites.append(rewrite) }
            case .sent: if let rewrite = try rewrite(rule, [.btpEvents]) { quirks.rewrites.append(rewrite) }
            case .received: break
            }
        }
        return quirks
    }

    private static func rewrite(_ rule: Fault.Rewrite, _ layers: [Layer]) throws -> PacketRewrite? {
        let declarations = layers.lazy.compactMap { PDUCatalog.declaration(layer: $0, name: rule.pdu) }
        guard let declaration = declarations.first else { return nil }
        let layer = declaration.layer
        do {
            let isAnswer = rule.target == .answer && layer == .hciCommands
            let fields = isAnswer ? answerFields(declaration) : declaration.fields
            let effect = try effect(rule, fields, layer)
            var rewrite =
                try isAnswer
                ? PacketRewrite(answersTo: rule.pdu, effect, rule.occurrences) : PacketRewrite(layer, rule.pdu, effect, rule.occurrences)
            if PacketRewrite.hostLayers.contains(layer) {
                rewrite.predicate = predicate(rule.fields, layer)
            } else {
                rewrite.condition = try condition(rule, fields)
            }
            return rewrite
        } catch let error as PDUCodec.Failure {
            throw Problem(rule.position, "\(rule.pdu): \(error.text)")
        } catch let error as DynamicPDUError {
            throw Problem(rule.position, "\(error)")
        }
    }

    private static func predicate(_ conditions: [FieldPredicate], _ layer: Layer) -> (@Sendable ([UInt8]) -> Bool)? {
        guard !conditions.isEmpty else { return nil }
        return { bytes in
            let record = PDUCodec.record(layer: layer, bytes: bytes)
            return (try? Predicate.parts(conditions).mismatch(.record(record), Variables())) == nil
        }
    }

    /// Returns the return parameters of a command, or the Status of a command without any.
    private static func answerFields(_ command: PDUDeclaration) -> [FieldDeclaration] {
        command.returns ?? PDUCatalog.declaration(HCIEvents.CommandStatus.id)?.fields ?? []
    }

    private static func effect(_ rule: Fault.Rewrite, _ fields: [FieldDeclaration], _ layer: Layer) throws -> PacketRewrite.Effect {
        switch rule.change {
        case .drop: .drop
        case .duplicate: .duplicate
        case .delay(let events): .delay(.milliseconds(30) * events)
        case .fields(let edits): .change(try edits.map { try fieldChange($0, fields) })
        case .append(let octets): .append(octets)
        case .cut(let count): .cut(count)
        case .replace(let name, let entries): .replace(try PDUCodec.encode(name, try values(entries)))
        case .follow(let name, let entries, let names):
            .follow(
                PacketRewrite.controlLayers.contains(layer)
                    ? try PDUCodec.encode(name, try values(entries)) : try PDUCodec.event(name, try values(entries)), carrying: names)
        case .swap: .swap
        case .answer(let form): .answer(PacketRewrite.AnswerForm(named: form) ?? .both)
        case .pretend: .pretend
        }
    }

    /// Returns the change of a field with its value in the declared type.
    private static func fieldChange(_ edit: Fault.Edit, _ fields: [FieldDeclaration]) throws -> FieldChange {
        switch edit.source {
        case .more(let more): return FieldChange(edit.path, .more(more))
        case .field(let name): return FieldChange(edit.path, .field(name))
        case .value(let operand):
            let steps = edit.path.split(separator: ".")
            var inner = fields
            for step in steps.dropLast() { inner = inner.flat.first { $0.name == step }?.inner ?? [] }
            let name = String(steps.last ?? "")
            let resolved = try Variables().resolve(operand)
            // The identifier of a signalling PDU precedes its declared fields.
            if name == PacketRewrite.identifier, let number = resolved.asNumber {
                return FieldChange(edit.path, .value(.integer(Int128(number))))
            }
            let value = try PDUCodec.dynamic(CaseRecord([(name, resolved)]), inner)
            return FieldChange(edit.path, .value(value.first?.value ?? 0))
        }
    }

    private static func values(_ entries: [Operand.Entry]) throws -> CaseRecord {
        guard case .record(let record) = try Variables().resolve(.record(entries)) else { return CaseRecord() }
        return record
    }

    private static func condition(_ rule: Fault.Rewrite, _ fields: [FieldDeclaration]) throws -> [DynamicField] {
        var record = CaseRecord()
        for field in rule.fields {
            guard case .equals(let operand) = field.predicate else {
                throw Problem(field.position, "a rule for a controller's PDUs compares for equality only")
            }
            record[field.name] = try Variables().resolve(operand)
        }
        return try PDUCodec.dynamic(record, fields)
    }
}
