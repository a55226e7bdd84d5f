import BBBenchTesting
import BBPackets
import BBSimulation
import BBTiming
import BBTransport
import Testing

@testable import BBHost

/// Packets that a host reads in one turn of its loop, between which no task of it runs: what one decides, the next one finds.
@Suite struct JoinedPacketsTests {
    static let readings: [LateReading] = [0, 1, 20, 100, 400, 1_500].map { LateReading($0...$0) } + [LateReading(0...200)]

    /// A peripheral whose application acts as soon as a condition holds.
    private static func when(_ loop: RunLoop, _ condition: @escaping () -> Bool, _ act: @escaping () -> Void) {
        guard !condition() else { return act() }
        loop.schedule(after: .milliseconds(1)) { when(loop, condition, act) }
    }

    // MARK: Channels

    /// A reader that is set after SDUs have come gets these and all later ones. Core Vol 3, Part A, 10.1.
    @Test(arguments: [1, 3, 5]) func aLateReaderIsServed(early: Int) throws {
        try SimulatedHosts.run { hosts in
            let settings = CreditBasedChannelSettings(mtu: 100, mps: 98, initialCredits: 5)
            let sdus = (0..<20).map { [UInt8](repeating: UInt8($0), count: 30) }
            var sending: Activity<Void>?
            hosts.peripheral.listen(0x80, settings) { channel in
                sending = hosts.loop.start { for sdu in sdus { try await channel.send(sdu) } }
            }
            let near = try await hosts.link().central.openChannel(0x80, settings)
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(near.hasWaiting && sending?.isOver == false)
            var taken: [[UInt8]] = []
            for _ in 1..<early { taken += [try #require(near.take())] }
            near.onSDU = { taken.append($0.octets) }
            try await hosts.loop.sleep(for: .seconds(5))
            #expect(taken == sdus && sending?.isOver == true && !near.hasWaiting)
        }
    }

    /// Data that comes with the response reaches the reader that was named with the request.
    @Test(arguments: readings, [false, true]) func aChannelHasItsReaderFromTheResponseOn(reading: LateReading, isEnhanced: Bool) throws {
        try SimulatedHosts.run(reading: [reading, nil]) { hosts in
            let sdu: [UInt8] = [1, 2, 3]
            hosts.peripheral.listen(0x80) { channel in _ = channel.trySend(sdu.span.bytes) }
            let link = try await hosts.link().central
            var taken: [[UInt8]] = []
            let opened = { (channel: CreditBasedChannel) in
                channel.onSDU = { taken.append($0.octets) }
                #expect(!channel.hasWaiting)
            }
            if isEnhanced {
                _ = try await link.openChannels(0x80, count: 2, opened: opened)
            } else {
                _ = try await link.openChannel(0x80, opened: opened)
            }
            try await hosts.loop.sleep(for: .seconds(4))
            #expect(taken == [[UInt8]](repeating: sdu, count: isEnhanced ? 2 : 1))
        }
    }

    /// The peer uses the new MTU with the packet after its response. Core Vol 3, Part A, 4.27 and 4.28.
    @Test(arguments: readings) func aReconfigurationTakesEffectWithItsResponse(reading: LateReading) throws {
        try SimulatedHosts.run(reading: [reading, nil]) { hosts in
            let sdu = [UInt8](repeating: 9, count: 300)
            hosts.peripheral.listen(0x80, CreditBasedChannelSettings(mtu: 100)) { far in
                Self.when(hosts.loop, { far.peerMTU >= sdu.count }) { _ = far.trySend(sdu.span.bytes) }
            }
            let link = try await hosts.link().central
            let near = try #require(try await link.openChannels(0x80, count: 1, CreditBasedChannelSettings(mtu: 100)).first)
            try await link.reconfigure([near], mtu: 300, mps: 247)
            #expect(try await near.receive(within: .seconds(4)) == sdu)
            #expect(near.isOpen)
        }
    }

    @Test func aClosedChannelIsNotReconfigured() throws {
        try SimulatedHosts.run { hosts in
            hosts.peripheral.listen(0x80) { _ in }
            let link = try await hosts.link().central
            let near = try await link.openChannels(0x80, count: 2)
            near[0].disconnect()
            await #expect(throws: HostError.misuse(.illegalChannel)) { try await link.reconfigure(near, mtu: 600, mps: 247) }
            try await link.reconfigure([near[1]], mtu: 600, mps: 247)
        }
    }

    /// The end of a channel reaches a stream that is made after it.
    @Test func aStreamOfAnEndedChannelEnds() throws {
        try SimulatedHosts.run { hosts in
            hosts.peripheral.listen(0x80) { $0.disconnect() }
            let near = try await hosts.link().central.openChannel(0x80)
            try await hosts.loop.sleep(for: .seconds(1))
            var ended: [HostError] = []
            let stream = ChannelStream(near, loop: hosts.loop)
            stream.onEnd = { ended.append($0) }
            try await hosts.loop.sleep(for: 1)
            #expect(ended == [.peer(.channel(.byPeer))] && stream.isAtEnd)
        }
    }

    // MARK: Enhanced ATT bearers

    /// The peer sends a request on a new bearer at once. Core Vol 3, Part A, 4.26; Part F, 3.2.11.
    @Test(arguments: readings) func anEnhancedBearerServesFromTheResponseOn(reading: LateReading) throws {
        let database = GATTDatabase(deviceName: "both", hasEnhancedBearers: true)
        try SimulatedHosts.run(database: database, reading: [reading, nil]) { hosts in
            hosts.peripheral.pairingSettings = PairingSettings()
            let (near, far) = try await hosts.link()
            try await near.pair()
            var asking: Activity<[UInt8]>?
            Self.when(hosts.loop, { !far.enhancedBearers.isEmpty }) {
                asking = hosts.loop.start { try await far.gatt.read(uuid: .deviceName).first?.value ?? [] }
            }
            #expect(try await near.openEnhancedBearers(2).count == 2)
            try await hosts.loop.sleep(for: .seconds(6))
            #expect(try asking?.result?.get() == [UInt8]("both".utf8))
        }
    }

    // MARK: Advertising

    /// A central connects while the answer that enables the set is unread: the set is known with the answer, and ends with the connection.
    @Test(arguments: readings, [false, true]) func aSetIsKnownWithTheAnswerThatEnablesIt(reading: LateReading, isExtended: Bool) throws {
        try SimulatedHosts.run(reading: [nil, reading]) { hosts in
            hosts.peripheral.pairingSettings = PairingSettings()
            try await hosts.peripheral.enablePrivacy()
            let address = try #require(hosts.peripheral.privateAddress)
            let linking = hosts.loop.start { try await hosts.central.connect(to: address) }
            var settings = AdvertisingSettings()
            (settings.intervalMin, settings.intervalMax, settings.usesExtendedCommands) = (0x20, 0x20, isExtended)
            let set = try await hosts.peripheral.advertise(settings)
            let link = try await set.connected(within: .seconds(5))
            #expect(link.addresses.own == address)
            if isExtended { #expect(try await set.terminated(within: .seconds(5)).status == .success) }
            #expect(!set.isRunning && hosts.peripheral.advertising.isIdle)
            // The addresses are part of what both sides prove. Core Vol 3, Part H, 2.2.7 and 2.2.8.
            #expect(try await linking.value().pair().isBonded)
        }
    }

    /// A central connects and leaves while nothing is read.
    @Test(arguments: [100, 400, 1_500], [false, true]) func aConnectionThatHasEndedIsReported(delay: Int, isExtended: Bool) throws {
        try SimulatedHosts.run(reading: [nil, LateReading(delay...delay)]) { hosts in
            let leaving = hosts.loop.start { try await hosts.central.connect(to: SimulatedHosts.peripheralAddress).disconnect() }
            var settings = AdvertisingSettings()
            (settings.intervalMin, settings.intervalMax, settings.usesExtendedCommands) = (0x20, 0x20, isExtended)
            let link = try await hosts.peripheral.advertise(settings).connected(within: .seconds(5))
            #expect(try await link.ended(within: .seconds(5)) == .remoteUserTerminatedConnection)
            _ = try await leaving.value()
        }
    }

    /// A central that has connected before a set is stopped is one of the set.
    @Test func aSetThatIsBeingStoppedHasItsAddress() throws {
        try SimulatedHosts.run(reading: [nil, LateReading(400...400)]) { hosts in
            hosts.peripheral.pairingSettings = PairingSettings()
            try await hosts.peripheral.enablePrivacy()
            let address = try #require(hosts.peripheral.privateAddress)
            let set = try await hosts.peripheral.advertise(AdvertisingSettings())
            let link = try await hosts.central.connect(to: address)
            try await set.stop()
            try await hosts.loop.sleep(for: .seconds(1))
            #expect(hosts.peripheral.connections.map(\.addresses.own) == [address])
            #expect(try await link.pair().isBonded)
        }
    }

    // MARK: Waits

    /// A connection that comes after a wait for one was given up is for the next wait.
    @Test func aConnectionIsForTheNextWait() throws {
        try World.run { world in
            let fake = FakeController(world)
            try await fake.host.start()
            let failed = await failure { _ = try await fake.host.nextIncomingConnection(within: .milliseconds(10)) }
            #expect(failed == .environment(.timedOut(.incomingConnection)))
            fake.connect(role: .peripheral)
            try await world.loop.sleep(for: .milliseconds(10))
            #expect(try await fake.host.nextIncomingConnection(within: .milliseconds(10)).isConnected)
        }
    }

    /// LE_Scan_Timeout of a scan that was stopped does not end the next one.
    @Test func aTimeOutIsOfTheScanBefore() throws {
        try World.run { world in
            let fake = FakeController(world)
            fake.leFeatures.insert(.leExtendedAdvertising)
            try await fake.host.start()
            fake.script[HCICommands.LESetExtendedScanEnable.opcode] = { parameters in
                let answer = HCIPacket(completeOpcode: HCICommands.LESetExtendedScanEnable.opcode, returns: [0])
                return parameters[0] == 1 ? [HCIPacket(event: HCIEvents.LEScanTimeout()), answer] : [answer]
            }
            let scan = try await fake.host.scan()
            #expect(scan.isRunning)
            fake.emit(HCIPacket(event: HCIEvents.LEScanTimeout()))
            try await world.loop.sleep(for: 1)
            #expect(!scan.isRunning)
        }
    }

    /// A page fails, and the paged device calls in the same turn: it is the initiator of that connection.
    @Test func aDeviceThatCallsAfterAFailedPageIsTheInitiator() throws {
        let configure = { (configuration: inout ControllerConfiguration) in configuration.profile = .dual }
        try SimulatedHosts.run(configure: configure) { hosts in
            let host = hosts.central
            let peer = SimulatedHosts.peripheralAddress.bdADDR
            var called: [ClassicConnection] = []
            host.newClassicConnections.add { called.append($0) }
            let paging = hosts.loop.start { try await host.connectClassic(to: peer) }
            try await hosts.loop.sleep(for: .milliseconds(100))
            for (status, handle) in [(ErrorCode.pageTimeout, 0), (.success, 0x123)] {
                let event = HCIEvents.ConnectionComplete(
                    status: status, connectionHandle: ConnectionHandle(UInt16(handle)), bdADDR: peer, linkType: .acl)
                host.path.received(HCIPacket(event: event), at: hosts.loop.now)
            }
            let failed = await failure { _ = try await paging.value() }
            #expect(failed == .peer(.rejected(HCICommands.CreateConnection.name, .pageTimeout)))
            #expect(called.map(\.isInitiator) == [false])
        }
    }

    // MARK: Security

    /// The peripheral asks for more security in the turn in which the link is encrypted with the bond's key.
    @Test func aSecurityRequestAfterTheEncryptionIsServed() throws {
        try SimulatedHosts.run { hosts in
            for host in [hosts.central, hosts.peripheral] { host.pairingSettings = PairingSettings() }
            let (near, _) = try await hosts.link()
            try await near.pair()
            try await hosts.loop.sleep(for: .seconds(1))
            try await near.disconnect()
            let (again, _) = try await hosts.link()
            var paired: [ConnectionEvent] = []
            let request = SMP.SecurityRequest(authReq: AuthReq(rawValue: 0x0D)).bytes
            again.events.add { event in
                if case .encryptionChanged(true) = event {
                    _ = again.channel(CID.smp).receive(request.span.bytes)
                }
                if case .paired = event { paired.append(event) }
            }
            try await again.encrypt()
            try await hosts.loop.sleep(for: .seconds(2))
            #expect(!paired.isEmpty, "the request was not served")
        }
    }

    /// Two signed writes that wait for room have different counters. Core Vol 3, Part H, 2.4.5.
    @Test func signaturesOfWaitingWritesDiffer() throws {
        try SimulatedHosts.run { hosts in
            for host in [hosts.central, hosts.peripheral] {
                var settings = PairingSettings()
                settings.localKeys.insert(.signKey)
                settings.peerKeys.insert(.signKey)
                host.pairingSettings = settings
            }
            let (near, _) = try await hosts.link()
            try await near.pair()
            try await near.disconnect()
            let (again, _) = try await hosts.link()
            var counters: [[UInt8]] = []
            again.pduObservers.add { direction, cid, pdu in
                let octets = pdu.octets
                if direction == .sent, cid == CID.att, octets.first == ATT.SignedWriteCmd.opcode {
                    counters.append(Array(octets.dropFirst(4).prefix(4)))
                }
            }
            while again.gatt.tryWriteCommand(3, [1]) == .sent {}
            let writes = (0..<3).map { _ in hosts.loop.start { try await again.gatt.signedWrite(3, [1]) } }
            for write in writes { try await write.value() }
            #expect(counters.count == 3 && Set(counters).count == 3, "\(counters)")
        }
    }
}
