import Foundation

/// Reads declaration files; mistakes are reported with file, line and column.
struct SchemaLoader {
    private(set) var namedTypes: [NamedType] = []
    /// All layers, in the order of `Layers.yaml`.
    private(set) var layers: [LayerInfo] = []
    private(set) var files: [DeclarationFile] = []
    private var documents: [(path: String, stem: String, root: Node)] = []
    private var structures: Set<String> = []

    mutating func load(_ files: [(path: String, stem: String)]) throws {
        for file in files {
            let text = try String(contentsOfFile: file.path, encoding: .utf8)
            do {
                guard let root = try DeclarationReader.read(text) else { continue }
                documents.append((file.path, file.stem, root))
            } catch let mistake as DeclarationReader.Mistake {
                throw SchemaError(file: file.path, line: mistake.line, column: mistake.column, text: mistake.text)
            }
        }
        for document in documents { try loadTypes(document.root, document.path) }
        for document in documents { try loadLayers(document.root, document.path) }
        for document in documents where document.root["layer"]?.string == "Structures" {
            for (key, _) in document.root["pdus"]?.mapping ?? [] { structures.insert(key.string ?? "") }
        }
        for document in documents where document.root["pdus"] != nil {
            self.files.append(try declarations(document.root, document.path, document.stem))
        }
        fillEventMasks()
    }

    /// Adds the masks' bits, which are declared with the events.
    private mutating func fillEventMasks() {
        for index in namedTypes.indices where namedTypes[index].isEventMask {
            for pdu in files.flatMap(\.pdus) {
                guard let mask = pdu.mask, mask.typeName == namedTypes[index].name else { continue }
                let label = pdu.name.replacingOccurrences(of: " [v", with: "_V").filter { $0 != "]" && $0 != "-" }
                namedTypes[index].values.append((mask.bit, label))
            }
            namedTypes[index].values.sort { $0.value < $1.value }
        }
    }

    private mutating func loadTypes(_ root: Node, _ path: String) throws {
        for kind in ["enums", "flags"] {
            for (key, node) in root[kind]?.mapping ?? [] {
                guard let name = key.string, let mapping = node.mapping else { throw error(key, path, "a type is a mapping") }
                var type = NamedType(name: Naming.type(name), octets: 1, isFlags: kind == "flags", section: "", values: [])
                for (key, value) in mapping {
                    let word = key.string ?? ""
                    if word == "type" {
                        type.octets = (Int((value.string ?? "u8").dropFirst()) ?? 8) / 8
                    } else if word == "section" {
                        type.section = value.string ?? ""
                    } else if word == "bits", value.string == "events" {
                        type.isEventMask = true
                    } else if let number = FieldParser.number(word), let label = value.string {
                        type.values.append((number, label))
                    } else {
                        throw error(key, path, "\(word) is not a value of \(name)")
                    }
                }
                namedTypes.append(type)
            }
        }
    }

    private func parser() -> FieldParser {
        FieldParser(
            namedTypes: Dictionary(namedTypes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }), structures: structures)
    }

    private mutating func loadLayers(_ root: Node, _ path: String) throws {
        for (key, node) in root["layers"]?.mapping ?? [] {
            guard let name = key.string, let about = node["about"]?.string, let title = node["title"]?.string else {
                throw error(key, path, "a layer has a title and says what it is about")
            }
            guard let header = Header(rawValue: node["header"]?.string ?? "none") else { throw error(node, path, "unknown header") }
            layers.append(
                LayerInfo(
                    name: name, about: about, title: title, header: header, prefix: node["prefix"]?.string ?? ""))
        }
    }

    private func declarations(_ root: Node, _ path: String, _ stem: String) throws -> DeclarationFile {
        guard let name = root["layer"]?.string, let layer = layers.first(where: { $0.name == name }) else {
            throw error(root, path, "a file of PDUs names its layer, one of \(layers.map(\.name).joined(separator: ", "))")
        }
        let ogf = root["ogf"].flatMap { FieldParser.number($0.string ?? "") } ?? 0
        let escape = root["escape"].flatMap { FieldParser.number($0.string ?? "") } ?? 0
        let event = root["event"].flatMap { FieldParser.number($0.string ?? "") }
        var result = DeclarationFile(
            layer: layer, part: root["part"]?.string ?? "", inlinable: root["inlinable"]?.string == "true", stem: stem, path: path,
            pdus: [])
        for (key, node) in root["pdus"]?.mapping ?? [] {
            guard let pdu = key.string else { throw error(key, path, "a PDU has a name") }
            var declaration = Declaration(name: pdu, line: key.line, code: 0, section: node["section"]?.string ?? "", fields: [])
            let code = node["code"].flatMap { FieldParser.number($0.string ?? "") } ?? 0
            if let event {
                declaration.code = event
                declaration.subevent = code
            } else {
                declaration.code = ogf << 10 | escape << 8 | code
            }
            try facts(node, layer.header, &declaration, path)
            declaration.relations = try RelationReader(path: path).read(node)
            declaration.endsInStatus = node["ends"]?.string == "Status"
            declaration.codec = try codec(node["codec"] ?? root["codec"], layer, path)
            declaration.fields = try fields(node["fields"], path)
            if layer.header == .command, !declaration.endsInStatus {
                declaration.returns =
                    node["returns"] == nil ? try [parser().field(key: "Status", line: "ErrorCode")] : try fields(node["returns"], path)
            }
            result.pdus.append(declaration)
        }
        return result
    }

    /// Reads the properties of a command or event besides its fields: `supported: 35.6`, `mask: le.4`, `since: 5.0`,
    /// `needs: [LE_2M_PHY, LE_Coded_PHY]`.
    private func facts(_ node: Node, _ header: Header, _ declaration: inout Declaration, _ path: String) throws {
        if header == .command {
            guard let text = node["supported"]?.string else {
                throw error(node, path, "a command says `supported: octet.bit` or `supported: none`")
            }
            if text != "none" {
                guard let (octet, bit) = Self.position(text), let octet = Int(octet), (0..<64).contains(octet), bit < 8 else {
                    throw error(node, path, "\(text) is not octet.bit")
                }
                declaration.supported = (octet, bit)
            }
        }
        if header == .event {
            guard let text = node["mask"]?.string else {
                throw error(node, path, "an event says `mask: page1.bit` and the like, or `mask: none`")
            }
            if text != "none" {
                guard let (mask, bit) = Self.position(text), ["page1", "page2", "le"].contains(mask), bit < 64 else {
                    throw error(node, path, "\(text) is not mask.bit")
                }
                declaration.mask = MaskPosition(mask: mask, bit: bit)
            }
        }
        if let node = node["since"] {
            guard let version = node.string.flatMap({ Self.versions[$0] }) else {
                throw error(node, path, "since one of \(Self.versions.keys.sorted().joined(separator: ", "))")
            }
            declaration.firstVersion = version
        }
        declaration.needs = node["needs"]?.sequence?.compactMap(\.string) ?? node["needs"]?.string.map { [$0] } ?? []
        let features = namedTypes.first { $0.name == "LEFeatures" }?.values.map(\.name) ?? []
        for feature in declaration.needs where !features.contains(feature) { throw error(node, path, "\(feature) is not an LE feature") }
    }

    /// Reads `codec: none`, of a PDU or for a whole file. A layer with an enumeration of all PDUs has a struct for each.
    private func codec(_ node: Node?, _ layer: LayerInfo, _ path: String) throws -> Codec {
        guard let node else { return .generated }
        guard let codec = node.string.flatMap(Codec.init) else {
            throw error(node, path, "a codec is one of \(Codec.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        guard codec != .none || !layer.header.hasMessage else {
            throw error(node, path, "every PDU of \(layer.name) has a struct: \(layer.name).Message enumerates them")
        }
        return codec
    }

    private static func position(_ text: String) -> (String, Int)? {
        let parts = text.split(separator: ".").map(String.init)
        guard parts.count == 2, let bit = Int(parts[1]), bit >= 0 else { return nil }
        return (parts[0], bit)
    }

    /// Versions of the Core Specification and their assigned numbers.
    private static let versions = [
        "4.1": 7, "4.2": 8, "5.0": 9, "5.1": 10, "5.2": 11, "5.3": 12, "5.4": 13, "6.0": 14, "6.1": 15, "6.2": 16,
        "6.3": 17,
    ]

    private func fields(_ node: Node?, _ path: String) throws -> [Field] {
        guard let node else { return [] }
        guard let sequence = node.sequence else { throw error(node, path, "fields are a list") }
        var result: [Field] = []
        for item in sequence {
            guard let mapping = item.mapping, mapping.count == 1, let (keyNode, value) = mapping.first, let key = keyNode.string else {
                throw error(item, path, "a field is one `name: type`")
            }
            do { result.append(try field(key, value, path)) } catch let problem as FieldParser.Problem {
                throw error(keyNode, path, problem.text)
            }
        }
        for field in result {
            if let kind = field.notes.kindField, !result.contains(where: { $0.name == kind }) {
                throw error(node, path, "\(field.name): there is no field \(kind) beside it")
            }
        }
        ReservedBits.number(&result)
        Derivation.mark(&result)
        return result
    }

    private func field(_ key: String, _ value: Node, _ path: String) throws -> Field {
        let parser = parser()
        guard value.sequence != nil else { return try parser.field(key: key, line: value.string ?? "") }
        if key.hasPrefix("bits"), let octets = Int(key.dropFirst(4)).map({ $0 / 8 }) {
            var members: [Field] = []
            for item in value.sequence ?? [] {
                guard let (memberKey, memberValue) = item.mapping?.first else {
                    throw error(item, path, "a bit field is one `name: width`")
                }
                members.append(try parser.member(key: memberKey.string ?? "", line: memberValue.string ?? ""))
            }
            return Field(name: members.first?.name ?? key, shape: .bits(octets: octets, members: members))
        }
        if key.hasPrefix("within ") {
            let length = String(key.dropFirst(7))
            return Field(name: length + " block", shape: .block(length: length, try fields(value, path)))
        }
        let (name, count) = try parser.split(key)
        guard let count else { throw FieldParser.Problem(text: "\(key): a group needs a count") }
        return Field(name: name, shape: .rows(count, type: Naming.type(Naming.singular(name)), try fields(value, path)))
    }

    private func error(_ node: Node, _ path: String, _ text: String) -> SchemaError {
        SchemaError(file: path, line: node.line, column: node.column, text: text)
    }
}

/// Gives each group of reserved bits in a list of fields a unique name: `RFU`, `RFU_2` ...
enum ReservedBits {
    static func number(_ fields: inout [Field]) {
        var count = 0
        for index in fields.indices {
            guard case .bits(let octets, var members) = fields[index].shape else { continue }
            for member in members.indices where members[member].name == "RFU" {
                count += 1
                if count > 1 { members[member].name = "RFU_\(count)" }
            }
            fields[index].shape = .bits(octets: octets, members: members)
        }
    }
}

/// Marks fields that follow from other fields, so that a typed struct is always consistent.
enum Derivation {
    static func mark(_ fields: inout [Field]) {
        var names: Set<String> = []
        collect(fields, into: &names)
        apply(names, &fields)
    }

    private static func apply(_ names: Set<String>, _ fields: inout [Field]) {
        for index in fields.indices {
            if names.contains(fields[index].name), case .integer = fields[index].shape { fields[index].derived = true }
            if case .bits(let octets, var members) = fields[index].shape {
                for member in members.indices where names.contains(members[member].name) { members[member].derived = true }
                fields[index].shape = .bits(octets: octets, members: members)
            }
            if case .block(let length, var inner) = fields[index].shape {
                apply(names, &inner)
                fields[index].shape = .block(length: length, inner)
            }
        }
    }

    private static func collect(_ fields: [Field], into names: inout Set<String>) {
        for field in fields {
            if let condition = field.condition { names.insert(condition.field) }
            switch field.shape {
            case .bytes(.field(let name)), .uuid(.field(let name)): names.insert(name)
            case .array(let count, _), .rows(let count, _, _):
                if case .field(let name) = count { names.insert(name) }
                if case .restSized(let name, _) = count { names.insert(name) }
            case .block(let length, let inner):
                names.insert(length)
                collect(inner, into: &names)
            default: break
            }
        }
    }
}
