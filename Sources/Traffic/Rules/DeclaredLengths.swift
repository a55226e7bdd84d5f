import BBHCI
import BBPackets
import BBTiming

/// The lengths that the parameters of events and the return parameters of commands have. Core Vol 4, Part E, 5.4.4 and 7.
///
/// An event that tells of a failure may end early, and the counts in it mean nothing: Core Vol 4, Part E, 4.5. Events of vendors, and those
/// without a declaration, are not judged.
enum DeclaredLengths {
    /// A length that is wrong.
    struct Fault: Equatable {
        /// The event, or the answer to a command.
        var name: String
        var section: String
        var wanted: String
        var got: String
    }

    /// Finds a wrong length of an event; nil if there is none.
    static func fault(in event: HCIPacket) -> Fault? {
        guard let code = event.eventCode, let declaration = PDUCatalog.event(code: code, subevent: event.leSubevent),
            declaration.company == nil
        else { return nil }
        guard event.isWhole else {
            let told = DecodedLayer(hci: event).lengthInHeader ?? 0
            return Fault(
                name: declaration.name, section: header, wanted: "\(octets(told)) of parameters, by Parameter_Total_Length",
                got: "\(event.parameters.count)")
        }
        guard code == HCIEvents.CommandComplete.code else { return layout(of: declaration)?.fault(in: event) }
        guard let opcode = event.completedOpcode else {
            return Fault(
                name: declaration.name, section: declaration.section, wanted: "\(octets(answerHeader)) of parameters, or more",
                got: "\(event.parameters.count)")
        }
        return PDUCatalog.command(opcode: opcode).flatMap(layout(ofAnswerTo:))?.fault(in: event)
    }

    fileprivate static func octets(_ count: Int) -> String { count == 1 ? "1 octet" : "\(count) octets" }

    private static let header = "Core Vol 4, Part E, 5.4.4"
    /// The octets of a Command Complete before the return parameters.
    private static let answerHeader = 3
    private static let known = Memo<ObjectIdentifier, Layout?>()

    private static func layout(of event: PDUDeclaration) -> Layout? {
        known(ObjectIdentifier(event)) {
            Layout(
                event.name, event.section, "parameters", event.fields, from: HCIPacket.Kind.event.headerLength,
                subevent: event.subevent == nil ? 0 : 1)
        }
    }

    /// Returns the layout of the return parameters; nil for a command of a vendor, and for one that Command Status answers.
    private static func layout(ofAnswerTo command: PDUDeclaration) -> Layout? {
        known(ObjectIdentifier(command)) {
            guard command.company == nil, let returns = command.returns else { return nil }
            return Layout(
                "The answer to \(command.name)", command.section, "return parameters", returns,
                from: HCIPacket.Kind.event.headerLength + answerHeader)
        }
    }
}

/// The parameters whose length is judged.
private final class Layout: Sendable {
    private let name: String
    private let section: String
    private let noun: String
    /// The octets of the packet before the first that counts.
    private let start: Int
    /// The octets of the subevent code, which counts.
    private let subevent: Int
    /// The length; nil if it depends on the values.
    private let octets: Int?
    private let hasStatus: Bool
    /// The last field.
    private let last: String

    init(_ name: String, _ section: String, _ noun: String, _ fields: [FieldDeclaration], from start: Int, subevent: Int = 0) {
        (self.name, self.section, self.noun, self.start, self.subevent) = (name, section, noun, start, subevent)
        octets = fields.octets.map { $0 + subevent }
        hasStatus = fields.first?.name == "Status"
        last = fields.lastName ?? (subevent == 0 ? "Command_Opcode" : "Subevent_Code")
    }

    func fault(in event: HCIPacket) -> DeclaredLengths.Fault? {
        let count = event.bytes.count - start
        if let octets {
            return if count > octets {
                fault(
                    "\(DeclaredLengths.octets(octets)) of \(noun)", "\(count), with \(text(event.bytes[(start + octets)...])) after \(last)"
                )
            } else if count < octets, !tellsOfFailure(event) {
                fault("\(DeclaredLengths.octets(octets)) of \(noun)", "\(count)\(end(of: event))")
            } else {
                nil
            }
        }
        guard !tellsOfFailure(event) else { return nil }
        let decoded = DecodedLayer(hci: event)
        if let problem = decoded.problem {
            guard case .short(let needed, let left) = problem.problem else { return nil }
            return fault("\(DeclaredLengths.octets(needed)) for \(problem.field)", "\(left)")
        }
        return decoded.trailing.isEmpty ? nil : fault("nothing after \(last)", text(decoded.trailingOctets[...]))
    }

    private func fault(_ wanted: String, _ got: String) -> DeclaredLengths.Fault {
        DeclaredLengths.Fault(name: name, section: section, wanted: wanted, got: got)
    }

    /// True if the Status is not Success.
    private func tellsOfFailure(_ event: HCIPacket) -> Bool {
        let position = start + subevent
        return hasStatus && event.bytes.indices.contains(position) && event.bytes[position] != ErrorCode.success.rawValue
    }

    /// The field in which an event ends that is too short.
    private func end(of event: HCIPacket) -> String {
        guard let problem = DecodedLayer(hci: event).problem, case .short(_, let left) = problem.problem else { return "" }
        return left == 0 ? ", without \(problem.field)" : ", which end in \(problem.field)"
    }

    private func text(_ octets: ArraySlice<UInt8>) -> String {
        Hex.octets(octets.prefix(Self.shown), separator: " ") + (octets.count > Self.shown ? " ..." : "")
    }

    /// The number of surplus octets that a message shows.
    private static let shown = 8
}
