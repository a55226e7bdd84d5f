import BBPackets
import BBTiming
import BBTraffic
import Testing

@Suite struct ConnectionTrackerTests {
    private static let peer: BDADDR = 0xC0_0000_0000_01
    private static let parameters = ConnectionParameters(interval: 24, latency: 1, supervisionTimeout: 200)

    struct Opening: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let event: HCIPacket
        let kind: ConnectionState.Kind
        var role: ConnectionRole?
        var peer: DeviceAddress?
        var isPeerResolved = false
        var addresses: [BDADDR?] = [nil, nil]
        var parameters: ConnectionParameters?
    }

    static let openings: [Opening] = [
        Opening(
            testDescription: "LE_Connection_Complete",
            event: HCIPacket(
                event: HCIEvents.LEConnectionComplete(
                    connectionHandle: 0x40, role: .peripheral, peerAddressType: .randomDevice, peerAddress: peer, connectionInterval: 24,
                    peripheralLatency: 1, supervisionTimeout: 200)),
            kind: .le, role: .peripheral, peer: DeviceAddress(peer, kind: .random), parameters: parameters),
        Opening(
            testDescription: "LE_Enhanced_Connection_Complete",
            event: HCIPacket(
                event: HCIEvents.LEEnhancedConnectionComplete(
                    connectionHandle: 0x40, role: .central, peerAddressType: .publicIdentity, peerAddress: peer,
                    localResolvablePrivateAddress: 0x41_0000_0000_02, peerResolvablePrivateAddress: 0x42_0000_0000_03,
                    connectionInterval: 24, peripheralLatency: 1, supervisionTimeout: 200)),
            kind: .le, role: .central, peer: DeviceAddress(peer, kind: .public), isPeerResolved: true,
            addresses: [0x41_0000_0000_02, 0x42_0000_0000_03], parameters: parameters),
        Opening(
            testDescription: "LE_Enhanced_Connection_Complete [v2]",
            event: HCIPacket(
                event: HCIEvents.LEEnhancedConnectionCompleteV2(
                    connectionHandle: 0x40, role: .central, peerAddressType: .randomIdentity, peerAddress: peer,
                    peerResolvablePrivateAddress: 0x42_0000_0000_03, connectionInterval: 24, peripheralLatency: 1, supervisionTimeout: 200)),
            kind: .le, role: .central, peer: DeviceAddress(peer, kind: .random), isPeerResolved: true,
            addresses: [nil, 0x42_0000_0000_03], parameters: parameters),
        Opening(
            testDescription: "Connection_Complete",
            event: HCIPacket(event: HCIEvents.ConnectionComplete(connectionHandle: 0x40, bdADDR: peer, linkType: .acl)),
            kind: .classic, peer: DeviceAddress(peer, kind: .public)),
        Opening(
            testDescription: "Synchronous_Connection_Complete",
            event: HCIPacket(event: HCIEvents.SynchronousConnectionComplete(connectionHandle: 0x40, bdADDR: peer, linkType: .eSCO)),
            kind: .synchronous, peer: DeviceAddress(peer, kind: .public)),
        Opening(
            testDescription: "LE_CIS_Established", event: HCIPacket(event: HCIEvents.LECISEstablished(connectionHandle: 0x40)),
            kind: .isochronous),
    ]

    @Test(arguments: openings) func aConnectionOpens(_ row: Opening) throws {
        var tracker = ConnectionTracker()
        guard case .opened(let connection) = try tracker.received(row.event) else {
            Issue.record("not opened")
            return
        }
        #expect(connection == tracker[0x40])
        #expect(connection.kind == row.kind && connection.role == row.role && connection.peer == row.peer)
        #expect(connection.isPeerResolved == row.isPeerResolved && connection.parameters == row.parameters)
        #expect([connection.ownPrivateAddress, connection.peerPrivateAddress] == row.addresses)
    }

    static let changes: [(HCIPacket, ConnectionChange?)] = [
        (
            HCIPacket(event: HCIEvents.LEConnectionComplete(status: .unknownConnectionIdentifier)),
            .failed(.le, .unknownConnectionIdentifier)
        ),
        (
            HCIPacket(
                event: HCIEvents.LEConnectionUpdateComplete(
                    connectionHandle: 0x40, connectionInterval: 12, peripheralLatency: 0, supervisionTimeout: 300)),
            .parametersChanged(0x40, ConnectionParameters(interval: 12, latency: 0, supervisionTimeout: 300))
        ),
        (HCIPacket(event: HCIEvents.LEConnectionUpdateComplete(status: .unacceptableConnectionParameters, connectionHandle: 0x40)), nil),
        (
            HCIPacket(event: HCIEvents.LEPHYUpdateComplete(connectionHandle: 0x40, txPHY: 2, rxPHY: 3)),
            .physChanged(0x40, LinkPHYs(tx: .le2M, rx: .leCoded))
        ),
        (
            HCIPacket(
                event: HCIEvents.LEDataLengthChange(
                    connectionHandle: 0xF040, maxTXOctets: 251, maxTXTime: 2120, maxRXOctets: 27, maxRXTime: 328)),
            .dataLengthChanged(0x40, DataLength(txOctets: 251, txTime: 2120))
        ),
        (
            HCIPacket(event: HCIEvents.EncryptionChangeV2(connectionHandle: 0x40, encryptionEnabled: 1)),
            .encryptionChanged(0x40, isOn: true, .success)
        ),
        (HCIPacket(event: HCIEvents.EncryptionChange(connectionHandle: 0x41, encryptionEnabled: 1)), nil),
        (HCIPacket(event: HCIEvents.EncryptionKeyRefreshComplete(connectionHandle: 0x40)), .keyRefreshed(0x40, .success)),
        (
            HCIPacket(event: HCIEvents.DisconnectionComplete(connectionHandle: 0x40, reason: .remoteUserTerminatedConnection)),
            .closed(0x40, reason: .remoteUserTerminatedConnection)
        ),
        (HCIPacket(event: HCIEvents.DisconnectionComplete(status: .commandDisallowed, connectionHandle: 0x40)), nil),
        (HCIPacket(complete: HCICommands.Reset.self, StatusReturn()), .reset),
        (HCIPacket(complete: HCICommands.Reset.self, StatusReturn(status: .hardwareFailure)), nil),
        (HCIPacket(complete: HCICommands.LERand.self, .init()), nil),
    ]

    @Test(arguments: changes) func anEventChangesAConnection(event: HCIPacket, change: ConnectionChange?) throws {
        var tracker = ConnectionTracker()
        _ = try tracker.received(HCIPacket(event: HCIEvents.LEConnectionComplete(connectionHandle: 0x40)))
        #expect(try tracker.received(event) == change)
        #expect((tracker[0x40] == nil) == (change == .reset || change == .closed(0x40, reason: .remoteUserTerminatedConnection)))
    }

    @Test func aHandleOrAPHYThatDoesNotExistIsAnError() throws {
        var tracker = ConnectionTracker()
        #expect(throws: PDUError.self) {
            _ = try tracker.received(HCIPacket(event: HCIEvents.LEConnectionComplete(connectionHandle: 0x0F00)))
        }
        _ = try tracker.received(HCIPacket(event: HCIEvents.LEConnectionComplete(connectionHandle: 0x40)))
        #expect(throws: PDUError.self) {
            _ = try tracker.received(HCIPacket(event: HCIEvents.LEPHYUpdateComplete(connectionHandle: 0x40, txPHY: 4, rxPHY: 1)))
        }
        #expect(tracker.connections.count == 1 && tracker[0x40]?.phys == LinkPHYs())
    }

    @Test func keysAreSeenInCommands() throws {
        var tracker = ConnectionTracker()
        _ = try tracker.received(HCIPacket(event: HCIEvents.LEConnectionComplete(connectionHandle: 0x40)))
        #expect(tracker[0x40]?.wasGivenKey == false)
        #expect(tracker.sent(HCIPacket(command: HCICommands.LEEnableEncryption(connectionHandle: 0x40))) == .encryptionRequested(0x40))
        #expect(tracker[0x40]?.wasGivenKey == true)
        _ = try tracker.received(HCIPacket(event: HCIEvents.EncryptionChange(connectionHandle: 0x40, encryptionEnabled: 1)))
        #expect(tracker[0x40]?.isEncrypted == true)
    }

    @Test func noPacketTraps() {
        var random = RandomSource(seed: 4)
        var tracker = ConnectionTracker()
        let codes = [HCIEvents.LEConnectionComplete.code, HCIEvents.ConnectionComplete.code, HCIEvents.CommandComplete.code]
        for round in 0..<20_000 {
            let parameters = random.octets(Int(random.next() % 40))
            _ = try? tracker.received(HCIPacket(eventCode: codes[round % 3], parameters: parameters))
            _ = tracker.sent(HCIPacket(.command, parameters))
        }
        #expect(tracker.connections.count <= 0x0F00)
    }
}
