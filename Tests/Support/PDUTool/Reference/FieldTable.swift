import BBPackets

/// Fields as rows of a table: name, type, unit and range, values.
enum FieldTable {
    static func table(_ fields: [FieldDeclaration], _ page: inout HTML) {
        guard !fields.isEmpty else { return }
        page.element("table", ["class": "fields"]) { page in
            page.raw("<thead><tr><th>field</th><th>type</th><th>unit and range</th><th>values</th></tr></thead>\n")
            page.element("tbody") { page in rows(fields, depth: 0, &page) }
        }
    }

    static func values(_ values: [(value: Int, name: String)], asBits: Bool, width: Int, _ page: inout HTML) {
        page.element("table", ["class": "values"]) { page in
            page.element("tbody") { page in
                for (value, name) in values {
                    page.element("tr") { page in
                        page.element("td") { $0.code(asBits ? "bit \(value)" : Hex.number(value, bits: width)) }
                        page.element("td") { $0.text(name) }
                    }
                }
            }
        }
    }

    private static func rows(_ fields: [FieldDeclaration], depth: Int, _ page: inout HTML) {
        for field in fields {
            page.element("tr", ["class": "depth\(min(depth, 3))"]) { page in
                page.element("td") { $0.code(field.name) }
                page.element("td") { page in
                    FieldWords.write(field.shape, &page)
                    condition(field, &page)
                }
                page.element("td") { $0.text(quantity(field)) }
                page.element("td") { page in labels(field, &page) }
            }
            rows(parts(of: field), depth: depth + 1, &page)
        }
    }

    /// Returns the fields inside this one. A structure has its own entry.
    private static func parts(of field: FieldDeclaration) -> [FieldDeclaration] {
        switch field.shape {
        case .bits(_, let members): members
        case .rows(_, let inner), .block(_, let inner): inner
        default: []
        }
    }

    private static func condition(_ field: FieldDeclaration, _ page: inout HTML) {
        guard let (name, bit) = field.condition else { return }
        page.text(", present when bit \(bit) of ")
        page.code(name)
        page.text(" is set")
    }

    private static func quantity(_ field: FieldDeclaration) -> String {
        var parts: [String] = []
        if let unit = field.unit { parts.append(field.scale.map { "N × \($0) \(unit)" } ?? unit) }
        if let range = field.range {
            let ends = [range.lowerBound, range.upperBound]
            parts.append(ends.map { number($0, of: field) }.joined(separator: "…"))
            let inUnits = ends.compactMap { scaled($0, of: field) }
            if inUnits.count == 2 { parts.append("(\(inUnits.joined(separator: "…")))") }
        }
        return parts.joined(separator: " ")
    }

    private static func number(_ value: Int, of field: FieldDeclaration) -> String {
        if case .integer(_, true, _, _) = field.shape { return "\(value)" }
        return value < 0 ? "\(value)" : Hex.number(value, bits: max(8, field.width))
    }

    /// Returns the value in its unit, as the decoder formats it, if one count is not one unit.
    private static func scaled(_ value: Int, of field: FieldDeclaration) -> String? {
        guard field.scale != nil else { return nil }
        let text = field.text(.integer(Int128(value)))
        guard let start = text.firstIndex(of: "("), text.last == ")" else { return nil }
        return String(text[text.index(after: start)...].dropLast())
    }

    private static func labels(_ field: FieldDeclaration, _ page: inout HTML) {
        for (index, label) in field.labels.enumerated() {
            if index > 0 { page.raw("<br>") }
            page.code(Hex.number(label.value, bits: max(8, field.width)))
            page.text(" " + label.name)
        }
    }
}
