import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Connections over BR/EDR as two hosts see them. Core Vol 4, Part E, 7.1.5 to 7.1.9 and 7.7.3 to 7.7.5.
@Suite struct BREDRConnectionTests {
    struct Pair {
        var central: RawHost
        var peripheral: RawHost
        var atCentral: ConnectionHandle
        var atPeripheral: ConnectionHandle
    }

    static func create(to index: Int, packetType: UInt16 = 0xCC18, allowRoleSwitch: UInt8 = 0) -> HCICommands.CreateConnection {
        .init(
            bdADDR: World.address(index).bdADDR, packetType: packetType, pageScanRepetitionMode: 1, clockOffset: 0,
            allowRoleSwitch: allowRoleSwitch)
    }

    static func connect(_ world: World, packetType: UInt16 = 0xCC18) async throws -> Pair {
        let (central, peripheral) = (world.hosts[0], world.hosts[1])
        try await peripheral.succeed(HCICommands.WriteScanEnable(scanEnable: 2))
        try await central.succeed(create(to: 1, packetType: packetType))
        let request: HCIEvents.ConnectionRequest = try await peripheral.next(within: .seconds(6))
        #expect(request.bdADDR == World.address(0).bdADDR && request.linkType == .acl)
        try await peripheral.succeed(HCICommands.AcceptConnectionRequest(bdADDR: request.bdADDR, role: .peripheral))
        let atCentral = try await central.next(HCIEvents.ConnectionComplete.self)
        let atPeripheral = try await peripheral.next(HCIEvents.ConnectionComplete.self)
        #expect(atCentral.status == .success && atCentral.bdADDR == World.address(1).bdADDR && atCentral.linkType == .acl)
        #expect(atPeripheral.status == .success && atPeripheral.bdADDR == World.address(0).bdADDR && atPeripheral.encryptionEnabled == 0)
        try await world.loop.sleep(for: .milliseconds(200))
        return Pair(
            central: central, peripheral: peripheral, atCentral: atCentral.connectionHandle, atPeripheral: atPeripheral.connectionHandle)
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>) func aConnectionIsMadeAndEndedByEitherSide(_ seed: UInt64) throws {
        try InquiryTests.run(hosts: 2, seed: seed) { world in
            let pair = try await Self.connect(world)
            #expect(try await pair.central.run(Self.create(to: 1)) == .connectionAlreadyExists)
            let (host, other) = seed % 2 == 0 ? (pair.central, pair.peripheral) : (pair.peripheral, pair.central)
            let handles = seed % 2 == 0 ? (pair.atCentral, pair.atPeripheral) : (pair.atPeripheral, pair.atCentral)
            #expect(try await host.run(HCICommands.Disconnect(connectionHandle: handles.0, reason: 0x08)) == .invalidHCICommandParameters)
            try await host.succeed(HCICommands.Disconnect(connectionHandle: handles.0, reason: 0x13))
            let ended: HCIEvents.DisconnectionComplete = try await host.next()
            let told: HCIEvents.DisconnectionComplete = try await other.next()
            #expect(ended.connectionHandle == handles.0 && ended.reason == 0x16)
            #expect(told.connectionHandle == handles.1 && told.reason == 0x13)
            #expect(try await host.run(HCICommands.Disconnect(connectionHandle: handles.0, reason: 0x13)) == .unknownConnectionIdentifier)
            _ = try await Self.connect(world)
        }
    }

    /// Two hosts page each other at the same time: there is one link, the other page ends with Connection Already Exists, and nothing
    /// follows.
    @Test(arguments: 1...8 as ClosedRange<UInt64>) func crossingPagesMakeOneLink(_ seed: UInt64) throws {
        try InquiryTests.run(hosts: 2, seed: seed) { world in
            for host in world.hosts {
                try await host.succeed(
                    HCICommands.SetEventFilter(filterType: 2, filterCondition: [0, 2]),
                    HCICommands.WritePageScanActivity(pageScanInterval: 0x0100, pageScanWindow: 0x0012),
                    HCICommands.WriteScanEnable(scanEnable: 2))
            }
            try await world.hosts[0].succeed(Self.create(to: 1))
            try await world.hosts[1].succeed(Self.create(to: 0))
            try await world.loop.sleep(for: .seconds(12))
            var made: [ConnectionHandle] = []
            for host in world.hosts {
                let results = host.all(HCIEvents.ConnectionComplete.self)
                made += results.filter { $0.status == .success }.map(\.connectionHandle)
                #expect(results.allSatisfy { [.success, .connectionAlreadyExists].contains($0.status) }, "\(results.map(\.status))")
            }
            try #require(made.count == 2, "\(made)")
            try await world.hosts[0].succeed(HCICommands.Disconnect(connectionHandle: made[0], reason: 0x13))
            try await world.loop.sleep(for: .seconds(6))
            #expect(world.hosts.flatMap { $0.all(HCIEvents.ConnectionComplete.self) }.isEmpty)
        }
    }

    /// Data of the host is accepted by the buffers, arrives once and in order, and every packet is credited.
    @Test(arguments: [UInt16(0xCC18), 0x0008, 0x330E, 0xFF1E]) func dataFlowsBothWays(_ packetType: UInt16) throws {
        try InquiryTests.run(hosts: 2, seed: UInt64(packetType)) { world in
            let pair = try await Self.connect(world, packetType: packetType)
            let buffers = try await pair.central.returns(HCICommands.ReadBufferSize())
            #expect(buffers.aclDataPacketLength == 1_021 && buffers.totalNumACLDataPackets == 8)
            for (host, handle, other) in [
                (pair.central, pair.atCentral, pair.peripheral), (pair.peripheral, pair.atPeripheral, pair.central),
            ] {
                let lengths = [1_021, 4, 27, 300, 1_021, 672, 1, 339]
                for (index, length) in lengths.enumerated() {
                    host.sendData(handle, [UInt8](repeating: UInt8(index), count: length), boundary: index == 4 ? 1 : 0)
                }
                host.sendData(handle, [1])
                #expect(try await host.next(HCIEvents.DataBufferOverflow.self).linkType == 1)
                try await world.loop.sleep(for: .milliseconds(500))
                var received: [UInt8] = []
                let packets = other.log.filter { $0.packet.kind == .acl }.map(\.packet.bytes)
                for packet in packets { received += packet[4...] }
                let expected = lengths.enumerated().flatMap { [UInt8](repeating: UInt8($0), count: $1) }
                #expect(received == expected, "\(received.count) of \(expected.count)")
                #expect(packets.filter { $0[1] >> 4 & 3 == 2 }.count == 7)
                let credits = host.all(HCIEvents.NumberOfCompletedPackets.self).flatMap(\.handles)
                #expect(credits.reduce(0) { $0 + Int($1.numCompletedPackets) } == 8 && credits.allSatisfy { $0.connectionHandle == handle })
            }
        }
    }

    /// The paged host wants to be central: the roles are switched before it accepts, if the pager's host allows it.
    @Test(arguments: 1...3 as ClosedRange<UInt64>, [UInt8(0), 1]) func thePagedSideMayBecomeCentral(_ seed: UInt64, _ allow: UInt8) throws {
        try InquiryTests.run(hosts: 2, seed: seed) { world in
            let (pager, paged) = (world.hosts[0], world.hosts[1])
            try await paged.succeed(HCICommands.WriteScanEnable(scanEnable: 2))
            try await pager.succeed(Self.create(to: 1, allowRoleSwitch: allow))
            let request: HCIEvents.ConnectionRequest = try await paged.next(within: .seconds(6))
            try await paged.succeed(HCICommands.AcceptConnectionRequest(bdADDR: request.bdADDR, role: .central))
            if allow == 1 {
                #expect(try await pager.next(HCIEvents.RoleChange.self).newRole == .peripheral)
                #expect(try await paged.next(HCIEvents.RoleChange.self).newRole == .central)
            }
            let handle = try await pager.next(HCIEvents.ConnectionComplete.self).connectionHandle
            #expect(try await paged.next(HCIEvents.ConnectionComplete.self).status == .success)
            pager.sendData(handle, [1, 2, 3])
            #expect(try await paged.nextData().suffix(3) == [1, 2, 3])
        }
    }

    @Test func aPageThatNobodyAnswersTimesOut() throws {
        try InquiryTests.run(hosts: 2) { world in
            let host = world.hosts[0]
            try await host.succeed(HCICommands.WritePageTimeout(pageTimeout: 0x0400), Self.create(to: 1))
            let began = world.loop.now
            #expect(try await host.run(Self.create(to: 1)) == .commandDisallowed)
            let event: HCIEvents.ConnectionComplete = try await host.next()
            #expect(event.status == .pageTimeout && event.bdADDR == World.address(1).bdADDR && event.connectionHandle == 0)
            #expect((NativeClock.slot * 0x0400...NativeClock.slot * 0x0400 + 200).contains(world.loop.now - began))
            // A cancelled connection ends with 0x02 after the answer to the command.
            try await host.succeed(Self.create(to: 1), HCICommands.CreateConnectionCancel(bdADDR: World.address(1).bdADDR))
            #expect(try await host.next(HCIEvents.ConnectionComplete.self).status == .unknownConnectionIdentifier)
            #expect(
                try await host.run(HCICommands.CreateConnectionCancel(bdADDR: World.address(1).bdADDR)) == .unknownConnectionIdentifier)
        }
    }

    /// The other host rejects with a reason, or does not reply until the timeout.
    @Test(arguments: [ErrorCode(rawValue: 0x0D), 0x0E, 0x0F, 0x10]) func aRequestIsRefused(_ reason: ErrorCode) throws {
        try InquiryTests.run(hosts: 2, seed: UInt64(reason.rawValue)) { world in
            let (central, peripheral) = (world.hosts[0], world.hosts[1])
            try await peripheral.succeed(
                HCICommands.WriteScanEnable(scanEnable: 2), HCICommands.WriteConnectionAcceptTimeout(connectionAcceptTimeout: 0x0640))
            try await central.succeed(Self.create(to: 1))
            let request: HCIEvents.ConnectionRequest = try await peripheral.next(within: .seconds(6))
            if reason != 0x10 {
                let address = request.bdADDR
                #expect(
                    try await peripheral.run(HCICommands.RejectConnectionRequest(bdADDR: address, reason: 0x05))
                        == .invalidHCICommandParameters)
                try await peripheral.succeed(HCICommands.RejectConnectionRequest(bdADDR: address, reason: reason))
            }
            #expect(try await peripheral.next(HCIEvents.ConnectionComplete.self).status == reason)
            #expect(try await central.next(HCIEvents.ConnectionComplete.self).status == reason)
            #expect(
                try await peripheral.run(HCICommands.AcceptConnectionRequest(bdADDR: request.bdADDR, role: .peripheral))
                    == .unknownConnectionIdentifier)
            try await world.loop.sleep(for: .seconds(1))
            #expect(central.all(HCIEvents.DisconnectionComplete.self).isEmpty)
        }
    }

    /// A connection filter accepts automatically or asks; a device that no filter matches is rejected without an event to the host.
    @Test(arguments: [(UInt8(1), false), (2, false), (3, false), (2, true)]) func filtersDecide(_ acceptance: UInt8, _ isOther: Bool) throws
    {
        try InquiryTests.run(hosts: 2) { world in
            let (central, peripheral) = (world.hosts[0], world.hosts[1])
            let address = World.address(isOther ? 1 : 0).octets
            #expect(try await peripheral.raw(HCICommands.SetEventFilter.opcode, [2, 2] + address + [acceptance]).status == .success)
            try await peripheral.succeed(HCICommands.WriteScanEnable(scanEnable: 2))
            try await central.succeed(Self.create(to: 1))
            try await world.loop.sleep(for: .seconds(3))
            let requests = peripheral.all(HCIEvents.ConnectionRequest.self)
            let told = central.all(HCIEvents.ConnectionComplete.self).map(\.status)
            let own = peripheral.all(HCIEvents.ConnectionComplete.self).map(\.status)
            #expect(requests.count == (acceptance == 1 ? 1 : 0))
            let refused: ErrorCode = .connectionRejectedDueToUnacceptableBDADDR
            #expect(told == (acceptance == 1 ? [] : isOther ? [refused] : [.success]) && own == (told == [.success] ? [.success] : []))
        }
    }

    @Test func supervisionIsTheCentralsAndEndsALostLink() throws {
        try InquiryTests.run(hosts: 2) { world in
            let pair = try await Self.connect(world)
            #expect(
                try await pair.peripheral.run(
                    HCICommands.WriteLinkSupervisionTimeout(handle: pair.atPeripheral, linkSupervisionTimeout: 0x0640))
                    == .commandDisallowed)
            try await pair.central.succeed(HCICommands.WriteLinkSupervisionTimeout(handle: pair.atCentral, linkSupervisionTimeout: 0x0640))
            try await world.loop.sleep(for: .milliseconds(100))
            for (host, handle) in [(pair.central, pair.atCentral), (pair.peripheral, pair.atPeripheral)] {
                let timeout = try await host.returns(HCICommands.ReadLinkSupervisionTimeout(handle: handle)).linkSupervisionTimeout
                #expect(timeout == 0x0640)
            }
            try await pair.peripheral.succeed(HCICommands.Reset())
            let event: HCIEvents.DisconnectionComplete = try await pair.central.next(within: .seconds(2))
            #expect(event.reason == .connectionTimeout && event.connectionHandle == pair.atCentral)
        }
    }

    /// A device connected over both transports transfers data on both concurrently.
    @Test func bothTransportsShareARadio() throws {
        try InquiryTests.run(hosts: 2, seed: 6) { world in
            let pair = try await Self.connect(world, packetType: 0xCC18)
            try await pair.peripheral.advertiseLegacy()
            try await pair.central.createConnection(to: World.address(1))
            let le = try await pair.central.next(HCIEvents.LEEnhancedConnectionComplete.self, within: .seconds(5)).connectionHandle
            try await world.loop.sleep(for: .seconds(1))
            #expect(le != pair.atCentral)
            let before = pair.peripheral.log.count
            for index in 0..<8 {
                pair.central.sendData(pair.atCentral, [UInt8](repeating: 1, count: 1_000))
                pair.central.sendData(le, [UInt8](repeating: 2, count: 27), boundary: 0)
                try await world.loop.sleep(for: .milliseconds(index == 7 ? 1_000 : 100))
            }
            var (classic, low) = (0, 0)
            for entry in pair.peripheral.log[before...] where entry.packet.kind == .acl {
                if entry.packet.bytes[4] == 1 { classic += entry.packet.bytes.count - 4 } else { low += entry.packet.bytes.count - 4 }
            }
            #expect(classic == 8_000 && low == 8 * 27)
            #expect(pair.central.all(HCIEvents.DisconnectionComplete.self).isEmpty)
        }
    }
}
