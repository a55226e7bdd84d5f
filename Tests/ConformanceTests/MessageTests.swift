import BBPackets
import Testing

@testable import BBCases
@testable import BBConformance

/// The messages of FAILs: the expected and the received value, and the packet.
@Suite struct MessageTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var id: String
        /// The defect, in the syntax of a mutant's file.
        var fault: String
        var parts: [String]
        var absent: [String] = []
        var verdict = Verdict.fail
        var testDescription: String { "\(id): \(fault)" }
    }

    static let rows =
        [
            Row(
                id: "ssp/just-works[secureConnections=Enabled]",
                fault: "rewrites: [{pdu: Simple_Pairing_Complete, set: {Status: Authentication_Failure}}]",
                parts: ["Status: expected Success, got Authentication_Failure", "packet"], absent: ["none came within"]),
            Row(
                id: "smp-sc/key-size",
                fault: "rewrites: [{pdu: Pairing_Response, set: {Maximum_Encryption_Key_Size: 253}}]",
                parts: ["Maximum_Encryption_Key_Size 253", "packet"]),
            Row(
                id: "accessory-link/signalling-unknown",
                fault:
                    "rewrites: [{pdu: L2CAP_COMMAND_REJECT_RSP, replace: L2CAP_CONNECTION_PARAMETER_UPDATE_RSP, with: {Result: Accepted}}]",
                parts: ["L2CAP_COMMAND_REJECT_RSP", "L2CAP_CONNECTION_PARAMETER_UPDATE_RSP", "packet"], absent: ["no such field"]),
            Row(
                id: "accessory-att/handle-zero[request=write]",
                fault: "rewrites: [{pdu: ATT_ERROR_RSP, set: {Error_Code: Attribute_Not_Found}}]",
                parts: ["Error_Code: expected Invalid_Handle", "got Attribute_Not_Found", "packet"], absent: ["got 10"]),
            Row(
                id: "accessory-att/handle-zero[request=write]",
                fault: "rewrites: [{pdu: ATT_ERROR_RSP, set: {Request_Opcode_In_Error: ATT_READ_BY_TYPE_REQ}}]",
                parts: ["Request_Opcode_In_Error: expected ATT_WRITE_REQ, got ATT_READ_BY_TYPE_REQ"]),
            Row(
                id: "gap-scan/passive-asks-nobody",
                fault: "rewrites: [{command: LE_Set_Scan_Parameters, set: {LE_Scan_Type: Active}}]",
                parts: ["No scan request", "LE_Scan_Request_Received must not come", "packet"]),
            // A scan response is no second report of the advertisement.
            Row(
                id: "gap-scan/duplicate-filter",
                fault: "rewrites: [{command: LE_Set_Scan_Parameters, set: {LE_Scan_Type: Active}}]", parts: [], verdict: .pass),
            Row(
                id: "gap-scan/duplicate-filter",
                fault: "rewrites: [{command: LE_Set_Scan_Enable, set: {Filter_Duplicates: Disabled}}]",
                parts: ["none or only a few are reported again", "packets"]),
        ] + moved

    /// A handle with another type than in the survey: nothing is said about permissions.
    static let moved = [
        "accessory-att/not-permitted[request=read]", "accessory-att/not-permitted[request=write]",
        "accessory-att/not-permitted[request=prepare]",
        "accessory-att/command-unanswered", "accessory-att/rewritten",
    ].map {
        Row(
            id: $0, fault: "rewrites: [{pdu: ATT_FIND_INFORMATION_RSP, set: {Information_Data.UUID: \"2905\"}}]",
            parts: ["Information_Data.0.UUID", "got 2905", "packet"], absent: ["Not_Permitted"], verdict: .notApplicable)
    }

    /// Octets of a packet are written as a case writes them; what has a format of its own keeps it.
    @Test func octetsOfAPacketLookLikeThoseOfTheCase() throws {
        let event = HCIPacket(
            event: HCIEvents.LinkKeyNotification(bdADDR: 0x1234_5678_9ABC, linkKey: [UInt8](repeating: 0, count: 16), keyType: 4))
        let layer = DecodedLayer(hci: event)
        let wanted = FieldPredicate(
            name: "Link_Key", predicate: .equals(.literal(.octets(Array(0..<16)))), position: Position(file: "x", line: 1, column: 1))
        let mismatch = try #require(
            try Predicate.parts([wanted]).mismatch(
                .record(CaseRecord([("Link_Key", .octets([UInt8](repeating: 0, count: 16)))])), Variables()))
        #expect(
            PDUCodec.spoken(mismatch, in: layer)
                == "Link_Key: expected 00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F, got "
                + [String](repeating: "00", count: 16).joined(separator: " "))
    }

    @Test(arguments: rows) func whatCameIsSaid(_ row: Row) throws {
        let catalogue = try SuiteTests.catalogue()
        var reader = SourceReader(file: "made.yaml", vocabulary: .declared(covers: []))
        let composed = reader.compose("title: t\nbreaks: b\nviolates: Core Vol 1, Part A, 1\nend: host\n\(row.fault)\nkillers: []")
        let mutant = reader.mutant(try #require(composed), id: "made", cases: [])
        reader.problems.removeAll { $0.text.contains("killers") }
        #expect(reader.problems.isEmpty, "\(reader.problems)")
        let plan = try RunPlan(
            catalogue: catalogue, setup: BenchSetup(tester: .virtual, subject: .virtual, seed: 1), filters: [row.id])
        let run = try Runner(plan, recorder: try Recorder(path: nil), fault: try #require(mutant).fault).run()
        let result = try #require(run.cases.first)
        #expect(result.verdict == row.verdict, "\(result.message)")
        for part in row.parts { #expect(result.message.contains(part), "\(part): \(result.message)") }
        for part in row.absent { #expect(!result.message.contains(part), "\(result.message)") }
    }

    @Test func anEmptyTextIsNamed() {
        #expect(Mismatch(.equals(.literal(.text(""))), .text("disconnected"), Variables()).text == "expected nothing, got disconnected")
    }

    struct Change: Sendable, CustomTestStringConvertible {
        var id: String
        var part: String
        var side = Side.subject
        /// Returns the packets of that side's controller in place of one.
        var change: @Sendable (HCIPacket) -> [HCIPacket]
        var testDescription: String { part }
    }

    static let changes = [
        Change(id: "hci/random-numbers", part: "answer to LE_Rand of the subject: expected 9 octets of return parameters, got 10") {
            packet in
            guard packet.completes(HCICommands.LERand.opcode) else { return [packet] }
            return [HCIPacket.completion(packet.eventParameters + [0])]
        },
        Change(id: "gap-adv/all-channels", part: "It was reset before this case") { packet in
            guard
                packet.completes(HCICommands.LESetAdvertisingEnable.opcode)
                    || packet.completes(HCICommands.LESetAdvertisingParameters.opcode)
            else { return [packet] }
            return [HCIPacket.completion(packet.eventParameters.prefix(3) + [ErrorCode.commandDisallowed.rawValue])]
        },
        Change(id: "gatt/write-long", part: "whose controller has not reported", side: .tester) { packet in
            packet.bytes.starts(with: [0x13]) && packet.kind == .event ? [] : [packet]
        },
    ]

    @Test(arguments: changes) func theCauseIsNamed(_ row: Change) throws {
        let result = try Trial.run(row.id, at: row.side) { direction, packet in direction == .toHost ? row.change(packet) : [packet] }
        #expect(result.message.contains(row.part), "\(result.verdict): \(result.message)")
    }
}

extension HCIPacket {
    fileprivate var eventParameters: [UInt8] { kind == .event ? Array(bytes.dropFirst(2)) : [] }

    fileprivate static func completion(_ parameters: [UInt8]) -> HCIPacket {
        HCIPacket(.event, [0x0E, UInt8(parameters.count)] + parameters)
    }

    fileprivate func completes(_ opcode: UInt16) -> Bool {
        kind == .event && bytes.starts(with: [0x0E])
            && eventParameters.dropFirst().prefix(2).elementsEqual([UInt8(opcode & 0xFF), UInt8(opcode >> 8)])
    }
}
