import BBBenchTesting
import BBL2CAP
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Connection-oriented BR/EDR channels end to end, over ACL fragments that may be lost.
@Suite struct ClassicDataChannelTests {
    private static func run(
        loss: Double = 0, _ wanted: ClassicChannelSettings,
        _ body: @escaping (RunLoop, ClassicDataChannel, ClassicDataChannel) async throws -> Void
    ) throws {
        let loop = RunLoop()
        try loop.run {
            let link = ClassicLink(on: loop)
            link.loss = loss
            link.ends[1].channels.admits = { _, psm in psm == 0x1001 ? .accept(wanted) : .refuse(.refusedPSMNotSupported) }
            let near = try await link.ends[0].channels.open(0x1001, wanted)
            try await loop.sleep(for: .seconds(1))
            try await body(loop, near, try #require(link.ends[1].arrived.first))
            link.close()
            // Packets in transit are lost.
            try await loop.sleep(for: .seconds(1))
        }
        #expect(loop.deadlineCount == 0)
    }

    @Test(arguments: [ChannelMode.basic, .enhancedRetransmission, .streaming]) func sdusArriveInEveryMode(mode: ChannelMode) throws {
        var wanted = ClassicChannelSettings()
        (wanted.mode, wanted.mtu, wanted.mps) = (mode, 1_000, 90)
        try Self.run(wanted) { _, near, far in
            for (one, other) in [(near, far), (far, near)] {
                for length in [0, 1, 88, 89, 90, 91, 999, 1_000] {
                    let sdu = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
                    try await one.send(sdu)
                    #expect(try await other.receive() == sdu)
                }
                await #expect(throws: HostError.misuse(.tooLong(octets: 1_001, limit: 1_000))) {
                    try await one.send([UInt8](repeating: 0, count: 1_001))
                }
            }
            near.disconnect()
            await #expect(throws: HostError.peer(.channel(.byPeer))) { _ = try await far.receive() }
            #expect(near.failure == .peer(.channel(.byThisSide)))
        }
    }

    @Test func whatIsLostIsSentAgain() throws {
        var wanted = ClassicChannelSettings()
        (wanted.mode, wanted.mps, wanted.receiveWindow, wanted.maxTransmit) = (.enhancedRetransmission, 80, 20, 0)
        try Self.run(loss: 0.1, wanted) { loop, near, far in
            var received: [[UInt8]] = []
            far.onReceive = { received.append($0) }
            let sent = (0..<100).map { [UInt8](repeating: UInt8($0), count: 1 + $0 * 5) }
            for sdu in sent { try await near.send(sdu) }
            var left = 1_000
            while received.count < sent.count, left > 0 {
                try await loop.sleep(for: .seconds(1))
                left -= 1
            }
            #expect(received == sent)
        }
    }

    @Test func aBusyReceiverStopsItsPeer() throws {
        var wanted = ClassicChannelSettings()
        wanted.mode = .enhancedRetransmission
        try Self.run(wanted) { loop, near, far in
            far.setBusy(true)
            try await loop.sleep(for: .seconds(1))
            try await near.send([1])
            try await loop.sleep(for: .seconds(1))
            await #expect(throws: HostError.environment(.timedOut(.sdu))) { _ = try await far.receive(until: loop.now) }
            far.setBusy(false)
            #expect(try await far.receive(until: loop.now + .seconds(5)) == [1])
        }
    }

    @Test func theHostAsksOverSignalling() throws {
        let loop = RunLoop()
        try loop.run {
            let link = ClassicLink(on: loop)
            let channels = link.ends[0].channels
            let (isAnswered, features) = (try await channels.ping([1, 2]), try await channels.extendedFeatures())
            #expect(isAnswered && features == ClassicSignaling.Settings().features)
            link.close()
            await #expect(throws: HostError.peer(.disconnected(.connectionTimeout))) { _ = try await channels.ping([]) }
            await #expect(throws: HostError.peer(.disconnected(.connectionTimeout))) { _ = try await channels.extendedFeatures() }
        }
    }

    @Test func aRefusalIsTold() throws {
        let loop = RunLoop()
        try loop.run {
            let link = ClassicLink(on: loop)
            await #expect(throws: HostError.peer(.channel(.refused(.refusedPSMNotSupported)))) {
                _ = try await link.ends[0].channels.open(1)
            }
            link.close()
            await #expect(throws: HostError.peer(.disconnected(.connectionTimeout))) { _ = try await link.ends[0].channels.open(1) }
        }
    }
}
