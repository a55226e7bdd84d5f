import BBCases
import BBPackets
import Foundation

/// A JSON Schema (draft 7) of device descriptions.
public enum DescriptionSchema {
    private typealias Schema = [String: Any]

    public static var text: String {
        var schema = object([
            "device": object(["name": line, "address": line]),
            "advertising": object([
                "connectable": truth, "legacy": truth, "data": octets, "response": octets, "period": line,
            ]),
            "link": object([
                "features": list(among: Features.names.sorted()), "version": number(0...255), "company": number(0...0xFFFF),
                "mtu": number(23...517), "phys": list(among: ["1M", "2M", "Coded"]),
                "dataLength": number(HCICommands.LESetDataLength.txOctetsRange.integers),
                "asks": list(among: ["security", "parameters", "mtu", "services"]), "readvertises": line,
            ]),
            "pairing": object([
                "declined": truth, "io": line, "requirements": ["type": "array", "items": line], "keySize": number(0...255),
            ]),
            "services": rows(service),
            "declares": object([
                "servicesChange": truth, "bonds": truth, "readvertisesWithin": line, "protects": rows(protected), "sends": rows(sender),
                "changes": change, "channels": rows(channel),
            ]),
            "leaveOut": rows(object(["case": line, "characteristic": line, "because": line], required: ["because"])),
            "remarks": ["type": "array", "items": line],
        ])
        schema["$schema"] = "http://json-schema.org/draft-07/schema#"
        schema["title"] = "A device over the air"
        let options: JSONSerialization.WritingOptions = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? JSONSerialization.data(withJSONObject: schema, options: options) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }

    private static var service: Schema {
        object(
            [
                "uuid": line, "handles": ["type": "array", "items": handle, "minItems": 2, "maxItems": 2], "primary": truth,
                "characteristics": rows(characteristic),
            ], required: ["uuid", "handles"])
    }

    private static var characteristic: Schema {
        object(
            [
                "uuid": line, "declaration": handle, "handle": handle, "end": handle,
                "properties": list(among: DeviceDescription.propertyNames), "value": octets, "error": error,
                "protection": error,
                "descriptors": rows(
                    object(["uuid": line, "handle": handle, "value": octets, "error": error], required: ["uuid", "handle"])),
            ], required: ["uuid", "declaration", "handle"])
    }

    private static var protected: Schema {
        object(
            [
                "characteristic": line, "needs": need,
                "value": octets, "access": list(among: DeviceDescription.Protected.Access.allCases.map(\.rawValue)),
            ], required: ["characteristic"])
    }

    private static var channel: Schema {
        object(["psm": number(1...0xFF), "echoes": truth, "needs": need], required: ["psm"])
    }

    private static var need: Schema { ["enum": DeviceDescription.Protected.Need.allCases.map(\.rawValue)] }

    private static var sender: Schema {
        let after = object(["characteristic": line, "value": octets], required: ["characteristic", "value"])
        return object(["characteristic": line, "within": line, "after": after], required: ["characteristic", "within"])
    }

    private static var change: Schema {
        object(["characteristic": line, "value": octets, "undo": octets], required: ["characteristic", "value", "undo"])
    }

    // MARK: Parts

    private static var line: Schema { ["type": "string"] }
    private static var truth: Schema { ["type": "boolean"] }
    private static var handle: Schema { number(1...0xFFFF) }
    private static var octets: Schema { ["type": "string", "pattern": "^([0-9A-Fa-f]{2} ?)*$"] }
    private static var error: Schema { ["anyOf": [["enum": DeviceDescription.errorNames.map(\.name)] as Schema, number(1...255)]] }

    private static func number(_ span: ClosedRange<Int>) -> Schema {
        ["type": "integer", "minimum": span.lowerBound, "maximum": span.upperBound]
    }

    private static func list(among words: [String]) -> Schema { ["type": "array", "items": ["enum": words] as Schema] }
    private static func rows(_ row: Schema) -> Schema { ["type": "array", "items": row] }

    private static func object(_ properties: Schema, required: [String] = []) -> Schema {
        var schema: Schema = ["type": "object", "properties": properties, "additionalProperties": false]
        if !required.isEmpty { schema["required"] = required }
        return schema
    }
}
