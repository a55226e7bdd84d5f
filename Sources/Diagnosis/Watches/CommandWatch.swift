import BBCases
import BBHCI
import BBPackets
import BBTraffic

/// The last command of each kind, for the reason why a controller refuses its parameters, and the advertising data of a host.
/// Core Vol 1, Part F, 2.18; Core Vol 3, Part C, 11.
struct CommandWatch {
    private var last: [UInt16: (packet: HCIPacket, sent: Moment)] = [:]
    private var told: Set<UInt16> = []
    /// True once the controller was reset: before that it may have an address.
    private var wasReset = false

    private static let most = 512
    private static let reasons: [ErrorCode] = [.invalidHCICommandParameters, .unsupportedFeatureOrParameterValue]
    /// Commands with advertising data, and the names of their fields.
    private static let advertising: [UInt16: String] = [
        HCICommands.LESetAdvertisingData.opcode: "Advertising_Data", HCICommands.LESetScanResponseData.opcode: "Scan_Response_Data",
        HCICommands.LESetExtendedAdvertisingData.opcode: "Advertising_Data",
        HCICommands.LESetExtendedScanResponseData.opcode: "Scan_Response_Data",
    ]
    private static let completeData = 3
    /// The commands that set the type of the own address, by those that use it.
    private static let addressed: [UInt16: UInt16] = [
        HCICommands.LESetAdvertisingEnable.opcode: HCICommands.LESetAdvertisingParameters.opcode,
        HCICommands.LESetScanEnable.opcode: HCICommands.LESetScanParameters.opcode,
        HCICommands.LESetExtendedScanEnable.opcode: HCICommands.LESetExtendedScanParameters.opcode,
        HCICommands.LECreateConnection.opcode: HCICommands.LECreateConnection.opcode,
        HCICommands.LEExtendedCreateConnection.opcode: HCICommands.LEExtendedCreateConnection.opcode,
    ]

    /// - Returns: advertising data that are no structures.
    mutating func sent(_ command: HCIPacket, at now: Moment) -> Observation? {
        guard let opcode = command.commandOpcode else { return nil }
        if opcode == HCICommands.Reset.opcode { (last, wasReset) = ([:], true) }
        if last.count < Self.most || last[opcode] != nil { last[opcode] = (command, now) }
        guard let name = Self.advertising[opcode] else { return nil }
        let pdu = DecodedLayer(hci: command)
        guard (pdu.fields.named("Operation")?.int ?? Self.completeData) == Self.completeData, let field = pdu.fields.named(name),
            let length = pdu.fields.named(name + "_Length")?.int, field.range.upperBound <= command.bytes.count,
            let rest = Self.rest(of: command.bytes[field.range].prefix(length))
        else { return nil }
        return Observation(
            .advertisingMalformed, [("Command", .text(pdu.name)), ("Rest", .text(Hex.octets(rest.prefix(8), separator: " ")))])
    }

    /// The octets that are not a structure: a length, a type and data. A length of 0 ends the data.
    private static func rest(of data: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var rest = data
        while let length = rest.first, length > 0 {
            guard rest.count > Int(length) else { return rest }
            rest = rest.dropFirst(1 + Int(length))
        }
        return nil
    }

    /// - Returns: the first parameter of a refused command that is outside its range.
    mutating func received(_ event: HCIPacket) -> Observation? {
        guard event.eventCode == HCIEvents.CommandComplete.code || event.eventCode == HCIEvents.CommandStatus.code,
            let answer = (try? CommandAnswer(event: event)) ?? nil, answer.status != .success, Self.reasons.contains(answer.status),
            let (command, sent) = last[answer.opcode], !told.contains(answer.opcode),
            let declaration = PDUCatalog.command(opcode: answer.opcode),
            let fault = CommandValues.fault(in: command) ?? missingAddress(answer.opcode)
        else { return nil }
        told.insert(answer.opcode)
        return Observation(
            .parameterInvalid,
            [
                ("Command", .text(declaration.name)), ("Field", .text(fault.field)), ("Expected", .text(fault.wanted)),
                ("Got", .text(fault.got)),
            ], packet: sent.packet)
    }

    /// A random address is used that the host has not set since the last reset. Core Vol 4, Part E, 7.8.9 and 7.8.11.
    private func missingAddress(_ opcode: UInt16) -> CommandValues.Fault? {
        guard wasReset, last[HCICommands.LESetRandomAddress.opcode] == nil, let source = Self.addressed[opcode],
            let (command, _) = last[source], let type = DecodedLayer(hci: command).fields.named("Own_Address_Type")?.int, type & 1 == 1
        else { return nil }
        return CommandValues.Fault(
            field: "Own_Address_Type", wanted: "\(HCICommands.LESetRandomAddress.name) before a random address is used", got: "\(type)")
    }
}
