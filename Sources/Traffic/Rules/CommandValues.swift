import BBHCI
import BBPackets

/// The values that the parameters of a command may have, and the order of two limits. Core Vol 4, Part E, 7.
public enum CommandValues {
    /// A parameter that is outside its range.
    public struct Fault: Sendable, Equatable {
        public var field: String
        public var wanted: String
        public var got: String

        public init(field: String, wanted: String, got: String) {
            self.field = field
            self.wanted = wanted
            self.got = got
        }
    }

    /// Finds the first such parameter; nil if there is none.
    public static func fault(in command: HCIPacket) -> Fault? {
        let pdu = DynamicPDU(hci: command)
        guard pdu.declaration?.company == nil else { return nil }
        if let fault = DefinedValues.fault(inCommand: pdu) { return Fault(field: fault.field, wanted: fault.wanted, got: fault.got) }
        let numbers = pdu.fields.compactMap { field in field.value.int.map { (field.name, $0) } }
        for (name, value) in numbers {
            for (greater, less) in [("_Max", "_Min"), ("_Interval", "_Window")] where name.hasSuffix(greater) {
                let other = name.dropLast(greater.count) + less
                guard let limit = numbers.first(where: { $0.0 == other })?.1, limit > value else { continue }
                return Fault(field: String(other), wanted: "at most \(name), which is \(value)", got: "\(limit)")
            }
        }
        return nil
    }
}
