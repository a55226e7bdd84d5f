import BBConformance
import Foundation
import Testing

@testable import BBReport

/// The schema against the types that write and read `results.json`.
struct ResultsSchemaTests {
    private typealias Object = [String: Any]

    private static func schema() throws -> Object {
        try #require(try JSONSerialization.jsonObject(with: Data(ResultsSchema.text.utf8)) as? Object)
    }

    /// A document that has every field of the schema.
    private static func example(_ part: Object, _ root: Object, verdict: Verdict) throws -> Any {
        if let name = (part["$ref"] as? String)?.split(separator: "/").last {
            let found = try #require((root["definitions"] as? Object)?[String(name)] as? Object)
            return try example(found, root, verdict: verdict)
        }
        if let words = part["enum"] as? [String] { return words.contains(verdict.rawValue) ? verdict.rawValue : words[0] }
        switch part["type"] as? String {
        case "object":
            if let more = part["additionalProperties"] as? Object { return ["name": try example(more, root, verdict: verdict)] }
            let properties = try #require(part["properties"] as? Object)
            return try properties.mapValues { try example(try #require($0 as? Object), root, verdict: verdict) }
        case "array": return [try example(try #require(part["items"] as? Object), root, verdict: verdict)]
        case "boolean": return true
        // The company whose subversions have a firmware version.
        case "integer", "number": return 93
        default:
            let pattern = part["pattern"] as? String ?? ""
            return pattern.contains(":") ? "0a12:0001" : pattern.contains("{4}") ? "0001" : "7"
        }
    }

    /// The names of all fields, each with its path.
    private static func fields(_ value: Any, _ path: String = "") -> Set<String> {
        if let list = value as? [Any] { return list.reduce(into: []) { $0.formUnion(fields($1, path)) } }
        guard let object = value as? Object else { return [] }
        return object.reduce(into: []) { $0.formUnion(fields($1.value, "\(path).\($1.key)").union(["\(path).\($1.key)"])) }
    }

    private static func written(_ example: Any) throws -> Set<String> {
        let document = try JSONDecoder().decode(ResultsJSON.Document.self, from: JSONSerialization.data(withJSONObject: example))
        return fields(try JSONSerialization.jsonObject(with: Data(try ResultsJSON.encode(document).utf8)))
    }

    /// Each declared field is read and written again, and nothing else is. A case has packets if it did not pass, and is flaky if it did.
    @Test func theSchemaHasTheFieldsOfTheTypes() throws {
        let root = try Self.schema()
        let failed = try Self.example(root, root, verdict: .fail)
        var flaky = try #require(failed as? Object)
        var testCase = try #require((flaky["cases"] as? [Object])?.first)
        testCase["verdict"] = Verdict.pass.rawValue
        flaky["cases"] = [testCase]
        let all = Self.fields(failed)
        let found = try Self.written(failed).union(Self.written(flaky))
        #expect(found.subtracting(all) == [] && all.subtracting(found) == [])
    }

    @Test func aDocumentOfARunHasWhatIsRequired() throws {
        let root = try Self.schema()
        let text = try ResultsJSON.text(ReportTests.run)
        let document = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? Object)
        let definitions = try #require(root["definitions"] as? Object)
        func required(_ schema: Any?) throws -> Set<String> { Set(try #require((schema as? Object)?["required"] as? [String])) }
        func names(_ value: Any?) -> Set<String> { Set((value as? Object ?? [:]).keys) }
        #expect(try required(root).isSubset(of: names(document)))
        #expect(try required(definitions["RunFacts"]).isSubset(of: names(document["run"])))
        #expect(try required(definitions["Summary"]).isSubset(of: names(document["summary"])))
        for testCase in try #require(document["cases"] as? [Object]) {
            #expect(try required(definitions["Case"]).isSubset(of: names(testCase)))
        }
    }
}
