import Packets

extension PDUBook {
    /// A mismatch in which codes of errors are spelt out.
    static func spoken(_ mismatch: Mismatch) -> String {
        guard let field = mismatch.path.split(separator: ".").last, let type = codes[String(field)].flatMap(PDUCatalog.type(named:)) else {
            return mismatch.text
        }
        func name(_ text: String) -> String {
            guard let number = Int(text.prefix { $0.isNumber }), let label = type.values.first(where: { $0.value == number })?.name else {
                return text
            }
            return "\(text.contains("(") ? text : "\(number)") \(label)"
        }
        return Mismatch(path: mismatch.path, expected: name(mismatch.expected), actual: name(mismatch.actual)).text
    }

    private static let codes = ["Status": "ErrorCode", "Reason": "ErrorCode", "Error_Code": "ATTErrorCode", "ErrorCode": "ErrorCode"]
}

extension Vocabulary {
    /// Every declared PDU, every action of the host, every feature and setting.
    ///
    /// - Parameter covers: the public test-case ids that may be named.
    public static func declared(covers: Set<String>) -> Vocabulary {
        let layers: [String: PDU.Layer] = [
            "HCICommands": .command, "HCIEvents": .event, "ATT": .att, "SMP": .smp, "L2CAPSignaling": .signalling, "LLControl": .linkLayer,
            "Advertising": .linkLayer,
        ]
        var pdus: [PDU] = []
        for declaration in PDUCatalog.all {
            guard let layer = layers[declaration.layer] else { continue }
            var fields = fields(declaration.fields)
            if layer == .att || layer == .smp || layer == .signalling { fields.append(Field("Connection_Handle")) }
            if layer == .signalling { fields.append(Field("Identifier")) }
            fields.append(Field("trailing"))
            var returns = declaration.returns.map { self.fields($0) }
            if layer == .command, declaration.completion == .status { returns = nil }
            pdus.append(PDU(name: declaration.name, layer: layer, fields: fields, returns: returns))
        }
        return Vocabulary(
            pdus: pdus, actions: NamedActions.all.map { $0.shape }, features: Features.names, settings: ControllerSettings.names,
            covers: covers)
    }

    private static func fields(_ declarations: [FieldDeclaration]) -> [Field] {
        PDUBook.flat(declarations).map { declaration in
            var labels: [String: Int] = [:]
            for label in declaration.labels { labels[label.name] = label.value }
            if let type = declaration.type {
                for value in type.values { labels[value.name] = type.isFlags ? 1 << value.value : value.value }
            }
            return Field(declaration.name, labels: labels, columns: columns(declaration.shape))
        }
    }

    private static func columns(_ shape: FieldDeclaration.Shape) -> [Field] {
        switch shape {
        case .rows(_, let inner): fields(inner)
        case .nested(let type): fields(PDUCatalog.declaration(layer: "Structures", name: type)?.fields ?? [])
        default: []
        }
    }
}
