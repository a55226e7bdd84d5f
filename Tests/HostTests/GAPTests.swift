import BBBenchTesting
import BBHCI
import BBPackets
import BBTiming
import BBTraffic
import Testing

@testable import BBHost

@Suite struct GAPTests {
    @Test(arguments: [0, 31, 251, 252, 600, 1650]) func dataIsCutIntoCommands(length: Int) {
        let fragments = Advertising.fragments([UInt8](repeating: 1, count: length))
        #expect(fragments.reduce(0) { $0 + $1.1.count } == length)
        #expect(fragments.allSatisfy { $0.1.count <= 251 })
        let operations = fragments.map(\.0)
        #expect(
            length <= 251
                ? operations == [.complete]
                : operations == [.first] + Array(repeating: .intermediate, count: fragments.count - 2) + [.last])
    }

    @Test func advertisingUsesTheCommandsThatTheControllerHas() throws {
        try World.run { world in
            for isExtended in [false, true] {
                let fake = FakeController(world)
                if isExtended { fake.leFeatures.insert(.leExtendedAdvertising) }
                try await fake.host.start()
                let before = fake.commands.count
                var settings = AdvertisingSettings(data: AdvertisingData([.flags(.generalDiscoverable)]))
                settings.randomAddress = fake.host.drawStaticAddress()
                let set = try await fake.host.advertise(settings)
                #expect(set.selectedTxPower == (isExtended ? 7 : 127))
                try await set.stop()
                let legacy = [
                    HCICommands.LESetRandomAddress.opcode, HCICommands.LESetAdvertisingParameters.opcode,
                    HCICommands.LESetAdvertisingData.opcode,
                    HCICommands.LESetScanResponseData.opcode, HCICommands.LESetAdvertisingEnable.opcode,
                    HCICommands.LESetAdvertisingEnable.opcode,
                ]
                let extended = [
                    HCICommands.LEReadNumberOfSupportedAdvertisingSets.opcode, HCICommands.LESetExtendedAdvertisingParameters.opcode,
                    HCICommands.LESetAdvertisingSetRandomAddress.opcode,
                    HCICommands.LESetExtendedAdvertisingData.opcode, HCICommands.LESetExtendedScanResponseData.opcode,
                    HCICommands.LESetExtendedAdvertisingEnable.opcode, HCICommands.LESetExtendedAdvertisingEnable.opcode,
                ]
                #expect(Array(fake.opcodes[before...]) == (isExtended ? extended : legacy))
                settings.data = [UInt8](repeating: 0, count: 32)
                await #expect(throws: HostError.misuse(.tooLong(octets: 32, limit: 31))) { _ = try await fake.host.advertise(settings) }
            }
        }
    }

    static let staticAddress = DeviceAddress(value: 0xC001_0203_0405, kind: .random)

    /// The host's address is used for advertising, scanning and initiating, unless another one is set.
    @Test(arguments: [
        (BDADDR(0x0102_0304_0506), OwnAddress.automatic, false, OwnAddressType.publicDevice), (0, .automatic, false, .randomDevice),
        (0, .automatic, true, .randomDevice), (0x0102_0304_0506, .fixed(staticAddress), true, .randomDevice),
    ])
    func aHostGoesByOneAddress(_ address: BDADDR, _ choice: OwnAddress, _ isExtended: Bool, _ type: OwnAddressType) throws {
        try World.run { world in
            let fake = FakeController(world)
            if isExtended { fake.leFeatures.insert(.leExtendedAdvertising) }
            fake.script[HCICommands.ReadBDADDR.opcode] = { _ in [HCIPacket(complete: HCICommands.ReadBDADDR.self, .init(bdADDR: address))] }
            fake.host.addressChoice = choice
            try await fake.host.start()
            let set = try await fake.host.advertise(AdvertisingSettings())
            _ = try await fake.host.scan()
            fake.connect(role: .peripheral)
            let connection = try await fake.host.nextIncomingConnection()
            #expect(connection.addresses.own == fake.host.address && set.ownAddress == fake.host.address)
            #expect(fake.host.address.kind == (type == .publicDevice ? .public : .random))
            if case .fixed(let fixed) = choice { #expect(fake.host.address == fixed) }
            let random = fake.commands.compactMap { try? $0.command(as: HCICommands.LESetRandomAddress.self).randomAddress }
            let ofSet = fake.commands.compactMap { try? $0.command(as: HCICommands.LESetAdvertisingSetRandomAddress.self).randomAddress }
            #expect(random == (type == .publicDevice ? [] : [fake.host.address.bdADDR]))
            #expect(ofSet == (isExtended ? [fake.host.address.bdADDR] : []))
            let types = fake.commands.compactMap { packet in
                packet.commandOpcode.flatMap { PDUCatalog.command(opcode: $0) }.flatMap { declaration in
                    DynamicPDU(declaration, parameters: packet.parameters).fields.first { $0.name == "Own_Address_Type" }?.value
                }
            }
            #expect(types == [.integer(Int128(type.rawValue)), .integer(Int128(type.rawValue))])
        }
    }

    @Test func reportsReachTheirReaderAndTheOverflowIsCounted() throws {
        try World.run { world in
            let fake = FakeController(world)
            fake.leFeatures.insert(.leExtendedAdvertising)
            try await fake.host.start()
            var settings = ScanSettings()
            settings.bufferLimit = 2
            let scan = try await fake.host.scan(settings)
            await #expect(throws: HostError.misuse(.busy(.scanning))) { _ = try await fake.host.scan() }
            for status: UInt16 in [1, 0, 0, 0] {
                let report = HCIEvents.LEExtendedAdvertisingReport.Report(
                    eventType: status << 5, address: 1, primaryPHY: 1, secondaryPHY: 2, advertisingSID: 3, rssi: -50, data: [1, 2, 3])
                fake.emit(HCIPacket(event: HCIEvents.LEExtendedAdvertisingReport(reports: [report])))
            }
            fake.emit(
                HCIPacket(event: HCIEvents.LEAdvertisingReport(reports: [.init(address: 2, data: [9]), .init(address: 3, data: [])])))
            try await world.loop.sleep(for: 1000)
            try await scan.stop()
            var read: [[UInt8]] = []
            for try await report in scan.reports { read.append(report.octets) }
            #expect(read == [[1, 2, 3, 1, 2, 3], [1, 2, 3]])
            #expect(scan.count == 5 && scan.dropped == 3)
            #expect(fake.host.counters.droppedReports == 3)
        }
    }

    @Test func anAttemptThatTakesTooLongIsCancelled() throws {
        try World.run { world in
            let fake = FakeController(world)
            try await fake.host.start()
            fake.script[HCICommands.LECreateConnectionCancel.opcode] = { [unowned fake] _ in
                world.loop.schedule(after: 5) {
                    fake.emit(HCIPacket(event: HCIEvents.LEConnectionComplete(status: .unknownConnectionIdentifier)))
                }
                return [HCIPacket(completeOpcode: HCICommands.LECreateConnectionCancel.opcode, returns: [0])]
            }
            await #expect(throws: HostError.peer(.timedOut(.connection))) {
                _ = try await fake.host.connect(to: DeviceAddress(value: 1))
            }
            #expect(world.loop.now >= .seconds(10) && world.loop.now < .seconds(11))
            world.loop.schedule(after: 100) { fake.connect(role: .central) }
            let link = try await fake.host.connect(to: DeviceAddress(value: 1))
            #expect(link.isCentral && link.parameters.interval == 24)
        }
    }

    /// A connect that is cancelled while its command is on its way, or later: the controller is told, and a link that comes nevertheless is
    /// ended.
    @Test(arguments: [Microseconds(0), 50]) func aCancelledAttemptLeavesNothing(delay: Microseconds) throws {
        try World.run { world in
            let fake = FakeController(world)
            try await fake.host.start()
            let work = world.loop.start { _ = try await fake.host.connect(to: DeviceAddress(value: 1)) }
            try await world.loop.sleep(for: delay)
            work.cancel()
            await work.ended()
            try await world.loop.sleep(for: 50)
            #expect(fake.opcodes.suffix(2) == [HCICommands.LECreateConnection.opcode, HCICommands.LECreateConnectionCancel.opcode])
            fake.connect(role: .central)
            try await world.loop.sleep(for: 50)
            #expect(fake.opcodes.last == HCICommands.Disconnect.opcode)
        }
    }

    @Test func proceduresReturnWhatWasAgreed() throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            let handle = pair.central.handle
            world.loop.schedule(after: 50) {
                pair.a.emit(
                    HCIPacket(
                        event: HCIEvents.LEConnectionUpdateComplete(
                            connectionHandle: handle, connectionInterval: 12, supervisionTimeout: 300)))
            }
            let parameters = try await pair.central.updateParameters(ConnectionParameterRequest(intervalMin: 6, intervalMax: 12))
            #expect(parameters == ConnectionParameters(interval: 12, supervisionTimeout: 300))
            world.loop.schedule(after: 50) {
                pair.a.emit(HCIPacket(event: HCIEvents.LEPHYUpdateComplete(connectionHandle: handle, txPHY: 2, rxPHY: 1)))
            }
            #expect(try await pair.central.updatePHY(tx: .le2M, rx: []) == LinkPHYs(tx: .le2M, rx: .le1M))
            world.loop.schedule(after: 50) {
                pair.a.emit(
                    HCIPacket(
                        event: HCIEvents.LEPHYUpdateComplete(
                            status: .unsupportedRemoteFeature, connectionHandle: handle, txPHY: 2, rxPHY: 1)))
            }
            await #expect(throws: HostError.peer(.rejected("LE_Set_PHY", .unsupportedRemoteFeature))) {
                try await pair.central.updatePHY(tx: .leCoded, rx: .leCoded)
            }
            let before = world.loop.now
            #expect(try await pair.central.updateDataLength(txOctets: 251) == DataLength())
            #expect(world.loop.now - before == .milliseconds(8 * 15))
            world.loop.schedule(after: 50) {
                pair.a.emit(
                    HCIPacket(
                        event: HCIEvents.LEDataLengthChange(
                            connectionHandle: handle, maxTXOctets: 251, maxTXTime: 2120, maxRXOctets: 27, maxRXTime: 328)))
            }
            #expect(try await pair.central.updateDataLength(txOctets: 251).txTime == 2120)
        }
    }

    @Test func aPeripheralAsksOverL2CAPAndTheCentralDecides() throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            try await pair.peripheral.requestParameters(ConnectionParameterRequest(interval: 80))
            #expect(pair.a.opcodes.last == HCICommands.LEConnectionUpdate.opcode)
            pair.a.host.parameterPolicy = { _, _ in false }
            await #expect(throws: HostError.peer(.parametersRejected)) {
                try await pair.peripheral.requestParameters(ConnectionParameterRequest(interval: 80))
            }
            pair.b.swallows = { _ in true }
            await #expect(throws: HostError.peer(.timedOut(.parameterUpdateResponse))) {
                try await pair.peripheral.requestParameters(ConnectionParameterRequest(interval: 80))
            }
        }
    }

    @Test func theLinkLayersRequestIsAnsweredByPolicy() throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            pair.a.emit(
                HCIPacket(
                    event: HCIEvents.LERemoteConnectionParameterRequest(
                        connectionHandle: 0x40, intervalMin: 6, intervalMax: 12, timeout: 100)))
            try await world.loop.sleep(for: 100)
            #expect(pair.a.opcodes.last == HCICommands.LERemoteConnectionParameterRequestReply.opcode)
            pair.a.emit(
                HCIPacket(
                    event: HCIEvents.LERemoteConnectionParameterRequest(connectionHandle: 0x40, intervalMin: 6, intervalMax: 12, timeout: 1)
                ))
            try await world.loop.sleep(for: 100)
            #expect(pair.a.opcodes.last == HCICommands.LERemoteConnectionParameterRequestNegativeReply.opcode)
        }
    }

    /// Data of several commands replaces that of a running set, which is disabled meanwhile. Core Vol 4, Part E, 7.8.54.
    @Test(arguments: [1, 251, 252, 700]) func aRunningSetTakesDataOfAnyLength(count: Int) throws {
        try SimulatedHosts.run { hosts in
            var settings = AdvertisingSettings()
            (settings.properties, settings.usesExtendedCommands) = ([], true)
            settings.data = [2, 1, 4]
            let set = try await hosts.peripheral.advertise(settings)
            let data = [UInt8](repeating: 0x5A, count: count)
            try await set.setData(data)
            var heard: Set<[UInt8]> = []
            var scanning = ScanSettings()
            (scanning.isActive, scanning.usesExtendedCommands) = (false, true)
            let scan = try await hosts.central.scan(scanning) { heard.insert($0.octets) }
            try await hosts.loop.sleep(for: .seconds(2))
            #expect(heard == [data] && set.isRunning)
            try await scan.stop()
            try await set.stop()
        }
    }

    @Test func dataThatOvertakesItsConnectionIsHeld() throws {
        try World.run { world in
            let fake = FakeController(world)
            try await fake.host.start()
            fake.emit(HCIPacket(.acl, octets("41 20 0700 0300 0400 02f700")))
            try await world.loop.sleep(for: .milliseconds(11))
            #expect(fake.data.isEmpty)
            fake.connect(handle: 0x41, role: .peripheral)
            let link = try await fake.host.nextIncomingConnection()
            try await world.loop.sleep(for: 10)
            #expect(link.mtu == 247)
            #expect(fake.data.map { hex($0.bytes) } == ["410007000300040003" + "0502"])
            fake.emit(HCIPacket(.acl, octets("42 20 0700 0300 0400 02f700")))
            try await world.loop.sleep(for: .milliseconds(200))
            let counters = fake.host.counters
            #expect(counters.heldData == 1 && counters.strayData == 1)
        }
    }

    @Test func pairingIsDeclinedAndUnknownChannelsAreIgnored() throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            let answers = Answers()
            let channel = pair.central.channel(CID.smp)
            channel.handler = { answers.pdus.append($0.octets) }
            for text in ["01 03 00 09 10 07 07", "0b 00", "0c" + String(repeating: "00", count: 64), "05 05", "00", "0f", "ff"] {
                channel.trySend(octets(text))
            }
            pair.central.channel(3).trySend(octets("020000000000030000"))
            try await world.loop.sleep(for: .milliseconds(100))
            #expect(answers.pdus == [[5, 5], [5, 7], [5, 5]])
            #expect(pair.b.host.counters.unknownChannels == 1)
        }
    }

    @Test func aHandleInUseIsTakenOverAndDisconnectionIsTold() throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            pair.a.connect(role: .peripheral)
            let second = try await pair.a.host.nextIncomingConnection()
            #expect(pair.central.disconnectReason == .connectionTimeout)
            #expect(second.isConnected)
            let reason = try await second.disconnect()
            #expect(reason == .connectionTerminatedByLocalHost)
            #expect(pair.a.host.connections.isEmpty)
            let other = try await pair.peripheral.ended(within: .seconds(1))
            #expect(other == .remoteUserTerminatedConnection)
            #expect(await failure { try await pair.central.channel(4).send([1]) } == .peer(.disconnected(.connectionTimeout)))
        }
    }
}

final class Answers {
    var pdus: [[UInt8]] = []
}
