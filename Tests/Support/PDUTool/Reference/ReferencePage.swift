import BBPackets

/// The reference page: all declared PDUs and named values in one HTML page without external files.
enum ReferencePage {
    static func html() -> String {
        let layers = PDUCatalog.layers
        var page = HTML()
        page.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
        page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        page.element("title") { $0.text("Bluebench: PDUs") }
        page.raw("<style>\(style)</style>\n</head>\n<body>\n")
        page.element("header") { header(&$0) }
        page.element("nav") { contents(layers, &$0) }
        page.element("main") { page in
            for layer in layers { section(layer, &page) }
            namedValues(&page)
        }
        page.raw("<script>\(script)</script>\n</body>\n</html>\n")
        return page.content
    }

    private static func header(_ page: inout HTML) {
        page.element("h1") { $0.text("PDUs") }
        page.raw("<input id=\"search\" type=\"search\" placeholder=\"name, code, field, value, section\" aria-label=\"Search\" autofocus>")
        page.element("output", ["id": "found"]) { $0.text("\(PDUCatalog.all.count) PDUs") }
    }

    private static func contents(_ layers: [Layer], _ page: inout HTML) {
        page.element("ul") { page in
            for layer in layers {
                let count = PDUCatalog.all.count { $0.layer == layer }
                page.element("li") { page in
                    page.link(to: "layer-\(layer)", layer.title)
                    page.element("span", ["class": "count"]) { $0.text(" \(count)") }
                }
            }
            page.element("li") { $0.link(to: "values", "Named values") }
        }
    }

    private static func section(_ layer: Layer, _ page: inout HTML) {
        page.element("section", ["id": "layer-\(layer)"]) { page in
            page.element("h2") { $0.text(layer.title) }
            for declaration in PDUCatalog.all where declaration.layer == layer { article(declaration, &page) }
        }
    }

    private static func namedValues(_ page: inout HTML) {
        page.element("section", ["id": "values"]) { page in
            page.element("h2") { $0.text("Named values") }
            for type in PDUCatalog.types {
                page.element("article", ["id": "type-\(type.name)"]) { page in
                    page.element("h3") { $0.text(type.name) }
                    page.element("p", ["class": "about"]) {
                        $0.text("\(type.isFlags ? "Flags, by bit" : "One of these"), \(type.octets) octet\(type.octets == 1 ? "" : "s")")
                    }
                    FieldTable.values(type.values, asBits: type.isFlags, width: type.octets * 8, &page)
                }
            }
        }
    }
}
