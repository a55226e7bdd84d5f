import BBHCI
import BBPackets
import Testing

@testable import BBTraffic

/// An event that completes a command comes once for it, whichever version of command and event.
struct CompletionsTests {
    static let rows: [(HCIPacket, HCIPacket)] = [
        (HCIPacket(command: HCICommands.LEReadRemoteFeatures()), HCIPacket(event: HCIEvents.LEReadRemoteFeaturesComplete())),
        (HCIPacket(command: HCICommands.LEGenerateDHKeyV2()), HCIPacket(event: HCIEvents.LEGenerateDHKeyComplete())),
        (HCIPacket(command: HCICommands.RemoteNameRequest()), HCIPacket(event: HCIEvents.RemoteNameRequestComplete())),
    ]

    @Test(arguments: rows) func anEventComesOnce(_ command: HCIPacket, _ event: HCIPacket) throws {
        var completions = Completions()
        completions.sent(command)
        #expect(completions.completed(event) == nil)
        #expect(completions.completed(event)?.id.completedBy.first == event.id)
        completions.sent(command)
        let refusal = HCIPacket(statusOpcode: try #require(command.commandOpcode), .commandDisallowed)
        completions.answered(try #require(try CommandAnswer(event: refusal)))
        #expect(completions.completed(event) != nil)
    }

    /// The peer, or the controller itself, causes these as well.
    @Test(arguments: [
        HCIPacket(event: HCIEvents.LEPHYUpdateComplete()), HCIPacket(event: HCIEvents.LEConnectionComplete()),
        HCIPacket(event: HCIEvents.DisconnectionComplete()), HCIPacket(event: HCIEvents.EncryptionChange()),
    ])
    func otherEventsAreNotCounted(_ event: HCIPacket) {
        var completions = Completions()
        #expect(completions.completed(event) == nil)
    }
}
