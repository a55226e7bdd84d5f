import BBPackets
import BBTraffic
import Testing

@testable import BBConformance

struct LatestIntervalsTests {
    @Test(arguments: [
        (HCIPacket(command: HCICommands.LESetAdvertisingParameters(advertisingIntervalMin: 32, advertisingIntervalMax: 160)), 110_000),
        (
            HCIPacket(
                command: HCICommands.LESetExtendedAdvertisingParameters(
                    primaryAdvertisingIntervalMin: 32, primaryAdvertisingIntervalMax: 320)), 210_000
        ),
        (HCIPacket(command: HCICommands.LESetExtendedAdvertisingParametersV2(primaryAdvertisingIntervalMax: 1600)), 1_010_000),
        (HCIPacket(command: HCICommands.Reset()), nil),
    ])
    func theAdvertisingIntervalIsTheLongestRequested(_ command: HCIPacket, _ interval: Int?) {
        var intervals = LatestIntervals()
        intervals.sent(command)
        #expect(intervals.advertising == interval.map { Microseconds($0) })
        #expect(intervals.connection == nil)
    }

    /// The interval in use is that of the connection established or updated last; its end changes nothing.
    @Test func theConnectionIntervalIsTheLatest() throws {
        var (tracker, intervals) = (ConnectionTracker(), LatestIntervals())
        let events: [(HCIPacket, Int)] = [
            (HCIPacket(event: HCIEvents.LEConnectionComplete(connectionHandle: 0x40, connectionInterval: 24)), 30_000),
            (HCIPacket(event: HCIEvents.ConnectionComplete(connectionHandle: 0x41, linkType: .acl)), 30_000),
            (HCIPacket(event: HCIEvents.LEConnectionComplete(connectionHandle: 0x42, connectionInterval: 8)), 10_000),
            (HCIPacket(event: HCIEvents.LEConnectionUpdateComplete(connectionHandle: 0x40, connectionInterval: 80)), 100_000),
            (HCIPacket(event: HCIEvents.DisconnectionComplete(connectionHandle: 0x40)), 100_000),
        ]
        for (event, interval) in events {
            if let change = try tracker.received(event) { intervals.changed(change) }
            #expect(intervals.connection == Microseconds(interval))
        }
    }
}
