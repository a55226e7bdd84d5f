import Packets
import Simulation

/// A subject's rules as its virtual controller understands them.
enum ControllerFaults {
    /// Nil for a rule about a PDU that controllers do not send of themselves.
    static func rewrite(_ rule: Fault.Rewrite) throws -> PacketRewrite? {
        let layers: [PacketRewrite.Layer] = [.linkLayerControl, .events]
        guard let layer = layers.first(where: { PDUCatalog.declaration(layer: $0.rawValue, name: rule.pdu) != nil }),
            let declaration = PDUCatalog.declaration(layer: layer.rawValue, name: rule.pdu)
        else { return nil }
        do {
            var rewrite = try PacketRewrite(layer, rule.pdu, try effect(rule.change, declaration))
            rewrite.skip = rule.skip
            rewrite.count = rule.times
            rewrite.condition = try condition(rule, declaration)
            return rewrite
        } catch let error as PDUBook.Failure {
            throw Problem(rule.position, "\(rule.pdu): \(error.text)")
        } catch let error as DynamicPDUError {
            throw Problem(rule.position, "\(error)")
        }
    }

    private static func effect(_ change: Fault.Change, _ declaration: PDUDeclaration) throws -> PacketRewrite.Effect {
        switch change {
        case .drop: .drop
        case .duplicate: .duplicate
        case .delay(let events): .delay(.milliseconds(30) * events)
        case .set(let entries): .set(try PDUBook.dynamic(try values(entries), declaration.fields))
        case .replace(let name, let entries): .replace(try PDUBook.encode(name, try values(entries)))
        }
    }

    private static func values(_ entries: [Operand.Entry]) throws -> CaseRecord {
        guard case .record(let record) = try Variables().resolve(.record(entries)) else { return CaseRecord() }
        return record
    }

    private static func condition(_ rule: Fault.Rewrite, _ declaration: PDUDeclaration) throws -> [DynamicField] {
        var record = CaseRecord()
        for field in rule.fields {
            guard case .equals(let operand) = field.predicate else {
                throw Problem(field.position, "a rule for a controller's PDUs compares for equality only")
            }
            record[field.name] = try Variables().resolve(operand)
        }
        return try PDUBook.dynamic(record, declaration.fields)
    }
}
