import BBHCI
import BBPackets
import BBTiming
import BBTransport
import Testing

@testable import BBConformance

/// Rules for all commands and all data are judged in every case.
struct ConductTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var id: String
        var change: @Sendable (HCIPacket) -> [HCIPacket]
        var verdict = Verdict.fail
        var says: [String] = []
    }

    static let rows: [Row] = [
        Row(
            testDescription: "Command Status for a command that owes Command Complete", id: "hci/buffer-size",
            change: { status(of: HCICommands.LEReadBufferSize.opcode, .success, $0) },
            says: ["LE_Read_Buffer_Size", "expected Command_Complete, got Command_Status", "(packet "]),
        Row(
            testDescription: "Command Complete for a command that owes Command Status", id: "phy/subject-asks-2m",
            change: { complete(HCICommands.LESetPHY.opcode, $0) },
            says: ["LE_Set_PHY", "expected Command_Status, got Command_Complete", "(packet "]),
        Row(
            testDescription: "an unknown command may be told of either way", id: "hci/unsupported-command",
            change: { complete(HCICommands.Inquiry.opcode, $0) }, verdict: .pass),
        Row(
            testDescription: "credits doubled", id: "hci/completed-packets[size=few]", change: { credits($0) { [($0, 2 * $1)] } },
            says: ["expected at most 1 completed on handle", "got 2 (packet "]),
        Row(
            testDescription: "credits given twice", id: "hci/completed-packets[size=few]",
            change: { credits($0) { [($0, $1), ($0, $1)] } },
            says: ["expected at most 0 completed on handle", "got 1 (packet "]),
        Row(
            testDescription: "credits for a handle that never was", id: "gap-conn/data-both-ways",
            change: { credits($0) { [($0, $1), (0x0EFF, 1)] } }, says: ["handle 3839, which never was", "got 1 (packet "]),
        Row(
            testDescription: "credits for no packets", id: "hci/completed-packets[size=few]",
            change: { credits($0) { [($0, $1), ($0, 0)] } },
            verdict: .pass),
        Row(
            testDescription: "a question asked twice", id: "bredr-gap/connects-to-subject",
            change: { $0.eventCode == HCIEvents.ConnectionRequest.code ? [$0, $0] : [$0] },
            says: ["Connection_Request of the subject: expected it once, got it again (packet "]),
        Row(
            testDescription: "no answer to Reset", id: "hci/buffer-size",
            change: { $0.completedOpcode == HCICommands.Reset.opcode ? [] : [$0] },
            says: ["Reset of the subject: expected an answer, got none (packet "]),
        Row(
            testDescription: "no command allowed", id: "hci/buffer-size", change: { withoutCredits($0) },
            says: ["expected Num_HCI_Command_Packets 1 or more after the last answer, got 0 (packet "]),
        Row(
            testDescription: "a claimed command is unknown before the claims are read", id: "hci/buffer-size",
            change: { result(of: HCICommands.LEReadBufferSize.opcode, .unknownHCICommand, $0) },
            says: ["LE_Read_Buffer_Size of the subject: expected a status other than Unknown_HCI_Command", "(packet "]),
        Row(
            testDescription: "an error that cannot be", id: "hci/buffer-size",
            change: { result(of: HCICommands.ReadBDADDR.opcode, .unknownConnectionIdentifier, $0) },
            says: ["Read_BD_ADDR of the subject: expected Success", "no parameters", "got Unknown_Connection_Identifier (packet "]),
        Row(
            testDescription: "an address that is cut off", id: "hci/buffer-size",
            change: { cut(HCICommands.ReadBDADDR.opcode, $0) },
            says: ["answer to Read_BD_ADDR of the subject: expected 7 octets of return parameters, got 1, without BD_ADDR (packet "]),
    ]

    @Test(arguments: rows) func isJudgedInEveryCase(_ row: Row) throws {
        let result = try Trial.run(row.id) { direction, packet in direction == .toHost ? row.change(packet) : [packet] }
        #expect(result.verdict == row.verdict, "\(result.message)")
        for text in row.says { #expect(result.message.contains(text), "\(result.message)") }
        #expect((result.failedStep?.requirement == nil) == (row.verdict != .fail))
        let packets = result.evidence.map(\.packet).filter { $0 > 0 }
        #expect(Set(packets).count == packets.count, "packets \(packets): one is listed twice")
    }

    /// The tester's controller is not judged, but its behaviour is reported.
    @Test func theTestersConductIsANote() throws {
        let result = try Trial.run("gap-conn/data-both-ways", at: .tester) { direction, packet in
            direction == .toHost ? Self.credits(packet) { [($0, $1), (0x0EFF, 1)] } : [packet]
        }
        #expect(result.verdict == .pass, "\(result.message)")
        #expect(result.notes.contains { $0.contains("which never was") })
    }

    /// Packets flushed at disconnection may still be reported as completed, once.
    @Test(arguments: [(1, true), (2, false)]) func packetsOfAConnectionThatHasEnded(_ reported: Int, _ isRight: Bool) {
        var packets = OutstandingPackets()
        packets.opened(64)
        packets.sent(HCIPacket(acl: 64, .firstNonFlushable, [1, 0, 4, 0, 0x0A]))
        #expect((packets.completed(64, reported) == nil) == isRight)
        #expect(packets.completed(64, 1) != nil, "it was reported before")
        packets.opened(64)
        #expect(packets.completed(64, 1)?.outstanding == 0)
    }

    private static func status(of opcode: UInt16, _ status: ErrorCode, _ packet: HCIPacket) -> [HCIPacket] {
        packet.completedOpcode == opcode ? [HCIPacket(statusOpcode: opcode, status)] : [packet]
    }

    private static func cut(_ opcode: UInt16, _ packet: HCIPacket) -> [HCIPacket] {
        packet.completedOpcode == opcode ? [HCIPacket(completeOpcode: opcode, returns: [0])] : [packet]
    }

    private static func result(of opcode: UInt16, _ status: ErrorCode, _ packet: HCIPacket) -> [HCIPacket] {
        packet.completedOpcode == opcode ? [HCIPacket(completeOpcode: opcode, returns: [status.rawValue])] : [packet]
    }

    /// A Command Complete that allows no further command.
    private static func withoutCredits(_ packet: HCIPacket) -> [HCIPacket] {
        guard packet.completedOpcode != nil else { return [packet] }
        var bytes = packet.bytes
        bytes[2] = 0
        return [HCIPacket(.event, bytes)]
    }

    private static func complete(_ opcode: UInt16, _ packet: HCIPacket) -> [HCIPacket] {
        guard let event = try? packet.event(as: HCIEvents.CommandStatus.self), event.commandOpcode == opcode else { return [packet] }
        return [HCIPacket(completeOpcode: opcode, returns: [event.status.rawValue])]
    }

    private static func credits(_ packet: HCIPacket, _ change: (ConnectionHandle, Int) -> [(ConnectionHandle, Int)]) -> [HCIPacket] {
        guard let event = try? packet.event(as: HCIEvents.NumberOfCompletedPackets.self) else { return [packet] }
        let rows = event.handles.flatMap { change($0.connectionHandle, Int($0.numCompletedPackets)) }
        return rows.map {
            HCIPacket(
                event: HCIEvents.NumberOfCompletedPackets(handles: [
                    .init(connectionHandle: $0.0, numCompletedPackets: UInt16($0.1))
                ]))
        }
    }
}
