import BBPackets

/// A rule that changes packets where they pass a tap: PDUs of the link layer and the link manager on the air, HCI packets between
/// controller and host, PDUs of a host's fixed L2CAP channels, and messages of an upper tester. Cases use rules to disturb a procedure;
/// mutants use them to inject a defect.
public struct PacketRewrite: Sendable {
    /// Layers of a controller's taps: PDUs sent on the air, events and ACL data to the host, and commands before they are executed.
    public static let controllerLayers: [Layer] = [.llControl, .lmp, .hciEvents, .hciCommands, .hciData]
    /// Layers of a controller's taps for PDUs received from the peer.
    public static let controlLayers: [Layer] = [.llControl, .lmp]
    /// Layers of a host's taps.
    public static let hostLayers: [Layer] = [.att, .smp, .l2capSignaling]
    /// Layers of an upper tester's taps. A packet is the code of the message in two octets, least significant first, and its data.
    public static let upperTesterLayers: [Layer] = [.btpCommands, .btpResponses, .btpEvents]
    private static let messageCodeLength = 2

    /// Effect on a matching packet.
    public enum Effect: Sendable, Hashable {
        case drop
        /// Send it with changed field values.
        case change([FieldChange])
        /// Send these octets instead: a PDU with its opcode, or an event with its code and length.
        case replace([UInt8])
        /// Append octets.
        case append([UInt8])
        /// Remove this number of octets from the end.
        case cut(Int)
        /// Invert the lowest bit of the octet with this index.
        case corrupt(octet: Int)
        case duplicate
        /// Send it later by this time; later packets may overtake it.
        case delay(Microseconds)
        /// Send it after the next matching packet.
        case swap
        /// Send an event or control PDU with these octets right after it, with the named fields copied from the packet.
        case follow([UInt8], carrying: [String])
        /// Answer a command with these events instead of the correct one.
        case answer(AnswerForm)
        /// Answer a command with success without executing it.
        case pretend

        public static func set(_ fields: [DynamicField]) -> Effect { .change(fields.map { FieldChange($0.name, .value($0.value)) }) }
    }

    public enum AnswerForm: Sendable, Hashable, CaseIterable {
        case status
        case complete
        case both

        /// The name of the event, or `both`.
        public var name: String {
            switch self {
            case .status: HCIEvents.CommandStatus.name
            case .complete: HCIEvents.CommandComplete.name
            case .both: "both"
            }
        }

        /// The form with this name; nil if there is none.
        public init?(named name: String) {
            guard let form = Self.allCases.first(where: { $0.name == name }) else { return nil }
            self = form
        }
    }

    public let layer: Layer
    public let effect: Effect
    /// Only packets with these field values match.
    public var condition: [DynamicField] = []
    /// Only packets for which this is true match; nil for all.
    public var predicate: (@Sendable ([UInt8]) -> Bool)?
    /// The matching packets that the effect applies to.
    public var occurrences: Occurrences
    private let code: Int
    private let subevent: Int?
    /// The rule applies to the answer to the command with this opcode.
    private let isAboutAnswers: Bool

    /// - Parameter name: name in the specification: `LL_PHY_RSP`, `LE_PHY_Update_Complete`, `LE_Set_PHY`, `ACL_Data`.
    /// - Throws: if a PDU or field is unknown, or a value does not fit its field.
    public init(_ layer: Layer, _ name: String, _ effect: Effect, _ occurrences: Occurrences = Occurrences()) throws(DynamicPDUError) {
        var sample = try DynamicPDU(layer: layer, name: name)
        if case .change(let changes) = effect {
            for change in changes {
                guard change.path.count == 1, change.path != [Self.identifier], case .value(let value) = change.source else { continue }
                try sample.set(change.path[0], value)
            }
            _ = try sample.bytes()
        }
        self.layer = layer
        self.effect = effect
        code = sample.code
        subevent = sample.subevent
        isAboutAnswers = false
        self.occurrences = occurrences
    }

    /// A rule for the answer to a command: Command Status, or Command Complete with its return parameters.
    public init(answersTo command: String, _ effect: Effect, _ occurrences: Occurrences = Occurrences()) throws(DynamicPDUError) {
        layer = .hciEvents
        self.effect = effect
        self.occurrences = occurrences
        code = try DynamicPDU(layer: .hciCommands, name: command).code
        subevent = nil
        isAboutAnswers = true
    }

    func isAbout(_ bytes: [UInt8]) -> Bool {
        guard matches(bytes), predicate?(bytes) ?? true else { return false }
        guard !condition.isEmpty else { return true }
        let pdu = decoded(bytes)
        return condition.allSatisfy { pdu[$0.name] == $0.value }
    }

    /// True if the rule would change, hold back or remove this packet, or send another after it.
    public func alters(_ bytes: [UInt8]) -> Bool {
        guard isAbout(bytes) else { return false }
        switch effect {
        case .delay, .swap: return true
        default: return applied(to: bytes) != [bytes]
        }
    }

    private func matches(_ bytes: [UInt8]) -> Bool {
        switch layer {
        case .hciData: return true
        case .btpCommands, .btpResponses, .btpEvents: return bytes.starts(with: messageCode)
        case .hciCommands: return HCIPacket(.command, bytes).commandOpcode.map(Int.init) == code
        case .hciEvents where isAboutAnswers: return Self.opcodeAnswered(HCIPacket(.event, bytes)).map(Int.init) == code
        case .lmp:
            var reader = ByteReader(bytes.span.bytes)
            return (try? LMPHeader(from: &reader)).map { Int($0.opcode) } == code
        default:
            guard let first = bytes.first, Int(first) == code else { return false }
            return subevent == nil || bytes.count > 2 && Int(bytes[2]) == subevent
        }
    }

    /// Opcode of the command that an event answers; nil for other events.
    private static func opcodeAnswered(_ event: HCIPacket) -> UInt16? {
        event.completedOpcode ?? (try? event.event(as: HCIEvents.CommandStatus.self))?.commandOpcode
    }

    // MARK: Effects

    /// Name of a signalling PDU's identifier, which precedes its declared fields.
    public static let identifier = "Identifier"

    private var isAboutMessages: Bool { Self.upperTesterLayers.contains(layer) }
    private var messageCode: [UInt8] { [UInt8(truncatingIfNeeded: code), UInt8(truncatingIfNeeded: code >> 8)] }

    private func decoded(_ bytes: [UInt8]) -> DynamicPDU {
        isAboutMessages
            ? DynamicPDU(layer: layer, code: code, parameters: Array(bytes.dropFirst(Self.messageCodeLength)))
            : DynamicPDU(layer: layer, bytes: bytes)
    }

    private func encoded(_ pdu: DynamicPDU) -> [UInt8]? { (try? pdu.bytes()).map { isAboutMessages ? messageCode + $0 : $0 } }

    /// The packet with changed field values; unchanged if the result cannot be encoded.
    func changed(_ bytes: [UInt8], _ changes: [FieldChange]) -> [UInt8] {
        var pdu = decoded(bytes)
        pdu.apply(changes.filter { $0.path != [Self.identifier] })
        for change in changes where change.path == [Self.identifier] {
            switch change.source {
            case .value(let value): pdu.identifier = UInt16(truncatingIfNeeded: value.int ?? 0)
            case .more(let more): pdu.identifier = UInt16(truncatingIfNeeded: Int(pdu.identifier ?? 0) + more)
            case .field: break
            }
        }
        return encoded(pdu) ?? bytes
    }

    /// A PDU with the transaction ID or identifier of the PDU that it replaces.
    func inTransaction(of bytes: [UInt8], _ octets: [UInt8]) -> [UInt8] {
        var result = octets
        guard let old = bytes.first, let new = octets.first else { return octets }
        switch layer {
        case .lmp: result[0] = new & 0xFE | old & 1
        case .l2capSignaling where octets.count > 1 && bytes.count > 1: result[1] = bytes[1]
        default: break
        }
        return result
    }

    func lengthened(_ bytes: [UInt8], by octets: [UInt8]) -> [UInt8] { withLength(bytes + octets) }

    /// The packet without its last octets; its header remains.
    func shortened(_ bytes: [UInt8], by count: Int) -> [UInt8] {
        withLength(Array(bytes.prefix(max(headerLength, bytes.count - count))))
    }

    private var headerLength: Int {
        switch layer {
        case .hciEvents: HCIPacket.Kind.event.headerLength
        case .hciCommands: HCIPacket.Kind.command.headerLength
        case .hciData: HCIPacket.Kind.acl.headerLength
        default: isAboutMessages ? Self.messageCodeLength : 1
        }
    }

    /// The packet with its length in its header, if that is a header of HCI.
    private func withLength(_ bytes: [UInt8]) -> [UInt8] {
        var result = bytes
        let count = bytes.count - headerLength
        guard count >= 0 else { return bytes }
        switch layer {
        case .hciEvents: result[1] = UInt8(truncatingIfNeeded: count)
        case .hciCommands: result[2] = UInt8(truncatingIfNeeded: count)
        case .hciData: (result[2], result[3]) = (UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8))
        default: break
        }
        return result
    }

    static func corrupted(_ bytes: [UInt8], at octet: Int) -> [UInt8] {
        var result = bytes
        if result.indices.contains(octet) { result[octet] ^= 1 }
        return result
    }

    func follower(_ octets: [UInt8], of bytes: [UInt8], _ names: [String]) -> [UInt8] {
        let first = DynamicPDU(layer: layer, bytes: bytes)
        var next = DynamicPDU(layer: layer == .hciData ? .hciEvents : layer, bytes: octets)
        next.apply(names.compactMap { name in first[name].map { FieldChange(name, .value($0)) } })
        return inTransaction(of: bytes, (try? next.bytes()) ?? octets)
    }

    func answers(_ bytes: [UInt8], as form: AnswerForm) -> [[UInt8]] {
        let event = HCIPacket(.event, bytes)
        guard let opcode = Self.opcodeAnswered(event) else { return [bytes] }
        let status = UInt8(truncatingIfNeeded: DynamicPDU(hci: event)["Status"]?.int ?? 0)
        let isComplete = event.completedOpcode != nil
        let other =
            isComplete ? HCIPacket(statusOpcode: opcode, ErrorCode(rawValue: status)) : HCIPacket(completeOpcode: opcode, returns: [status])
        switch form {
        case .status: return [isComplete ? other.bytes : bytes]
        case .complete: return [isComplete ? bytes : other.bytes]
        case .both: return isComplete ? [other.bytes, bytes] : [bytes, other.bytes]
        }
    }
}
