import BBBTP
import BBPackets
import Testing

/// The tester's end against octets of an upper tester.
@Suite struct ClientTests {
    static let connect = BTPFrame(.gap, 0x0E, index: 0, data: [0, 1, 2, 3, 4, 5, 6, 0])

    struct Reply: Sendable, CustomStringConvertible {
        var description: String
        var octets: [UInt8]
        var outcome: String
    }

    static let replies = [
        Reply(description: "empty response", octets: [1, 0x0E, 0, 0, 0], outcome: "response"),
        Reply(description: "error", octets: [1, 0, 0, 1, 0, 3], outcome: "refused notReady"),
        Reply(description: "undefined reason", octets: [1, 0, 0, 1, 0, 9], outcome: "refused"),
        Reply(description: "error without reason", octets: [1, 0, 0, 0, 0], outcome: "violation"),
        Reply(description: "response of another command", octets: [1, 0x0F, 0, 0, 0], outcome: "violation"),
        Reply(description: "response of another service", octets: [2, 0x0E, 0, 0, 0], outcome: "violation"),
        Reply(description: "data where none belong", octets: [1, 0x0E, 0, 1, 0, 7], outcome: "violation"),
        Reply(
            description: "connected event", octets: [1, 0x82, 0, 13, 0, 0, 1, 2, 3, 4, 5, 6, 24, 0, 0, 0, 200, 0], outcome: "event"),
        Reply(description: "connected event, short", octets: [1, 0x82, 0, 7, 0, 0, 1, 2, 3, 4, 5, 6], outcome: "violation"),
        Reply(description: "disconnected event, long", octets: [1, 0x83, 0, 8, 0, 0, 1, 2, 3, 4, 5, 6, 7], outcome: "violation"),
        Reply(description: "event of an unknown service", octets: [0x1F, 0x80, 0, 2, 0, 1, 2], outcome: "event"),
    ]

    @Test(arguments: replies) func tellsMessagesApart(reply: Reply) {
        var client = BTPClient()
        #expect(client.send(Self.connect) == Self.connect.bytes)
        let outcomes = client.receive(reply.octets).map { outcome in
            switch outcome {
            case .event: "event"
            case .response: "response"
            case .refused(let reason, _): reason.map { "refused \($0)" } ?? "refused"
            case .late: "late"
            case .violation: "violation"
            }
        }
        #expect(outcomes == [reply.outcome])
    }

    @Test func theResponseToAnAbandonedCommandMayComeLate() {
        var client = BTPClient()
        _ = client.send(Self.connect)
        client.giveUp()
        let next = BTPFrame(.core, 1)
        #expect(client.send(next) == next.bytes)
        #expect(client.receive([1, 0x0E, 0, 0, 0]) == [.late(BTPFrame(success: Self.connect))])
        #expect(client.pending == next)
        guard case .violation? = client.receive([1, 0x0E, 0, 0, 0]).first else {
            Issue.record("accepted twice")
            return
        }
    }

    @Test func sendsOneCommandAtATime() {
        var client = BTPClient()
        #expect(client.send(Self.connect) != nil)
        #expect(client.send(Self.connect) == nil)
        // An event before the response leaves the command pending.
        _ = client.receive([1, 0x80, 0, 4, 0, 1, 0, 0, 0])
        #expect(client.pending == Self.connect)
        _ = client.receive([1, 0x0E, 0, 0, 0])
        #expect(client.pending == nil)
    }

    @Test func aResponseWithoutACommandIsAViolation() {
        var client = BTPClient()
        guard case .violation? = client.receive([1, 0x0E, 0, 0, 0]).first else {
            Issue.record("accepted")
            return
        }
    }
}

/// The core service of a server.
@Suite struct RegistrationTests {
    struct Turn: Sendable, CustomStringConvertible {
        var description: String
        var before: [[UInt8]] = []
        var command: [UInt8]
        /// The answer; nil for a command that is performed or a registration.
        var answer: [UInt8]?
    }

    static let registerGAP: [UInt8] = [0, 3, 0xFF, 1, 0, 1]
    static let turns = [
        Turn(description: "services", command: [0, 2, 0xFF, 0, 0], answer: [0, 2, 0xFF, 1, 0, 0x03]),
        Turn(description: "core commands", command: [0, 1, 0xFF, 0, 0], answer: [0, 1, 0xFF, 1, 0, 0x1E]),
        Turn(description: "register", command: registerGAP),
        Turn(description: "register twice", before: [registerGAP], command: registerGAP, answer: [0, 0, 0xFF, 1, 0, 1]),
        Turn(description: "register core", command: [0, 3, 0xFF, 1, 0, 0], answer: [0, 0, 0xFF, 1, 0, 1]),
        Turn(description: "register an unknown service", command: [0, 3, 0xFF, 1, 0, 0x1F], answer: [0, 0, 0xFF, 1, 0, 1]),
        Turn(description: "unregistered service", command: [1, 6, 0, 1, 0, 1], answer: [1, 0, 0, 1, 0, 2]),
        Turn(description: "registered service", before: [registerGAP], command: [1, 6, 0, 1, 0, 1]),
        Turn(description: "wrong index", before: [registerGAP], command: [1, 6, 1, 1, 0, 1], answer: [1, 0, 1, 1, 0, 4]),
        Turn(description: "unknown command", before: [registerGAP], command: [1, 0x7F, 0, 0, 0], answer: [1, 0, 0, 1, 0, 2]),
        Turn(
            description: "unregistered again", before: [registerGAP, [0, 4, 0xFF, 1, 0, 1]], command: [1, 6, 0, 1, 0, 1],
            answer: [1, 0, 0, 1, 0, 2]),
        Turn(description: "GAP commands", before: [registerGAP], command: [1, 1, 0, 0, 0], answer: [1, 1, 0, 1, 0, 0x42]),
    ]

    @Test(arguments: turns) func answers(turn: Turn) throws {
        var registration = BTPRegistration(commands: ["BTP_GAP_Set_Connectable"])
        var framer = BTPFramer()
        for frame in try framer.receive(turn.before.joined()) { _ = registration.decide(frame) }
        let command = try #require(try framer.receive(turn.command).first)
        let decision = registration.decide(command)
        if let answer = turn.answer {
            #expect(decision == .answer(try #require(try framer.receive(answer).first)))
        } else if command.service == .core {
            #expect(decision == .register(.gap))
        } else {
            #expect(decision == .perform)
        }
    }
}
