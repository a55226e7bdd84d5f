import BBMisbehaviour
import BBPackets
import Foundation

/// A JSON Schema (draft 7) of case and procedure files, generated from the names that `check` knows, for completion in editors.
/// It covers the place of each name; `check` reports mistakes that depend on several places, such as an unused result.
public struct CaseSchema {
    private typealias Schema = [String: Any]
    private let vocabulary: Vocabulary
    private let shared = SharedSchemas()

    public init(_ vocabulary: Vocabulary) { self.vocabulary = vocabulary }

    public var testCase: String {
        let steps = reference("steps")
        let properties: Schema = [
            "title": text, "purpose": text,
            "reference": text,
            "subject": ["enum": SubjectKind.allCases.map(\.rawValue)],
            "covers": orWord(["type": "object", "additionalProperties": ["enum": ["full", "partial"]]]),
            "tags": orWord(["type": "array", "items": ["enum": CaseTag.all.keys.sorted()]]), "needs": text,
            "rule": vocabulary.rules.isEmpty ? text : ["enum": vocabulary.rules.keys.sorted()] as Schema,
            "constants": ["type": "object"], "parameters": reference("parameters"),
            "rounds": [
                "anyOf": [
                    ["type": "array", "minItems": 1, "items": ["type": "object", "minProperties": 1]] as Schema,
                    ["type": "object", "minProperties": 1] as Schema,
                ] as [Schema]
            ],
            "limits": object(["step": text, "case": text]),
            "world": object([
                "packetErrorRate": ["type": "number", "minimum": 0, "maximum": 1], "tester": settings, "subject": settings,
                "accessory": settings,
            ]),
            "setup": steps, "steps": steps, "teardown": steps,
        ]
        return document("A Bluebench case", properties, required: ["title", "purpose", "reference", "steps"])
    }

    public var procedure: String {
        let roles: Schema = ["type": "object", "maxProperties": 2, "additionalProperties": ["enum": Side.allCases.map(\.rawValue)]]
        let properties: Schema = [
            "about": text, "roles": roles, "parameters": reference("parameters"), "steps": reference("steps"), "gives": ["type": "object"],
        ]
        return document("A Bluebench procedure", properties, required: ["about", "steps"])
    }

    private func document(_ title: String, _ properties: Schema, required: [String]) -> String {
        var schema = object(properties, required: required)
        schema["$schema"] = "http://json-schema.org/draft-07/schema#"
        schema["title"] = title
        schema["definitions"] = definitions.merging(shared.definitions) { first, _ in first }
        // An editor reads the whole file: no spaces.
        return SharedSchemas.text(schema)
    }

    // MARK: Parts

    private var text: Schema { ["type": "string", "minLength": 1] }

    /// A word of a round, which stands for any value.
    private static var word: Schema { ["type": "string", "pattern": "^\\$"] }

    private func orWord(_ schema: Schema) -> Schema { ["anyOf": [schema, Self.word]] }

    private func reference(_ name: String) -> Schema { ["$ref": "#/definitions/\(name)"] }

    private func object(_ properties: Schema, required: [String] = []) -> Schema {
        var schema: Schema = ["type": "object", "properties": properties, "additionalProperties": false]
        if !required.isEmpty { schema["required"] = required }
        return schema
    }

    private var settings: Schema {
        var settings: Schema = vocabulary.worlds.controllers.mapValues { schema($0) }
        for name in [QuirkSetting.chip, QuirkSetting.legalChip] { settings[name] = ["enum": vocabulary.worlds.chips()] as Schema }
        return object(settings)
    }

    private func schema(_ quirk: QuirkDeclaration) -> Schema {
        var schema: Schema =
            switch quirk.kind {
            case .flag: ["type": "boolean"]
            case .number(let range): ["type": "integer", "minimum": range.lowerBound, "maximum": range.upperBound]
            case .choice(let words): ["enum": words]
            case .names(let words): ["type": "array", "items": ["enum": words] as Schema]
            case .commands, .events: ["type": "array", "items": text]
            case .milliseconds: ["type": ["integer", "string"]]
            case .text, .buffers, .identity, .octets: text
            }
        schema["description"] = quirk.text
        return schema
    }

    private var definitions: Schema {
        var definitions: Schema = [
            "steps": ["type": "array", "items": reference("step")],
            "step": ["anyOf": SourceReader.stepKinds.map { step($0) } + [Self.word]],
            "parameters": [
                "type": "object",
                "additionalProperties": [
                    "anyOf": [
                        object(
                            [
                                "default": [:] as Schema, "range": ["type": "array", "minItems": 2, "maxItems": 2], "field": text,
                                "about": text,
                            ],
                            required: ["default"]), ["type": ["string", "number"]] as Schema,
                    ]
                ],
            ],
        ]
        definitions["observed"] = ["allOf": rules(Self.observing, names(.observed)) { ["where": fields($0.fields, isCondition: true)] }]
        definitions["condition"] = condition([])
        return definitions
    }

    /// Returns the schema of a step by its first key, with the keys that each PDU or action allows.
    private func step(_ kind: String) -> Schema {
        var properties: Schema = ["as": ["type": "string", "pattern": "^(tester|subject|\\$.+)$"]]
        for key in SourceReader.common where key != "as" { properties[key] = text }
        for key in SourceReader.allowed[kind] ?? [] {
            properties[key] = ["within", "after", "during", "since"].contains(key) ? text : [:] as Schema
        }
        for key in ["steps", "between"] where properties[key] != nil { properties[key] = reference("steps") }
        properties[kind] = head(kind)
        var schema = object(properties, required: [kind])
        let rules = conditions(kind)
        if !rules.isEmpty { schema["allOf"] = rules }
        return schema
    }

    private func head(_ kind: String) -> Schema {
        switch kind {
        case "send": orWord(shared.reference(to: ["enum": names(.sent)]))
        case "expect", "none", "until": orWord(shared.reference(to: ["enum": names(.observed)]))
        case "measure": ["enum": Measurement.Metric.allCases.map(\.rawValue)]
        case "air": ["enum": ["expect", "none", "suppress", "alter", "inject"]]
        case "do": orWord(["enum": vocabulary.actions.keys.sorted()])
        case "parallel", "either": ["type": "array", "minItems": kind == "either" ? 2 : 1, "items": reference("steps")]
        case "each": ["type": "string", "pattern": "^\\$"]
        case "attempts": ["type": "integer", "minimum": 2, "maximum": 100]
        case "repeat": ["anyOf": [["type": "integer", "minimum": 1, "maximum": 10_000] as Schema, ["type": "string", "pattern": "^\\$"]]]
        default: [:]
        }
    }

    private func names(_ layers: Set<Layer>) -> [String] {
        vocabulary.pdus.values.filter { layers.contains($0.layer) }.map(\.name).sorted()
    }

    /// The keys of steps that name a PDU of the log; a step has one of them.
    private static let observing = ["expect", "none", "until", "of"]

    /// Returns the conditional schemas of the fields of each PDU or action.
    private func conditions(_ kind: String) -> [Schema] {
        switch kind {
        case "send": return rules(["send"], names(.sent)) { ["with": fields($0.fields, isCondition: false)] }
        case "expect", "none", "until", "measure": return [reference("observed")]
        case "air":
            return rules(["pdu"], names(.air)) {
                ["where": fields($0.fields, isCondition: true), "with": fields($0.fields, isCondition: false)]
            }
        case "do":
            return vocabulary.actions.values.sorted { $0.name < $1.name }.map { action in
                let arguments = Dictionary(uniqueKeysWithValues: action.arguments.map { ($0.name, ["description": $0.about] as Schema) })
                let with = object(arguments, required: action.arguments.filter { $0.initial == nil }.map(\.name))
                return Self.rule(
                    ["do"], ["const": action.name], ["with": with, "result": fields(action.resultFields, isCondition: true)])
            }
        default: return []
        }
    }

    /// Returns a conditional schema for the PDUs that have the same fields.
    private func rules(_ keys: [String], _ names: [String], _ then: (Vocabulary.PDU) -> Schema) -> [Schema] {
        var groups: [(names: [String], then: Schema)] = []
        var places: [String: Int] = [:]
        for name in names {
            guard let pdu = vocabulary.pdus[name] else { continue }
            let schema = then(pdu)
            let place = places[SharedSchemas.text(schema), default: groups.count]
            places[SharedSchemas.text(schema)] = place
            if place == groups.count { groups.append(([name], schema)) } else { groups[place].names.append(name) }
        }
        return groups.map { Self.rule(keys, shared.reference(to: ["enum": $0.names]), $0.then) }
    }

    /// Returns a schema that holds where each of the keys that are present has the value.
    private static func rule(_ keys: [String], _ value: Schema, _ then: Schema) -> Schema {
        ["if": ["properties": Dictionary(uniqueKeysWithValues: keys.map { ($0, value) })], "then": ["properties": then]]
    }

    private func fields(_ fields: [Vocabulary.Field], isCondition: Bool) -> Schema {
        shared.reference(to: orWord(ownFields(fields, isCondition: isCondition)))
    }

    private func ownFields(_ fields: [Vocabulary.Field], isCondition: Bool) -> Schema {
        object(Dictionary(fields.map { ($0.name, value($0, isCondition)) }) { first, _ in first })
    }

    /// Returns the schema of a condition in place of a value: its names, and those of the value's parts.
    private func condition(_ parts: [String]) -> Schema {
        let names = SourceReader.conditionNames + ["text", "octet", "times", "part", "from", "join", "address"] + parts
        return ["type": "object", "propertyNames": ["enum": names] as Schema]
    }

    /// Returns the schema of a field's value, which fields of the same kind share.
    private func value(_ field: Vocabulary.Field, _ isCondition: Bool) -> Schema { shared.reference(to: ownValue(field, isCondition)) }

    /// Returns the schema of a field's value: a name, a number, octets or a reference, and for a condition also a predicate.
    private func ownValue(_ field: Vocabulary.Field, _ isCondition: Bool) -> Schema {
        var choices: [Schema] = [["type": "string", "pattern": "^\\$"]]
        switch field.kind {
        case .number(let span):
            choices.append(["type": "integer", "minimum": span.lowerBound, "maximum": span.upperBound])
            if !field.labels.isEmpty {
                choices.append(
                    shared.reference(
                        to: field.isFlags
                            ? ["type": "string", "examples": field.labels.keys.sorted()] : ["enum": field.labels.keys.sorted()]))
            }
        case .octets: choices += [["type": "string"], ["type": "array"], ["type": "object"]]
        case .any where field.isPlain: choices += [["type": ["string", "number", "array", "boolean"]]]
        case .address, .uuid, .any: choices += [["type": ["string", "number", "array", "object", "boolean"]]]
        case .list: choices.append(["type": "array"])
        case .rows: choices.append(["type": "array", "items": fields(field.columns, isCondition: isCondition)])
        case .record: choices.append(fields(field.columns, isCondition: isCondition))
        }
        if isCondition {
            choices.append(field.columns.isEmpty ? reference("condition") : condition(field.columns.map(\.name)))
        }
        return ["anyOf": choices]
    }
}
