import Cases
import HCI
import Packets

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
            guard answers.contains(opcode), let returns = PDUCatalog.command(opcode: opcode)?.returns,
                let values = DynamicPDU(hci: event)["Return_Parameters"]?.structure
            else { return nil }
            return fault(in: values, returns)
        }
        guard let code = event.eventCode, events.contains(key(Int(code), event.leSubevent.map(Int.init))) else { return nil }
        let pdu = DynamicPDU(hci: event)
        return pdu.declaration.flatMap { fault(in: pdu.fields, $0.fields) }
    }

    /// Finds an undefined value in a control PDU; nil if there is none.
    static func fault(inControl pdu: DynamicPDU) -> Fault? { pdu.declaration.flatMap { fault(in: pdu.fields, $0.fields) } }

    private static func fault(in values: [DynamicField], _ declarations: [FieldDeclaration]) -> Fault? {
        if let status = values.first(where: { $0.name == status })?.value.int, status != 0 {
            let type = declarations.flat.first { $0.name == Self.status }?.type
            return type?.name(of: status) == nil ? Fault(field: Self.status, wanted: "an error code", got: "\(status)") : nil
        }
        for declaration in declarations.flat where isJudged(declaration) {
            guard let value = values.first(where: { $0.name == declaration.name })?.value else { continue }
            if let fault = declaration.inner.isEmpty ? fault(of: value, declaration) : fault(inRows: value, declaration.inner) {
                return fault
            }
        }
        return nil
    }

    private static func fault(inRows value: FieldValue, _ declarations: [FieldDeclaration]) -> Fault? {
        for row in value.list ?? [value] {
            if let fields = row.structure, let fault = fault(in: fields, declarations) { return fault }
        }
        return nil
    }

    private static func fault(of value: FieldValue, _ declaration: FieldDeclaration) -> Fault? {
        if declaration.isReserved {
            let isZero = value.int.map { $0 == 0 } ?? value.octets?.allSatisfy { $0 == 0 } ?? true
            return isZero ? nil : Fault(field: declaration.name, wanted: "0, since it is reserved", got: "another value")
        }
        guard let number = value.int, !(always[declaration.name]?.contains(number) ?? false) else { return nil }
        if let range = declaration.range, !range.contains(number) {
            return Fault(field: declaration.name, wanted: "\(range.lowerBound) to \(range.upperBound)", got: "\(number)")
        }
        let defined = declaration.definedValues
        guard declaration.range == nil, !defined.isEmpty, !defined.contains(number) else { return nil }
        let wanted = defined.sorted().map(String.init).joined(separator: ", ")
        return Fault(field: declaration.name, wanted: "one of \(wanted)", got: "\(number)")
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

    private static func isJudged(_ field: FieldDeclaration) -> Bool {
        guard !growing.contains(field.name) else { return false }
        return !field.inner.isEmpty || field.isReserved || field.range != nil || !field.definedValues.isEmpty
    }

    private static func hasRule(_ fields: [FieldDeclaration]) -> Bool {
        fields.flat.contains { field in
            field.inner.isEmpty ? isJudged(field) || field.name == status : hasRule(field.inner)
        }
    }

    private static func key(_ code: Int, _ subevent: Int?) -> Int { code << 8 | (subevent ?? 0) }

    private static let events: Set<Int> = Set(
        PDUCatalog.all.lazy.filter { $0.layer == .hciEvents && !relayed.contains($0.name) && hasRule($0.fields) }.map {
            key($0.code, $0.subevent)
        })
    private static let answers: Set<UInt16> = Set(
        PDUCatalog.all.lazy.filter { $0.layer == .hciCommands && $0.company == nil && hasRule($0.returns ?? []) }.map {
            UInt16(truncatingIfNeeded: $0.code)
        })
}

extension FieldDeclaration {
    /// True if the field is reserved for future use: a sender sets it to 0. Core Vol 1, Part E, 2.7.
    var isReserved: Bool {
        if case .reserved = shape { return true }
        return name.hasPrefix("RFU")
    }

    /// The values with a meaning; empty if any value has one, or if they are bits or error codes.
    fileprivate var definedValues: [Int] {
        if !labels.isEmpty { return labels.map(\.value) }
        guard let type, !type.isFlags, type.name != "Error_Code", type.name != "ErrorCode", !type.name.hasSuffix("Opcode") else {
            return []
        }
        return type.values.map(\.value)
    }
}
