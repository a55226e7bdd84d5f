import BBPackets

/// The description of a field's type.
enum FieldWords {
    static func write(_ shape: FieldDeclaration.Shape, _ page: inout HTML) {
        switch shape {
        case .integer(let octets, let signed, let bigEndian, let type):
            if let type {
                named(type, &page)
                page.text(", ")
            }
            page.text((signed ? "i" : "u") + "\(octets * 8)" + (bigEndian ? " big-endian" : ""))
        case .bytes(let size): size.write("octet", &page)
        case .uuid(let size):
            page.text("UUID, ")
            size.write("octet", &page)
        case .bits(let octets, _): page.text("\(octets * 8) bits, from the least significant:")
        case .bit(let width, let type):
            if let type {
                named(type, &page)
                page.text(", ")
            }
            page.text(width == 1 ? "1 bit" : "\(width) bits")
        case .reserved(let octets): page.text("reserved, \(octets) octet\(octets == 1 ? "" : "s")")
        case .array(let count, let element):
            write(element, &page)
            page.text(", ")
            count.write("", &page)
        case .rows(let count, _): count.write("rows, ", &page)
        case .nested(let type):
            if let structure = PDUCatalog.declaration(layer: .structures, name: type) {
                page.link(to: ReferencePage.identifier(structure), type)
            } else {
                page.text(type)
            }
        case .block(let length, _):
            page.text("inside as many octets as ")
            page.code(length)
            page.text(" says:")
        }
    }

    private static func named(_ type: String, _ page: inout HTML) {
        if PDUCatalog.type(named: type) != nil { page.link(to: "type-\(type)", type) } else { page.text(type) }
    }
}

extension FieldDeclaration.Size {
    fileprivate func write(_ what: String, _ page: inout HTML) {
        switch self {
        case .fixed(let count): page.text("\(count) \(what)\(count == 1 ? "" : "s")")
        case .rest: page.text("\(what)s to the end")
        case .restLeaving(let count): page.text("\(what)s to the end but \(count)")
        case .element: page.text("one data element")
        case .field(let name):
            page.text("as many \(what)s as ")
            page.code(name)
            page.text(" says")
        }
    }
}

extension FieldDeclaration.Count {
    fileprivate func write(_ what: String, _ page: inout HTML) {
        switch self {
        case .fixed(let count): page.text("\(what)\(count) times")
        case .rest: page.text("\(what)repeated to the end")
        case .field(let name):
            page.text("\(what)as many as ")
            page.code(name)
            page.text(" says")
        case .popcount(let name):
            page.text("\(what)one for each bit set in ")
            page.code(name)
        case .restSized(let name, let table):
            page.text("\(what)repeated to the end, each of the octets that ")
            page.code(name)
            page.text(table.isEmpty ? " says" : " stands for: " + table.map { "\($0.key) for \($0.octets)" }.joined(separator: ", "))
        }
    }
}
