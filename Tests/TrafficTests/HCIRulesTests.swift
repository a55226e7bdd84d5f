import BBHCI
import BBPackets
import Testing

@testable import BBTraffic

/// Rules for the events of a controller.
struct HCIRulesTests {
    /// Packets between a host and its controller, and the number of those that complete no command.
    static let completions: [(name: String, packets: [HCIPacket], excess: Int)] = {
        let complete = HCIPacket(event: HCIEvents.InquiryComplete())
        func command(_ opcode: UInt16) -> HCIPacket { HCIPacket(opcode: opcode, parameters: []) }
        func answer(_ opcode: UInt16, _ status: ErrorCode = .success) -> HCIPacket {
            HCIPacket(completeOpcode: opcode, returns: [status.rawValue])
        }
        let (once, periodic, exit) = (
            HCICommands.Inquiry.opcode, HCICommands.PeriodicInquiryMode.opcode, HCICommands.ExitPeriodicInquiryMode.opcode
        )
        return [
            ("an inquiry", [command(once), HCIPacket(statusOpcode: once, .success), complete, complete], 1),
            ("none", [complete], 1), ("periodic", [command(periodic), answer(periodic), complete, complete, complete], 0),
            ("refused", [command(periodic), answer(periodic, .invalidHCICommandParameters), complete], 1),
            ("until it ends", [command(periodic), answer(periodic), complete, command(exit), complete, answer(exit), complete], 1),
            ("again", [command(periodic), answer(periodic), command(periodic), answer(periodic, .commandDisallowed), complete], 0),
        ]
    }()

    /// A host that masks the events of connections does not know their handles. Core Vol 4, Part E, 7.8.1.
    @Test(arguments: [
        (LEEventMask.leConnectionComplete, true), (LEEventMask.leAdvertisingReport, false),
        (LEEventMask.leEnhancedConnectionCompleteV2, true),
    ])
    func eventsOfHiddenConnectionsAreNotJudged(mask: LEEventMask, isJudged: Bool) {
        let event = HCIPacket(event: HCIEvents.DisconnectionComplete(status: .success, connectionHandle: 7, reason: .connectionTimeout))
        var rules = HCIRules()
        rules.reset()
        rules.sent(HCIPacket(command: HCICommands.LESetEventMask(leEventMask: mask)))
        rules.received(event, 2) { _ in false }
        #expect((rules.violation != nil) == isJudged)
        rules.reset()
        rules.received(event, 3) { _ in false }
        #expect(rules.violation != nil)
    }

    /// Each inquiry of Periodic Inquiry Mode ends with Inquiry_Complete. Core Vol 4, Part E, 7.1.3 and 7.7.1.
    @Test(arguments: completions) func inquiriesComplete(name: String, packets: [HCIPacket], excess: Int) throws {
        var completions = Completions()
        var count = 0
        for packet in packets {
            if packet.kind == .command {
                completions.sent(packet)
            } else if let answer = try CommandAnswer(event: packet) {
                completions.answered(answer)
            } else if completions.completed(packet) != nil {
                count += 1
            }
        }
        #expect(count == excess)
    }

    /// Events with the handle 0x0040, and whether that is of a new connection. A sync comes over a connection that exists.
    static let handles: [(name: String, event: HCIPacket, isNew: Bool)] = [
        ("a connection", HCIPacket(event: HCIEvents.ConnectionComplete(status: .success, connectionHandle: 0x0040)), true),
        ("a PHY update", HCIPacket(event: HCIEvents.LEPHYUpdateComplete(status: .success, connectionHandle: 0x0040)), false),
        ("a transferred sync", HCIPacket(.event, [0x3E, 20, 0x18, 0, 0x40, 0] + [UInt8](repeating: 1, count: 16)), false),
    ]

    @Test(arguments: handles) func anEventHasAHandleOfItsKind(_ name: String, _ event: HCIPacket, _ isNew: Bool) {
        for isOpen in [true, false] {
            let violation = RuleViolation(NumberedPacket(event, 1)) { $0 == 0x0040 && isOpen }
            #expect((violation != nil) == (isOpen == isNew), "\(violation?.wanted ?? "")")
        }
    }
}
