import BBPackets
import BBTraffic
import BBTransport
import Testing

/// Packets of a host as they arrive on two pipes.
private final class Pipes {
    private(set) var order = EventOrder()
    private var tracker = ConnectionTracker()

    func event(_ event: HCIPacket, at time: Microseconds) -> [HCIPacket] {
        guard let change = try? tracker.received(event) else { return [] }
        return order.changed(change, at: time)
    }

    func command(_ command: HCIPacket, at time: Microseconds) {
        if let change = tracker.sent(command) { _ = order.changed(change, at: time) }
    }

    func admit(_ packet: HCIPacket, at time: Microseconds) -> Bool { order.admit(packet, at: time) }
    func expire(at time: Microseconds) -> [HCIPacket] { order.expire(at: time) }
}

@Suite struct EventOrderTests {
    private let connected = HCIPacket(event: HCIEvents.LEConnectionComplete(connectionHandle: 0x40))
    private let refreshed = HCIPacket(event: HCIEvents.EncryptionKeyRefreshComplete(connectionHandle: 0x40))
    private func data(_ octet: UInt8) -> HCIPacket { HCIPacket(acl: 0x40, .first, [octet]) }

    @Test func dataThatOvertakesItsConnectionWaitsForIt() {
        let pipes = Pipes()
        #expect(!pipes.admit(data(1), at: 0))
        #expect(!pipes.admit(data(2), at: 3_000))
        #expect(pipes.order.deadline == 100_000)
        #expect(pipes.event(connected, at: 7_000) == [data(1), data(2)])
        #expect(pipes.admit(data(3), at: 7_001))
        #expect(pipes.order.statistics == ReorderingStatistics(held: 2, worstWait: 7_000, dropped: 0))
        #expect(pipes.order.deadline == nil)
    }

    @Test func dataWhoseConnectionNeverComesIsCountedAndDropped() {
        let pipes = Pipes()
        #expect(!pipes.admit(data(1), at: 0))
        #expect(pipes.expire(at: 99_999).isEmpty)
        #expect(pipes.order.statistics.dropped == 0)
        #expect(pipes.expire(at: 100_000).isEmpty)
        #expect(pipes.order.statistics == ReorderingStatistics(held: 1, worstWait: 0, dropped: 1))
        for octet in 0..<200 { _ = pipes.admit(data(UInt8(octet)), at: 200_000) }
        #expect(pipes.order.statistics.held == 1 + EventOrder.heldLimit)
        #expect(pipes.order.statistics.dropped == 1 + 200 - EventOrder.heldLimit)
    }

    @Test func encryptedDataWaitsForTheChangeAndPassesInTheEndAnyway() {
        let pipes = Pipes()
        _ = pipes.event(connected, at: 0)
        pipes.command(HCIPacket(command: HCICommands.LEEnableEncryption(connectionHandle: 0x40)), at: 1_000)
        #expect(!pipes.admit(data(1), at: 2_000))
        #expect(
            pipes.event(HCIPacket(event: HCIEvents.EncryptionChange(connectionHandle: 0x40, encryptionEnabled: 1)), at: 4_000) == [data(1)])
        pipes.command(HCIPacket(command: HCICommands.LELongTermKeyRequestReply(connectionHandle: 0x40)), at: 5_000)
        #expect(!pipes.admit(data(2), at: 6_000))
        #expect(pipes.expire(at: 106_000) == [data(2)])
        #expect(pipes.admit(data(3), at: 106_001))
        pipes.command(HCIPacket(command: HCICommands.SetConnectionEncryption(connectionHandle: 0x40)), at: 200_000)
        #expect(!pipes.admit(data(4), at: 200_001))
        #expect(pipes.event(refreshed, at: 200_002) == [data(4)])
        // Encryption takes several connection events to start, so the first packet may be late.
        pipes.command(HCIPacket(command: HCICommands.LEEnableEncryption(connectionHandle: 0x40)), at: 300_000)
        #expect(!pipes.admit(data(5), at: 460_000) && !pipes.admit(data(6), at: 470_000))
        #expect(pipes.order.deadline == 560_000)
        #expect(pipes.event(refreshed, at: 480_000) == [data(5), data(6)])
        pipes.command(HCIPacket(command: HCICommands.LEEnableEncryption(connectionHandle: 0x40)), at: 600_000)
        #expect(!pipes.admit(data(7), at: 700_000))
        #expect(pipes.expire(at: 800_000) == [data(7)])
        #expect(pipes.admit(data(8), at: 800_001))
    }

    @Test func aHandleEndsWithItsConnectionAndWithAReset() {
        let ends = [
            HCIPacket(event: HCIEvents.DisconnectionComplete(connectionHandle: 0x40)),
            HCIPacket(complete: HCICommands.Reset.self, StatusReturn()),
        ]
        for end in ends {
            let pipes = Pipes()
            _ = pipes.event(connected, at: 0)
            #expect(pipes.admit(data(1), at: 1))
            _ = pipes.event(end, at: 2)
            #expect(!pipes.admit(data(2), at: 3))
            _ = pipes.event(end, at: 4)
            #expect(pipes.event(connected, at: 5).isEmpty)
            #expect(pipes.order.statistics == ReorderingStatistics(held: 1, worstWait: 0, dropped: 1))
        }
    }
}
