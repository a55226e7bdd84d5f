import BBPackets
import BBSimulation
import BBTiming
import BBTraffic
import BBTransport
import Testing

@testable import BBHost

@Suite struct SimulatedTests {
    @Test(arguments: [false, true]) func advertiseAndScan(usesExtendedCommands: Bool) throws {
        try SimulatedHosts.run { world in
            var advertising = AdvertisingSettings(
                data: AdvertisingData([.flags(.generalDiscoverable)]), scanResponse: AdvertisingData([.completeLocalName("found")]))
            advertising.usesExtendedCommands = usesExtendedCommands
            _ = try await world.peripheral.advertise(advertising)
            var scanning = ScanSettings()
            scanning.usesExtendedCommands = usesExtendedCommands
            let scan = try await world.central.scan(scanning)
            var seen: Set<String> = []
            for try await report in scan.reports {
                #expect(report.address == SimulatedHosts.peripheralAddress && report.isLegacy)
                seen.insert(report.isScanResponse ? report.data.localName ?? "" : "advertising")
                if seen.count == 2 { break }
            }
            #expect(seen == ["advertising", "found"])
            try await scan.stop()
            #expect(world.loop.now < .seconds(2))
        }
    }

    @Test(arguments: [31, 251, 1650], [PHY.le1M, .le2M, .leCoded]) func longDataArrivesWhole(length: Int, secondary: PHY) throws {
        try SimulatedHosts.run { world in
            var advertising = AdvertisingSettings()
            advertising.properties = []
            advertising.secondaryPHY = secondary
            advertising.sid = 5
            // Eight packets on LE Coded take longer than the default interval.
            (advertising.intervalMin, advertising.intervalMax) = (800, 800)
            advertising.data = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            _ = try await world.peripheral.advertise(advertising)
            let scan = try await world.central.scan()
            let expected = advertising.data
            for try await report in scan.reports {
                #expect(report.octets == expected && !report.isTruncated && report.sid == 5 && report.secondaryPHY == secondary)
                break
            }
        }
    }

    @Test func aLinkDoesAllItsProcedures() throws {
        try SimulatedHosts.run { world in
            let (central, peripheral) = try await world.link()
            #expect(central.parameters.interval == 24 && peripheral.parameters.interval == 24)
            #expect(peripheral.peer.address == SimulatedHosts.centralAddress)
            #expect(try await central.readRemoteFeatures().contains(.le2MPHY))
            #expect(try await central.readRemoteVersion().version == 0x0D)
            #expect(try await central.updatePHY(tx: .le2M, rx: .le2M) == LinkPHYs(tx: .le2M, rx: .le2M))
            #expect(try await central.updateDataLength(txOctets: 251).txOctets == 251)
            try await world.loop.sleep(for: .milliseconds(200))
            #expect(peripheral.phys == LinkPHYs(tx: .le2M, rx: .le2M) && peripheral.dataLength.rxOctets == 251)
            #expect(try await central.updateParameters(ConnectionParameterRequest(interval: 12)).interval == 12)
            try await world.loop.sleep(for: .milliseconds(200))
            #expect(peripheral.parameters.interval == 12)
            #expect(try await peripheral.updateParameters(ConnectionParameterRequest(interval: 40)).interval == 40)
            try await peripheral.requestParameters(ConnectionParameterRequest(interval: 8))
            try await world.loop.sleep(for: .seconds(1))
            #expect(central.parameters.interval == 8)
            #expect(
                try await central.host.send(HCICommands.LEReadChannelMap(connectionHandle: central.handle)).channelMap == 0x1F_FFFF_FFFF)
            _ = try await central.readRSSI()
            try await central.disconnect()
            #expect(try await peripheral.ended(within: .seconds(1)) == .remoteUserTerminatedConnection)
            await #expect(throws: HostError.peer(.timedOut(.connection))) {
                var settings = ConnectSettings()
                settings.limit = .seconds(1)
                _ = try await world.central.connect(to: SimulatedHosts.peripheralAddress, settings)
            }
        }
    }

    @Test(arguments: [23, 247, 517]) func attributesCross(mtu: Int) throws {
        try SimulatedHosts.run(database: ATTServerTests.database()) { world in
            let (central, peripheral) = try await world.link()
            if mtu > 23 { #expect(try await central.gatt.exchangeMTU(mtu) == mtu) }
            let service = try await central.gatt.discoverServices(uuid: 0xFFF0)[0]
            let characteristics = try await central.gatt.discoverCharacteristics(in: service)
            #expect(try await central.gatt.readLong(characteristics[0].value) == [UInt8](0..<60))
            try await central.gatt.writeLong(characteristics[0].value, [UInt8](1..<64))
            #expect(world.peripheral.database[characteristics[0].value] == [UInt8](1..<64))
            let received = Counter()
            let next = Counter()
            try await central.gatt.subscribe(characteristics[1]) { _, _, value in
                received.value += 1
                if value.byteCount >= 4 { next.value += value.unsafeLoadUnaligned(as: UInt32.self) == UInt32(received.value - 1) ? 1 : 0 }
            }
            for index in 0..<200 {
                let number = withUnsafeBytes(of: UInt32(index).littleEndian) { [UInt8]($0) }
                try await peripheral.notify(characteristics[1].value, number + [UInt8](repeating: 0, count: min(mtu - 3, 512) - 4))
            }
            try await world.loop.sleep(for: .seconds(4))
            #expect(received.value == 200 && next.value == 200)
        }
    }

    @Test func startingAgainEndsEverythingBefore() throws {
        try SimulatedHosts.run { world in
            let (central, peripheral) = try await world.link()
            let scan = try await world.central.scan()
            try await world.loop.sleep(for: .milliseconds(200))
            try await world.central.start()
            #expect(central.disconnectReason == .connectionTerminatedByLocalHost && !scan.isRunning)
            #expect(try await peripheral.ended(within: .seconds(3)) == .connectionTimeout)
            let (again, _) = try await world.link()
            #expect(try await again.gatt.read(3) == [UInt8]("peripheral".utf8))
        }
    }

    @Test func aHandlerMayUseItsLinkAtOnce() throws {
        let database = GATTDatabase()
        let service = database.add(
            ServiceDefinition(
                0xAAAA,
                characteristics: [
                    CharacteristicDefinition(
                        0xAAA1, properties: [.notify, .write],
                        onWrite: { access, value in
                            _ = access.connection?.tryNotify(access.handle, value)
                            return nil
                        },
                        onSubscribe: { access, _ in _ = access.connection?.tryNotify(access.handle - 1, [9]) })
                ]))
        try SimulatedHosts.run(database: database) { world in
            let (central, _) = try await world.link()
            let seen = Answers()
            central.gatt.values(of: service.characteristics[0].value).add { _, _, value in
                seen.pdus.append(value.octets)
                _ = central.gatt.tryWriteCommand(1, [])
            }
            try await central.gatt.write(service.characteristics[0].configuration ?? 0, [1, 0])
            try await central.gatt.write(service.characteristics[0].value, [1, 2])
            #expect(seen.pdus == [[9], [1, 2]])
        }
    }

    @Test func linksShareOneControllerFairly() throws {
        try SimulatedHosts.run { world in
            let database = GATTDatabase()
            let sink = Lines()
            let service = database.add(
                ServiceDefinition(
                    0xAAAA,
                    characteristics: [
                        CharacteristicDefinition(
                            0xAAA1, properties: .writeWithoutResponse,
                            onWrite: { access, _ in
                                sink.lines.append("\(access.connection?.host === world.peripheral)")
                                return nil
                            })
                    ]))
            let address = DeviceAddress(value: 0xC0_0000_0003)
            let third = try await world.base.addHost(ControllerConfiguration(address: address), database: database)
            world.peripheral.database.add(ServiceDefinition(0xAAAA))
            let (first, _) = try await world.link()
            _ = try await third.advertise(AdvertisingSettings())
            let second = try await world.central.connect(to: address)
            let handle = service.characteristics[0].value
            let sent = [Counter(), Counter()]
            for (link, counter) in zip([first, second], sent) {
                let flow: () -> Void = { while link.gatt.tryWriteCommand(handle, [1, 2, 3]) == .sent { counter.value += 1 } }
                link.writable.add(flow)
                flow()
            }
            try await world.loop.sleep(for: .seconds(10))
            #expect(sent[0].value > 1000)
            #expect(abs(sent[0].value - sent[1].value) * 10 < sent[0].value)
            #expect(sink.lines.count > 1000)
            try await first.disconnect()
            let before = sent[1].value
            try await world.loop.sleep(for: .seconds(1))
            #expect(sent[1].value > before)
        }
    }

    @Test func aPeerThatVanishesEndsTheLinkBySupervision() throws {
        try SimulatedHosts.run { world in
            let (central, _) = try await world.link()
            try await world.loop.sleep(for: .milliseconds(200))
            let before = world.loop.now
            world.peripheral.close()
            #expect(await failure { _ = try await central.gatt.read(3) } == .peer(.disconnected(.connectionTimeout)))
            #expect(world.loop.now - before < .seconds(3))
            #expect(await failure { try await world.peripheral.send(HCICommands.Reset()) } == .environment(.closed))
        }
    }

    @Test func sameSeedSamePackets() throws {
        func once(_ seed: UInt64) throws -> [String] {
            let log = Lines()
            try SimulatedHosts.run(seed: seed, database: ATTServerTests.database()) { world in
                world.central.packetObservers.add { log.lines.append("\($2.rawValue) \($0) \(hex($1.bytes))") }
                world.peripheral.packetObservers.add { log.lines.append("\($2.rawValue) \($0) \(hex($1.bytes))") }
                let (central, _) = try await world.link()
                _ = try await central.gatt.discoverServices()
                try await central.disconnect()
            }
            return log.lines
        }
        let first = try once(3)
        #expect(first.count > 30)
        #expect(try once(3) == first)
        #expect(try once(4) != first)
    }
}

final class Lines {
    var lines: [String] = []
}
