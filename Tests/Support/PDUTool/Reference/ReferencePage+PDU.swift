import BBPackets

extension ReferencePage {
    static func identifier(_ declaration: PDUDeclaration) -> String { declaration.layer.rawValue + "." + declaration.name }

    static func article(_ declaration: PDUDeclaration, _ page: inout HTML) {
        let identifier = identifier(declaration)
        page.element("article", ["id": identifier, "class": "pdu"]) { page in
            page.element("h3") { page in
                page.link(to: identifier, declaration.name)
                if let code = code(of: declaration) {
                    page.raw(" ")
                    page.code(code)
                }
            }
            page.element("p", ["class": "about"]) { $0.text(about(declaration)) }
            FieldTable.table(declaration.fields, &page)
            answer(declaration, &page)
        }
    }

    /// Returns the code that identifies the PDU; nil if it has none.
    private static func code(of declaration: PDUDeclaration) -> String? {
        let code = declaration.code
        switch declaration.layer.header {
        case .command: return Hex.number(code, bits: 16)
        case .event:
            return Hex.number(code, bits: 8) + (declaration.subevent.map { ", subevent " + Hex.number($0, bits: 8) } ?? "")
        case .data, .opcode, .signaling: return Hex.number(code, bits: 8)
        case .sdp, .rfcomm, .avdtp, .avrcp: return Hex.number(code, bits: code > 0xFF ? 16 : 8)
        case .lmp: return code > 0xFF ? "\(code >> 8)/\(code & 0xFF)" : "\(code)"
        case .advertising: return "0b" + binary(code, digits: 4)
        case .none: return nil
        }
    }

    private static func binary(_ number: Int, digits: Int) -> String {
        let text = String(number, radix: 2)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    private static func about(_ declaration: PDUDeclaration) -> String {
        var parts = [declaration.section]
        if declaration.layer == .hciCommands {
            parts.append("OGF \(Hex.number(declaration.code >> 10, bits: 8)), OCF \(Hex.number(declaration.code & 0x3FF, bits: 16))")
        }
        if let bit = declaration.supportedCommandsBit { parts.append("Supported_Commands octet \(bit.octet), bit \(bit.bit)") }
        if declaration.layer == .hciEvents { parts.append(mask(declaration.maskPosition)) }
        if !declaration.neededFeatures.isEmpty { parts.append("needs " + declaration.neededFeatures.joined(separator: " or ")) }
        if declaration.fields.isEmpty { parts.append("no parameters") }
        return parts.filter { !$0.isEmpty }.joined(separator: " · ")
    }

    private static func mask(_ position: EventMaskPosition) -> String {
        switch position {
        case .page1(let bit): "event mask, bit \(bit)"
        case .page2(let bit): "event mask page 2, bit \(bit)"
        case .le(let bit): "LE event mask, bit \(bit)"
        case .unmaskable: "cannot be masked"
        }
    }

    /// Writes the answer to a command.
    private static func answer(_ declaration: PDUDeclaration, _ page: inout HTML) {
        guard declaration.layer == .hciCommands else { return }
        guard declaration.completion == .complete else {
            return page.element("p", ["class": "answer"]) { page in
                page.text("Answered by ")
                page.link(to: "HCIEvents.Command_Status", "Command_Status")
            }
        }
        page.element("p", ["class": "answer"]) { page in
            page.text("Returns by ")
            page.link(to: "HCIEvents.Command_Complete", "Command_Complete")
        }
        FieldTable.table(declaration.returns ?? [], &page)
    }
}
