import BBHCI
import BBPackets
import BBTiming

/// The values that the specification defines for the fields of events and answers. Core Vol 4, Part E, 7.
///
/// Values that a controller passes on from its peer are not judged, and after a failure only the Status is.
enum DefinedValues {
    /// A field with a value that is not defined.
    struct Fault {
        var field: String
        var wanted: String
        var got: String
    }

    /// Finds an undefined value in an event; nil if there is none.
    static func fault(in event: HCIPacket) -> Fault? {
        if let opcode = event.completedOpcode {
            guard let command = PDUCatalog.command(opcode: opcode), command.company == nil,
                let rules = rules(of: command, command.returns ?? []),
                let values = DynamicPDU(hci: event)["Return_Parameters"]?.structure
            else { return nil }
            return rules.fault(in: values)
        }
        guard let code = event.eventCode, let declaration = PDUCatalog.event(code: code, subevent: event.leSubevent),
            !relayed.contains(declaration.name), let rules = rules(of: declaration, declaration.fields)
        else { return nil }
        return rules.fault(in: DynamicPDU(hci: event).fields)
    }

    /// Finds an undefined value in a control PDU; nil if there is none.
    static func fault(inControl pdu: DynamicPDU) -> Fault? {
        pdu.declaration.flatMap { rules(of: $0, $0.fields)?.fault(in: pdu.fields) }
    }

    /// Finds an undefined value among the parameters of a command; nil if there is none.
    static func fault(inCommand pdu: DynamicPDU) -> Fault? {
        guard let command = pdu.declaration else { return nil }
        return parameters(ObjectIdentifier(command)) {
            let rules = Rules(command.fields)
            return rules.isUseful ? rules : nil
        }?.fault(in: pdu.fields)
    }

    private static let known = Memo<ObjectIdentifier, Rules?>()
    /// The rules for the parameters of commands, whose return parameters have others.
    private static let parameters = Memo<ObjectIdentifier, Rules?>()

    /// Returns the rules for the fields of an event or a control PDU, or the return parameters of a command; nil if there are none.
    private static func rules(of declaration: PDUDeclaration, _ fields: [FieldDeclaration]) -> Rules? {
        known(ObjectIdentifier(declaration)) {
            let rules = Rules(fields)
            return rules.isUseful ? rules : nil
        }
    }

    /// The values that the fields of a PDU, or of its rows, may have.
    private struct Rules {
        /// The error codes, if there is a Status.
        var status: NamedType?
        var fields: [Rule]
        /// True if one of the fields, or of those in rows, is judged.
        var isUseful: Bool { status != nil || fields.contains { $0.inner?.isUseful ?? true } }

        init(_ declarations: [FieldDeclaration]) {
            let flat = declarations.flat
            status = flat.first { $0.name == DefinedValues.status }?.type
            fields = flat.compactMap(Rule.init)
        }

        func fault(in values: [DynamicField]) -> Fault? {
            if let result = values.first(where: { $0.name == DefinedValues.status })?.value.int, result != 0 {
                return status?.name(of: result) == nil
                    ? Fault(field: DefinedValues.status, wanted: "an error code", got: "\(result)") : nil
            }
            for rule in fields {
                guard let value = values.first(where: { $0.name == rule.name })?.value else { continue }
                if let fault = rule.fault(of: value) { return fault }
            }
            return nil
        }
    }

    /// The values that one field may have.
    private struct Rule {
        var name: String
        var isReserved: Bool
        var range: ClosedRange<Int>?
        /// The values with a meaning; empty if the range decides.
        var defined: Set<Int>
        /// The rules of the fields in its rows.
        var inner: Rules?

        /// Creates the rule of a field; nil if it may have any value.
        init?(_ field: FieldDeclaration) {
            guard !growing.contains(field.name) else { return nil }
            name = field.name
            isReserved = field.isReserved
            range = field.range
            defined = range == nil ? Set(field.definedValues) : []
            inner = field.inner.isEmpty ? nil : Rules(field.inner)
            if inner == nil, !isReserved, range == nil, defined.isEmpty { return nil }
        }

        func fault(of value: FieldValue) -> Fault? {
            if let inner {
                for row in value.list ?? [value] {
                    if let fields = row.structure, let fault = inner.fault(in: fields) { return fault }
                }
                return nil
            }
            if isReserved {
                let isZero = value.int.map { $0 == 0 } ?? value.octets?.allSatisfy { $0 == 0 } ?? true
                return isZero ? nil : Fault(field: name, wanted: "0, since it is reserved", got: "another value")
            }
            guard let number = value.int, !(always[name]?.contains(number) ?? false) else { return nil }
            if let range {
                guard !range.contains(number) else { return nil }
                return Fault(field: name, wanted: "\(range.lowerBound) to \(range.upperBound)", got: "\(number)")
            }
            guard !defined.contains(number) else { return nil }
            let wanted = defined.sorted().map(String.init).joined(separator: ", ")
            return Fault(field: name, wanted: "one of \(wanted)", got: "\(number)")
        }
    }

    private static let status = "Status"
    /// Values outside their range with a meaning of their own: an RSSI of 127 is not available.
    private static let always: [String: Set<Int>] = ["RSSI": [127]]

    /// Fields that get further values with each version of the specification.
    private static let growing: Set<String> = ["HCI_Version", "LMP_Version", "Version"]

    /// Events with values of the peer, and the inquiry results, whose reserved octets had a meaning before Core 1.2.
    private static let relayed: Set<String> = [
        HCIEvents.IOCapabilityResponse.name, HCIEvents.KeypressNotification.name, HCIEvents.LERemoteConnectionParameterRequest.name,
        HCIEvents.ConnectionRequest.name, HCIEvents.InquiryResult.name, HCIEvents.InquiryResultWithRSSI.name,
        HCIEvents.ExtendedInquiryResult.name,
    ]
}

extension FieldDeclaration {
    /// The values with a meaning; empty if any value has one, or if they are bits or error codes.
    fileprivate var definedValues: [Int] {
        if !labels.isEmpty { return labels.map(\.value) }
        guard let type, !type.isFlags, type.name != "Error_Code", type.name != "ErrorCode", !type.name.hasSuffix("Opcode") else {
            return []
        }
        return type.values.map(\.value)
    }
}
