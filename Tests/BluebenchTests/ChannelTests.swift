import Bluebench
import Testing

/// L2CAP channels in LE credit-based flow control mode.
@Suite struct ChannelTests {
    private static let spsm: UInt16 = 0x80

    @Test(arguments: [1, 100, 512]) func sdusGoBothWays(length: Int) throws {
        try Pair.run { pair in
            pair.sensor.listen(Self.spsm) { channel in
                channel.onReceive = { sdu in _ = pair.bench.start { try await channel.send(sdu.reversed()) } }
            }
            let channel = try await pair.connection.openChannel(Self.spsm)
            #expect(channel.isOpen && channel.spsm == Self.spsm && channel.peerMTU == 512)
            for number in UInt8(0)..<20 {
                let sdu = (0..<length).map { UInt8(truncatingIfNeeded: $0) &+ number }
                try await channel.send(sdu)
                #expect(try await channel.receive(within: .seconds(5)) == sdu.reversed())
            }
        }
    }

    @Test func aChannelEndsForBoth() throws {
        try Pair.run { pair in
            var (accepted, ends): (L2CAPChannel?, [BluetoothError]) = (nil, [])
            pair.sensor.listen(Self.spsm) { channel in
                accepted = channel
                channel.onClose = { ends.append($0) }
            }
            let channel = try await pair.connection.openChannel(Self.spsm)
            try await channel.send([1])
            channel.close()
            try await pair.bench.wait { accepted?.isOpen == false }
            #expect(try await accepted?.receive(within: .seconds(1)) == [1])
            #expect(ends.map(\.reason) == [.channelClosed])
            let error = await reason { try await channel.send([2]) }
            #expect(error?.reason == .channelClosed)
        }
    }

    /// No such service, one that needs encryption until the devices have paired, and one that has stopped.
    @Test func aChannelIsRefused() throws {
        try Pair.run { pair in
            pair.sensor.acceptPairing(PairingOptions())
            #expect(await reason { _ = try await pair.connection.openChannel(Self.spsm) }?.reason == .channelClosed)
            pair.sensor.listen(Self.spsm, security: .encrypted) { _ in }
            #expect(await reason { _ = try await pair.connection.openChannel(Self.spsm) }?.reason == .channelClosed)
            try await pair.connection.pair()
            #expect(try await pair.connection.openChannel(Self.spsm).isOpen)
            pair.sensor.stopListening(Self.spsm)
            #expect(await reason { _ = try await pair.connection.openChannel(Self.spsm) }?.reason == .channelClosed)
        }
    }
}
