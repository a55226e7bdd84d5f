import BBHCI
import BBPackets
import BBTiming
import BBTransport
import Testing

@testable import BBConformance

/// An answer to the request with unexpected content fails the step at once and is named in the message.
struct AnswerRuleTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var change: @Sendable (HCIPacket) -> [HCIPacket]
        var says: [String]
    }

    static let rows: [Row] = [
        Row(
            testDescription: "the event with a bad status",
            change: { replaced($0) { [HCIPacket(event: with($0) { $0.status = .unsupportedRemoteFeature })] } },
            says: ["Status: expected Success", "got Unsupported_Remote_Feature", "(packet "]),
        Row(
            testDescription: "the connection ends",
            change: {
                replaced($0) {
                    [HCIPacket(event: HCIEvents.DisconnectionComplete(connectionHandle: $0.connectionHandle, reason: .connectionTimeout))]
                }
            },
            says: ["xpected LE_PHY_Update_Complete, got Disconnection_Complete", "(packet "]),
        Row(
            testDescription: "the command is refused late",
            change: { replaced($0) { _ in [HCIPacket(statusOpcode: HCICommands.LESetPHY.opcode, .differentTransactionCollision)] } },
            says: ["A command is answered once", "expected no answer, since none is outstanding", "(packet "]),
        Row(
            testDescription: "another connection's event is no answer",
            change: { replaced($0) { [HCIPacket(event: with($0) { ($0.connectionHandle, $0.status) = (0x0EFE, .connectionTimeout) })] } },
            says: ["was expected within"]),
    ]

    @Test(arguments: rows) func whatCameInsteadIsNamed(_ row: Row) throws {
        let result = try Trial.run("phy/subject-asks-2m") { direction, packet in direction == .toHost ? row.change(packet) : [packet] }
        #expect(result.verdict == .fail, "\(result.message)")
        for text in row.says { #expect(result.message.contains(text), "\(result.message)") }
        let isAtOnce = result.virtualMilliseconds < 1_000
        #expect(isAtOnce == !row.says.contains("was expected within"), "\(result.virtualMilliseconds) ms")
    }

    /// Evidence for a missing packet is from the same connection.
    @Test func packetsOfOtherConnectionsAreNoEvidence() throws {
        let text = """
            title: t
            purpose: p
            reference: Core Vol 4, Part E, 7.7.5
            setup:
              - use: connected
                saveAs: link
            steps:
              - expect: Disconnection_Complete
                as: subject
                where: {Connection_Handle: $link.subject}
                within: 100 ms
                states: The connection ends.
            """
        let other = HCIPacket(event: HCIEvents.LEDataLengthChange(connectionHandle: 0x0EFE, maxTXOctets: 27, maxTXTime: 328))
        let result = try Trial.run("phy/made", catalogue: try Trial.catalogue(with: text)) { direction, packet in
            let isOpening = direction == .toHost && (try? packet.event(as: HCIEvents.LEConnectionComplete.self)) != nil
            return [packet] + [HCIPacket](repeating: other, count: isOpening ? 6 : 0)
        }
        #expect(result.verdict == .fail)
        #expect(result.evidence.contains { $0.text.contains("Connection_Complete") })
        #expect(!result.evidence.contains { $0.text.contains("LE_Data_Length_Change") }, "\(result.evidence)")
    }

    private static func replaced(_ packet: HCIPacket, _ change: (HCIEvents.LEPHYUpdateComplete) -> [HCIPacket]) -> [HCIPacket] {
        (try? packet.event(as: HCIEvents.LEPHYUpdateComplete.self)).map(change) ?? [packet]
    }

    private static func with(
        _ event: HCIEvents.LEPHYUpdateComplete, _ change: (inout HCIEvents.LEPHYUpdateComplete) -> Void
    ) -> HCIEvents.LEPHYUpdateComplete {
        var event = event
        change(&event)
        return event
    }
}
