import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Credit-based channels under load: back-pressure, streams, reasons for the end, and nothing left over.
@Suite struct ChannelLoadTests {
    private static func open(
        _ hosts: SimulatedHosts, _ initiator: CreditBasedChannelSettings = .init(), _ acceptor: CreditBasedChannelSettings = .init()
    ) async throws -> (links: (near: Connection, far: Connection), near: CreditBasedChannel, far: CreditBasedChannel) {
        var far: [CreditBasedChannel] = []
        hosts.peripheral.listen(0x80, acceptor) { far.append($0) }
        let links = try await hosts.link()
        let near = try await links.central.openChannel(0x80, initiator)
        try await hosts.loop.sleep(for: .seconds(1))
        return ((links.central, links.peripheral), near, try #require(far.first))
    }

    /// Sends until the channel takes no more; returns the number of SDUs.
    private static func fill(_ channel: CreditBasedChannel, _ octets: Int) -> Int {
        let sdu = [UInt8](repeating: 7, count: octets)
        var count = 0
        while channel.trySend(sdu.span.bytes) == .sent { count += 1 }
        return count
    }

    @Test func aReaderThatStopsHoldsUpTheSender() throws {
        try SimulatedHosts.run { hosts in
            let settings = CreditBasedChannelSettings(mtu: 200, mps: 50, initialCredits: 20)
            let (_, near, far) = try await Self.open(hosts, settings, settings)
            var sent = Self.fill(near, 98)
            near.writable.add { sent += Self.fill(near, 98) }
            try await hosts.loop.sleep(for: .seconds(5))
            // 98 octets take two K-frames: the window holds ten SDUs.
            #expect(sent == 10 && near.credits == 0 && far.grantedCredits == 0)
            for _ in 0..<4 { #expect(far.take()?.count == 98) }
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(sent == 10 && near.credits == 0)
            #expect(far.take()?.count == 98)
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(sent == 15 && far.hasWaiting)
            var taken = 5
            far.onSDU = { _ in taken += 1 }
            // SDUs that wait go before those that come.
            while far.take() != nil { taken += 1 }
            try await hosts.loop.sleep(for: .seconds(2))
            #expect(taken > 100 && sent >= taken && sent - taken <= 10 + 64)
        }
    }

    @Test(arguments: [(1, 64, 10), (3, 23, 1), (245, 247, 5), (2_000, 247, 64)])
    func trySendDeliversEveryOctetOnce(length: Int, mps: Int, credits: Int) throws {
        try SimulatedHosts.run { hosts in
            let settings = CreditBasedChannelSettings(mtu: 2_000, mps: UInt16(mps), initialCredits: UInt16(credits))
            let (_, near, far) = try await Self.open(hosts, settings, settings)
            var (number, received) = (0, 0)
            func next() -> [UInt8] { (0..<length).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0) } }
            func pump() { while number < 100, near.trySend(next().span.bytes) == .sent { number += 1 } }
            far.onSDU = { sdu in
                let octets = sdu.octets
                #expect(octets == (0..<length).map { UInt8(truncatingIfNeeded: received &* 31 &+ $0) })
                received += 1
            }
            near.writable.add(pump)
            pump()
            try await hosts.loop.sleep(for: .seconds(60))
            #expect(received == 100 && number == 100)
            let long = [UInt8](repeating: 0, count: 2_001)
            #expect(near.trySend(long.span.bytes) == .tooLong)
        }
    }

    @Test func streamsCarryOctetsBothWays() throws {
        try SimulatedHosts.run { hosts in
            let (_, near, far) = try await Self.open(
                hosts, .init(mtu: 300, mps: 60, initialCredits: 4), .init(mtu: 1_000, mps: 247, initialCredits: 8))
            let octets = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 8) }
            let streams = [near, far].map { ChannelStream($0, loop: hosts.loop) }
            var received: [[UInt8]] = [[], []]
            for (index, stream) in streams.enumerated() {
                var position = 0
                let write = { position += stream.write(octets.span.bytes.extracting(position...)) }
                stream.onWritable = write
                stream.onReadable = {
                    while true {
                        let part = stream.read(atMost: 77)
                        guard !part.isEmpty else { break }
                        received[index] += part
                    }
                }
                write()
                #expect(position >= ChannelStream.capacity && position < octets.count && stream.room == 0)
            }
            try await hosts.loop.sleep(for: .seconds(60))
            #expect(received[0] == octets && received[1] == octets)
            #expect(streams.map(\.octetsSent) == [100_000, 100_000] && streams.map(\.octetsRead) == [100_000, 100_000])
        }
    }

    /// The last octets arrive before the end, and the reader sees both.
    @Test func aStreamClosesAfterItsLastOctet() throws {
        try SimulatedHosts.run { hosts in
            let (_, near, far) = try await Self.open(hosts)
            let (writer, reader) = (ChannelStream(near, loop: hosts.loop), ChannelStream(far, loop: hosts.loop))
            let octets = [UInt8](repeating: 9, count: 10_000)
            #expect(writer.write(octets.span.bytes) == 10_000)
            writer.close()
            #expect(writer.write(octets.span.bytes) == 0 && near.isOpen)
            var (count, end) = (0, HostError?.none)
            reader.onReadable = { count += reader.read().count }
            reader.onEnd = { end = $0 }
            try await hosts.loop.sleep(for: .seconds(10))
            count += reader.read().count
            #expect(count == 10_000 && end == .peer(.channel(.byPeer)) && reader.isAtEnd)
            #expect(near.failure == .peer(.channel(.byThisSide)))
        }
    }

    /// A peer that gives no credits does not keep a closed channel open.
    @Test func aClosedChannelWithoutCreditsEndsAfterTheLimit() throws {
        try SimulatedHosts.run { hosts in
            var miser = CreditBasedChannelSettings(mtu: 100, mps: 23, initialCredits: 1)
            miser.grantsCredits = false
            let (_, near, far) = try await Self.open(hosts, .init(), miser)
            let stream = ChannelStream(near, loop: hosts.loop)
            let octets = [UInt8](repeating: 1, count: 90)
            #expect(stream.write(octets.span.bytes) == 90)
            let begin = hosts.loop.now
            stream.close(within: .seconds(3))
            try await near.ended()
            #expect(hosts.loop.now - begin == .seconds(3))
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(far.failure == .peer(.channel(.byPeer)))
        }
    }

    /// Every end of a channel is told by its reason, at both sides.
    @Test func everyEndHasItsReason() throws {
        try SimulatedHosts.run { hosts in
            var told: [HostError] = []
            let (links, near, far) = try await Self.open(hosts, .init(mtu: 100, mps: 50, initialCredits: 2))
            far.closed.add { told.append($0) }
            near.disconnect()
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(near.failure == .peer(.channel(.byThisSide)) && told == [.peer(.channel(.byPeer))])

            for (frame, fault) in Self.faults {
                let channel = try await links.near.openChannel(0x80, .init(mtu: 100, mps: 50, initialCredits: 2))
                // The peer's host is made to send a K-frame that its channel would not.
                links.far.channel(channel.remoteCID).transmit(frame)
                try await channel.ended()
                #expect(channel.failure == .peer(.channel(.creditBasedViolated(fault))))
            }
            let last = try await links.near.openChannel(0x80)
            try await links.near.disconnect()
            guard case .peer(.disconnected) = last.failure else {
                Issue.record("the link was lost, and the reason is \(last.failure.map { "\($0)" } ?? "none")")
                return
            }
        }
    }

    private static let faults: [(frame: [UInt8], fault: ChannelFault)] = [
        ([101, 0, 1], .sduTooLong(octets: 101, limit: 100)), ([UInt8](repeating: 0, count: 53), .frameTooLong(octets: 51, limit: 50)),
        ([2, 0, 1, 2, 3], .lengthExceeded), ([1], .noLength),
    ]

    /// The unsent SDUs of a closed channel do not arrive on the next one with the same CID.
    @Test func nothingOfAClosedChannelArrivesOnTheNext() throws {
        try SimulatedHosts.run { hosts in
            let settings = CreditBasedChannelSettings(mtu: 240, mps: 247, initialCredits: 200)
            let (links, near, far) = try await Self.open(hosts, settings, settings)
            far.onSDU = { _ in }
            #expect(Self.fill(near, 240) > 50)
            near.disconnect()
            var arrived: [UInt8] = []
            hosts.peripheral.listen(0x80, settings) { channel in channel.onSDU = { arrived += $0.octets } }
            let again = try await links.near.openChannel(0x80, settings)
            try await again.send([1, 2, 3])
            try await hosts.loop.sleep(for: .seconds(5))
            #expect(arrived == [1, 2, 3] && again.isOpen)
        }
    }

    /// After 10,000 openings there is no channel left, whichever side closes.
    @Test func tenThousandOpeningsLeaveNothing() throws {
        try SimulatedHosts.run { hosts in
            var far: CreditBasedChannel?
            hosts.peripheral.listen(0x80) { far = $0 }
            let links = try await hosts.link()
            weak var last: CreditBasedChannel?
            for turn in 0..<10_000 {
                let near = try await links.central.openChannel(0x80)
                last = near
                if turn.isMultiple(of: 100) {
                    try await near.send([1])
                    try await hosts.loop.sleep(for: .milliseconds(100))
                }
                let closer = turn.isMultiple(of: 2) ? near : far
                closer?.disconnect()
                try await near.ended()
                // The next one may open only when this one is gone at both sides.
                try await far?.ended()
                far = nil
            }
            try await hosts.loop.sleep(for: .seconds(1))
            for link in [links.central, links.peripheral] {
                #expect(link.channels.count == 0 && link.channels.endpoints == 0 && link.queuedFragments == 0)
                #expect(link.multiplexer.count <= 3 + 4)
            }
            #expect(last == nil)
        }
    }
}
