import BBMisbehaviour
import BBPackets
import Testing

/// Effects of packet rules.
struct PacketRulesTests {
    struct Row: Sendable, CustomStringConvertible {
        var description: String
        var make: @Sendable () throws -> PacketRewrite
        var layer = Layer.hciEvents
        var packets: [HCIPacket]
        var expected: [HCIPacket]
    }

    private static let phy = HCIPacket(event: HCIEvents.LEPHYUpdateComplete(status: .success, connectionHandle: 1, txPHY: 1, rxPHY: 2))
    private static func credits(_ handle: UInt16, _ count: UInt16) -> HCIPacket {
        let row = HCIEvents.NumberOfCompletedPackets.Handle(connectionHandle: ConnectionHandle(handle), numCompletedPackets: count)
        return HCIPacket(event: HCIEvents.NumberOfCompletedPackets(handles: [row, row]))
    }
    private static func complete(_ status: ErrorCode) -> HCIPacket {
        HCIPacket(completeOpcode: HCICommands.LESetRandomAddress.opcode, returns: [status.rawValue])
    }
    private static let status = HCIPacket(statusOpcode: HCICommands.LESetRandomAddress.opcode, .success)
    private static func data(_ octet: UInt8, _ boundary: ACLHeader.Boundary = .first) -> HCIPacket {
        HCIPacket(acl: ConnectionHandle(3), boundary, [octet])
    }
    private static func answer(_ effect: PacketRewrite.Effect) throws -> PacketRewrite {
        try PacketRewrite(answersTo: "LE_Set_Random_Address", effect)
    }

    static let rows: [Row] = [
        Row(
            description: "two fields change places",
            make: {
                try PacketRewrite(
                    .hciEvents, "LE_PHY_Update_Complete",
                    .change([FieldChange("TX_PHY", .field("RX_PHY")), FieldChange("RX_PHY", .field("TX_PHY"))]))
            }, packets: [phy],
            expected: [HCIPacket(event: HCIEvents.LEPHYUpdateComplete(status: .success, connectionHandle: 1, txPHY: 2, rxPHY: 1))]),
        Row(
            description: "every row of a list",
            make: {
                try PacketRewrite(
                    .hciEvents, "Number_Of_Completed_Packets", .change([FieldChange("Handles.Num_Completed_Packets", .more(2))]))
            }, packets: [credits(5, 1)], expected: [credits(5, 3)]),
        Row(
            description: "a status in the return parameters",
            make: {
                var rule = try answer(.set([DynamicField("Status", 0)]))
                rule.condition = [DynamicField("Status", 0x0C)]
                return rule
            }, packets: [complete(.commandDisallowed), complete(.unknownConnectionIdentifier)],
            expected: [complete(.success), complete(.unknownConnectionIdentifier)]),
        Row(description: "status for complete", make: { try answer(.answer(.status)) }, packets: [complete(.success)], expected: [status]),
        Row(
            description: "complete for status", make: { try answer(.answer(.complete)) }, packets: [status], expected: [complete(.success)]),
        Row(
            description: "both", make: { try answer(.answer(.both)) }, packets: [complete(.success)],
            expected: [status, complete(.success)]),
        Row(
            description: "an event after another, with its handle",
            make: {
                let event = HCIPacket(event: HCIEvents.DisconnectionComplete(status: .success, connectionHandle: 9, reason: .success)).bytes
                return try PacketRewrite(.hciEvents, "LE_PHY_Update_Complete", .follow(event, carrying: ["Connection_Handle"]))
            }, packets: [phy],
            expected: [phy, HCIPacket(event: HCIEvents.DisconnectionComplete(status: .success, connectionHandle: 1, reason: .success))]),
        Row(
            description: "every second",
            make: { try PacketRewrite(.hciEvents, "LE_PHY_Update_Complete", .drop, Occurrences(every: 2)) }, packets: [phy, phy, phy],
            expected: [phy, phy]),
        Row(
            description: "data in another order", make: { try PacketRewrite(.hciData, "ACL_Data", .swap) }, layer: .hciData,
            packets: [data(1), data(2), data(3), data(4)], expected: [data(2), data(1), data(4), data(3)]),
        Row(
            description: "data with another flag", make: { try PacketRewrite(.hciData, "ACL_Data", .set([DynamicField("PB_Flag", 0)])) },
            layer: .hciData, packets: [data(1)], expected: [data(1, .firstNonFlushable)]),
        Row(
            description: "more octets of return parameters", make: { try answer(.append([7, 8])) }, packets: [complete(.success)],
            expected: [HCIPacket(completeOpcode: HCICommands.LESetRandomAddress.opcode, returns: [0, 7, 8])]),
        Row(
            description: "fewer octets of an event", make: { try PacketRewrite(.hciEvents, "LE_PHY_Update_Complete", .cut(2)) },
            packets: [phy], expected: [HCIPacket(.event, [0x3E, 4, 0x0C, 0, 1, 0])]),
        Row(
            description: "a header remains", make: { try PacketRewrite(.hciEvents, "LE_PHY_Update_Complete", .cut(250)) },
            packets: [phy], expected: [HCIPacket(.event, [0x3E, 0])]),
        Row(
            description: "more data", make: { try PacketRewrite(.hciData, "ACL_Data", .append([9])) }, layer: .hciData,
            packets: [data(1)], expected: [HCIPacket(acl: ConnectionHandle(3), .first, [1, 9])]),
        Row(
            description: "less data", make: { try PacketRewrite(.hciData, "ACL_Data", .cut(1)) }, layer: .hciData, packets: [data(1)],
            expected: [HCIPacket(acl: ConnectionHandle(3), .first, [])]),
    ]

    @Test(arguments: rows) func aRuleActs(_ row: Row) throws {
        var rules = PacketRules([try row.make()])
        let sent = row.packets.flatMap { rules.replacements(of: $0.bytes, row.layer)?.map(\.bytes) ?? [$0.bytes] }
        #expect(sent == row.expected.map(\.bytes))
    }

    /// A command that is not executed, one with changed parameters, and one without an answer.
    @Test func commandsArriveOtherwise() throws {
        let command = HCIPacket(command: HCICommands.LESetRandomAddress(randomAddress: BDADDR(0x1)))
        let other = HCIPacket(command: HCICommands.LESetRandomAddress(randomAddress: BDADDR(0x2)))
        func arrival(_ effect: PacketRewrite.Effect) throws -> [UInt8]? {
            var rules = PacketRules([try PacketRewrite(.hciCommands, "LE_Set_Random_Address", effect)])
            #expect(rules.areAbout(.hciCommands) && !rules.areAbout(.hciData))
            return switch rules.arrival(of: command.bytes) {
            case .carryOut(let bytes): bytes
            case .pretend: []
            case .ignore: nil
            }
        }
        #expect(try arrival(.set([DynamicField("Random_Address", 2)])) == other.bytes)
        #expect(try arrival(.pretend) == [])
        #expect(try arrival(.drop) == nil)
    }
    struct UpperRow: Sendable, CustomStringConvertible {
        var description: String
        var layer: Layer
        var name: String
        var effect: PacketRewrite.Effect
        var pdu: [UInt8]
        var expected: [[UInt8]]
    }

    static let upperRows: [UpperRow] = [
        UpperRow(
            description: "an ATT value lengthened", layer: .att, name: "ATT_READ_RSP", effect: .append([0xFF]), pdu: [0x0B, 1],
            expected: [[0x0B, 1, 0xFF]]),
        UpperRow(
            description: "an ATT value shortened", layer: .att, name: "ATT_READ_RSP", effect: .cut(2), pdu: [0x0B, 1, 2, 3],
            expected: [[0x0B, 1]]),
        UpperRow(
            description: "a corrupted octet", layer: .smp, name: "Pairing_Confirm", effect: .corrupt(octet: 16),
            pdu: [3] + [UInt8](repeating: 0, count: 16), expected: [[3] + [UInt8](repeating: 0, count: 15) + [1]]),
        UpperRow(
            description: "a signalling PDU keeps its identifier", layer: .l2capSignaling, name: "L2CAP_ECHO_RSP",
            effect: .replace([0x01, 0x00, 0x02, 0x00, 0x00, 0x00]), pdu: [0x09, 0x42, 0, 0], expected: [[0x01, 0x42, 2, 0, 0, 0]]),
        UpperRow(
            description: "another identifier", layer: .l2capSignaling, name: "L2CAP_ECHO_RSP",
            effect: .change([FieldChange("Identifier", .more(1))]), pdu: [0x09, 0x42, 0, 0], expected: [[0x09, 0x43, 0, 0]]),
        UpperRow(
            description: "another PDU", layer: .att, name: "ATT_READ_RSP", effect: .drop, pdu: [0x0D, 1], expected: [[0x0D, 1]]),
    ]

    @Test(arguments: upperRows) func aRuleActsAboveHCI(_ row: UpperRow) throws {
        var rules = PacketRules([try PacketRewrite(row.layer, row.name, row.effect)])
        #expect((rules.replacements(of: row.pdu, row.layer)?.map(\.bytes) ?? [row.pdu]) == row.expected)
    }

    /// Packets that match are counted by skip, every and count; packets that the predicate excludes are not counted.
    @Test func rulesCount() throws {
        var rule = try PacketRewrite(.att, "ATT_HANDLE_VALUE_CFM", .drop, Occurrences(skip: 1, every: 2, count: 2))
        rule.predicate = { $0.count == 1 }
        var rules = PacketRules([rule])
        let pdus: [[UInt8]] = [[0x1E]] + Array(repeating: [[0x1E, 0], [0x1E]], count: 6).flatMap(\.self)
        let dropped = pdus.indices.filter { rules.replacements(of: pdus[$0], .att) == [] }
        #expect(dropped == [4, 8])
    }
}
