import BBHost
import BBPackets
import Testing

@testable import CoreBluetooth

/// Statements of Apple's talks and guides that no other suite shows; docs/core-bluetooth.md has the table.
@Suite struct StatementTests {
    private func settled(_ pair: Pair) {
        #expect(pair.connect())
        pair.bench.run(for: 5)
    }

    @Test func bothManagersWorkOnOneHost() throws {
        let bench = CBBench(seed: 5)
        let (one, two) = (bench.phone("one"), bench.phone("two"))
        let accessories = [Accessory(on: one), Accessory(on: two)]
        let centrals = [CentralProgram(on: one), CentralProgram(on: two)]
        #expect(bench.run { (centrals.map(\.manager.state) + accessories.map(\.manager.state)).allSatisfy { $0 == .poweredOn } })
        for central in centrals { central.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")]) }
        #expect(bench.run { centrals.allSatisfy { $0.peripheral?.state == .connected } })
    }

    @Test func bothPeersHaveIdentifiers() throws {
        let pair = Pair()
        #expect(pair.connect())
        pair.central.peripheral?.readValue(for: try #require(pair.central.characteristic("2A37")))
        #expect(pair.run { pair.accessory.requests.count == 1 })
        let central = pair.accessory.requests[0].central
        let peers: [CBPeer] = [central, try #require(pair.central.peripheral)]
        #expect(Set(peers.map(\.identifier)).count == 2)
        #expect((central.copy() as? CBCentral) === central)
    }

    /// ATT_EXCHANGE_MTU_REQ is the first request of a phone, and the value is in use once the connection is reported.
    @Test func theFirstRequestIsForALargerMTU() throws {
        let pair = Pair()
        let requests = Requests(pair.phone)
        #expect(pair.connect())
        #expect(requests.opcodes.first == 0x02)
        #expect(pair.central.peripheral?.maximumWriteValueLength(for: .withoutResponse) == 512)
    }

    @Test func aLargerMTUNeedsFewerPackets() throws {
        let counts = [23, 185].map { mtu in
            let pair = Pair()
            pair.accessoryPhone.host.setOfferedMTU(mtu)
            settled(pair)
            let requests = Requests(pair.phone)
            pair.accessory.value = Data(repeating: 1, count: 180)
            if let rate = pair.central.characteristic("2A37") { pair.central.peripheral?.readValue(for: rate) }
            #expect(pair.run { pair.central.values.count == 1 })
            if let control = pair.central.characteristic("2A39") {
                pair.central.peripheral?.writeValue(Data(repeating: 2, count: 180), for: control, type: .withResponse)
            }
            #expect(pair.run { pair.central.log.last == "written" })
            return requests.count
        }
        // 9 reads and 11 writes of parts; one of each.
        #expect(counts == [20, 2])
    }

    /// The phone has chosen the PHY and the data length; a program has no call for them.
    @Test func thePhoneChoosesThePHY() throws {
        let pair = Pair()
        settled(pair)
        let link = try #require(pair.phone.host.connections.first)
        #expect(link.phys.tx == .le2M && link.phys.rx == .le2M)
        #expect(link.dataLength.txOctets == 251)
        // Their changes are no events for the program.
        #expect(pair.central.log.dropFirst(2) == ["connected", "services", "characteristics"])
    }

    @Test func discoveryFindsWhatIsAskedFor() throws {
        func requests(_ services: [CBUUID]?, _ characteristics: [CBUUID]?) throws -> (found: Int, count: Int) {
            let pair = Pair()
            for number in 0..<6 {
                pair.accessory.manager.add(CBMutableService(type: CBUUID(string: "FFE\(number)"), primary: true))
            }
            pair.central.manager.scanForPeripherals(withServices: nil)
            #expect(pair.run { pair.central.peripheral?.state == .connected })
            pair.bench.run(for: 5)
            let (peripheral, requests) = (try #require(pair.central.peripheral), Requests(pair.phone))
            peripheral.discoverServices(services)
            #expect(pair.run { peripheral.services?.isEmpty == false })
            for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(characteristics, for: service) }
            #expect(pair.run { peripheral.services?.allSatisfy { $0.characteristics != nil } == true })
            let found = (peripheral.services?.count ?? 0) + (pair.central.characteristic("2A38") == nil ? 0 : 1)
            return (found, requests.count)
        }
        let some = try requests([CBUUID(string: "180D")], [CBUUID(string: "2A37")])
        let all = try requests(nil, nil)
        #expect(some.found == 1 && all.found == 8)
        #expect(some.count < all.count, "\(some.count), \(all.count)")
    }

    /// A value that changes once a minute: ten notifications, or a read request each second.
    @Test func aSubscriptionNeedsFewerPackets() throws {
        func packets(_ polls: Bool) throws -> Int {
            let pair = Pair()
            settled(pair)
            let (peripheral, rate) = (try #require(pair.central.peripheral), try #require(pair.central.characteristic("2A37")))
            if !polls { peripheral.setNotifyValue(true, for: rate) }
            #expect(pair.run { polls || rate.isNotifying })
            let (requests, answers) = (Requests(pair.phone), Values(pair.accessoryPhone))
            for second in 0..<600 {
                if second % 60 == 0, !polls {
                    pair.accessory.manager.updateValue(Data([0, 1]), for: pair.accessory.rate, onSubscribedCentrals: nil)
                }
                if polls { peripheral.readValue(for: rate) }
                pair.bench.run(for: 1)
            }
            return requests.count + answers.count
        }
        #expect(try packets(false) == 10)
        #expect(try packets(true) == 1_200)
    }

    /// ATT_WRITE_REQ with a response, ATT_WRITE_CMD, ATT_HANDLE_VALUE_NTF, and ATT_HANDLE_VALUE_IND with a confirmation.
    @Test func eachKindOfValueHasItsPDU() throws {
        let pair = Pair()
        settled(pair)
        let (peripheral, control) = (try #require(pair.central.peripheral), try #require(pair.central.characteristic("2A39")))
        let requests = Requests(pair.phone)
        peripheral.writeValue(Data([1]), for: control, type: .withResponse)
        #expect(pair.run { pair.central.log.last == "written" })
        peripheral.writeValue(Data([2]), for: control, type: .withoutResponse)
        #expect(pair.run { pair.accessory.written.count == 2 })
        #expect(requests.opcodes == [0x12, 0x52])
        for (uuid, local, opcode) in [("2A37", pair.accessory.rate, 0x1B as UInt8), ("FF01", pair.accessory.alarm, 0x1D)] {
            let remote = try #require(pair.central.characteristic(uuid))
            peripheral.setNotifyValue(true, for: remote)
            #expect(pair.run { remote.isNotifying })
            let values = Values(pair.accessoryPhone)
            pair.accessory.manager.updateValue(Data([3]), for: local, onSubscribedCentrals: nil)
            #expect(pair.run { remote.value == Data([3]) })
            #expect(values.opcodes == [opcode])
        }
    }

    @Test func aDiscoveredPeripheralMustBeHeld() {
        final class Loose: NSObject, CBCentralManagerDelegate {
            weak var found: CBPeripheral?
            var count = 0
            func centralManagerDidUpdateState(_ central: CBCentralManager) {}
            func centralManager(
                _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
            ) {
                count += 1
                found = peripheral
            }
        }
        let pair = Pair()
        let loose = Loose()
        let manager = pair.phone.use { CBCentralManager(delegate: loose, queue: nil) }
        #expect(pair.run { manager.state == .poweredOn })
        manager.scanForPeripherals(withServices: nil)
        #expect(pair.run { loose.count == 1 })
        #expect(loose.found == nil)
    }

    @Test func writing2902EndsTheProgram() async {
        await #expect(processExitsWith: .failure) {
            let pair = Pair()
            _ = pair.connect()
            guard let rate = pair.central.characteristic("2A37") else { return }
            pair.central.peripheral?.discoverDescriptors(for: rate)
            _ = pair.run { rate.descriptors?.count == 2 }
            guard let descriptor = rate.descriptors?.first(where: { $0.uuid.uuidString == "2902" }) else { return }
            pair.central.peripheral?.writeValue(Data([1, 0]), for: descriptor)
        }
    }

    /// A scan has no time limit, and the radio is silent once it is stopped.
    @Test func aScanRunsUntilItIsStopped() {
        let pair = Pair()
        pair.central.connects = false
        pair.accessory.manager.stopAdvertising()
        pair.central.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
        pair.bench.run(for: 600)
        #expect(pair.central.manager.isScanning && pair.central.found.isEmpty)
        pair.accessory.advertise()
        #expect(pair.run { pair.central.found.count == 1 })
        let commands = Commands(pair.phone)
        pair.central.manager.stopScan()
        pair.bench.run(for: 60)
        // LE_Set_Extended_Scan_Enable, once.
        #expect(commands.opcodes == [0x2042])
    }

    @Test func updatesReachAllSubscribersOrThoseNamed() throws {
        let bench = CBBench(seed: 6)
        let accessory = Accessory(on: bench.phone("accessory"))
        let centrals = (1...2).map { CentralProgram(on: bench.phone("phone \($0)")) }
        #expect(bench.run { accessory.log.contains("advertising") && centrals.allSatisfy { $0.manager.state == .poweredOn } })
        for central in centrals {
            central.manager.scanForPeripherals(withServices: nil)
            #expect(bench.run(within: 60) { central.peripheral?.state == .connected })
            central.manager.stopScan()
            central.peripheral?.discoverServices(nil)
            #expect(bench.run { central.peripheral?.services?.isEmpty == false })
            let service = try #require(central.peripheral?.services?.first)
            central.peripheral?.discoverCharacteristics(nil, for: service)
            #expect(bench.run { service.characteristics?.isEmpty == false })
            let rate = try #require(central.characteristic("2A37"))
            central.peripheral?.setNotifyValue(true, for: rate)
            #expect(bench.run { rate.isNotifying })
        }
        accessory.manager.updateValue(Data([1]), for: accessory.rate, onSubscribedCentrals: nil)
        #expect(bench.run { centrals.allSatisfy { $0.values == [Data([1])] } })
        let second = try #require(accessory.rate.subscribedCentrals?.last)
        accessory.manager.updateValue(Data([2]), for: accessory.rate, onSubscribedCentrals: [second])
        bench.run(for: 2)
        #expect(centrals.map(\.values.count) == [1, 2])
    }

    /// Reconnection by identifier, from the list of connections of other programs, and by a scan.
    @Test func aProgramReconnects() throws {
        let pair = Pair()
        #expect(pair.connect())
        let identifier = try #require(pair.central.peripheral?.identifier)
        let uuid = CBUUID(string: "180D")
        func next(_ program: CentralProgram, known: UUID?) -> String {
            let manager = program.manager
            if let known, let peripheral = manager?.retrievePeripherals(withIdentifiers: [known]).first {
                program.found = [peripheral]
                manager?.connect(peripheral)
                return "identifier"
            }
            if let peripheral = manager?.retrieveConnectedPeripherals(withServices: [uuid]).first {
                program.found = [peripheral]
                manager?.connect(peripheral)
                return "list"
            }
            manager?.scanForPeripherals(withServices: [uuid])
            return "scan"
        }
        for (known, way) in [(identifier, "identifier"), (UUID(), "list"), (nil, "list")] {
            let program = CentralProgram(on: pair.phone)
            #expect(pair.run { program.manager.state == .poweredOn })
            #expect(next(program, known: known) == way)
            #expect(pair.run { program.peripheral?.state == .connected })
        }
        pair.central.manager.cancelPeripheralConnection(try #require(pair.central.peripheral))
        #expect(pair.run { pair.phone.host.connections.isEmpty })
        let last = CentralProgram(on: pair.phone)
        #expect(pair.run { last.manager.state == .poweredOn })
        #expect(next(last, known: UUID()) == "scan")
        #expect(pair.run { last.peripheral?.state == .connected })
        #expect(last.peripheral?.identifier == identifier)
    }

    /// Legacy and extended advertising are found by one filter, and connected by one call.
    @Test(arguments: [true, false]) func extendedAdvertisingNeedsNoOtherCalls(isExtended: Bool) throws {
        let bench = CBBench(seed: 8)
        let (accessory, central) = (bench.phone("accessory"), CentralProgram(on: bench.phone("phone")))
        #expect(bench.run { central.manager.state == .poweredOn && accessory.state == .poweredOn })
        // More than the 31 octets of legacy advertising.
        let name = isExtended ? String(repeating: "n", count: 100) : "short"
        var settings = AdvertisingSettings(data: AdvertisingData([.services([0x180D]), .completeLocalName(name)]))
        if isExtended {
            settings.properties = .connectable
            settings.secondaryPHY = .le2M
        }
        bench.start { _ = try await accessory.host.advertise(settings) }
        central.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
        #expect(bench.run { central.peripheral != nil })
        #expect(bench.run { central.peripheral?.state == .connected })
        #expect(central.advertisements.first?[CBAdvertisementDataLocalNameKey] as? String == name)
    }

    /// A phone receives extended advertising only with 2M on the secondary channels, and only up to 124 octets.
    @Test(arguments: [(PHY.le2M, 124, true), (.le2M, 125, false), (.le1M, 124, false), (.leCoded, 124, false)])
    func extendedAdvertisingIsHeardWithinLimits(secondary: PHY, octets: Int, isHeard: Bool) {
        let bench = CBBench(seed: 8)
        let (accessory, central) = (bench.phone("accessory"), CentralProgram(on: bench.phone("phone")))
        #expect(bench.run { central.manager.state == .poweredOn && accessory.state == .poweredOn })
        // Length and type of the name take 2 octets.
        var settings = AdvertisingSettings(data: AdvertisingData([.completeLocalName(String(repeating: "n", count: octets - 2))]))
        settings.properties = .connectable
        settings.secondaryPHY = secondary
        bench.start { _ = try await accessory.host.advertise(settings) }
        central.connects = false
        central.manager.scanForPeripherals(withServices: nil)
        bench.run(for: 5)
        #expect((central.peripheral != nil) == isHeard)
    }

    /// An error of the API is an NSError with user information; numbers without a name do not trap.
    @Test func errorsAreNSErrors() {
        let error: any Error = CBError(.invalidHandle, userInfo: ["handle": 9])
        let stored = error as NSError
        #expect(stored.domain == CBErrorDomain && stored.code == 2 && stored.userInfo["handle"] as? Int == 9)
        #expect(error.localizedDescription == "The attribute handle is invalid.")
        #expect(CBError(_nsError: stored).code == .invalidHandle)
        #expect(CBError(_nsError: NSError(domain: CBErrorDomain, code: 77)).code == .unknown)
        let ofAnApplication = CBATTError(_nsError: NSError(domain: CBATTErrorDomain, code: 0x80))
        #expect(ofAnApplication.errorCode == 0x80 && ofAnApplication.code == CBATTError.Code(rawValue: 0x80))
        #expect((0...0xFF).allSatisfy { CBATTError.Code(rawValue: $0)?.rawValue == $0 })
        #expect(CBATTError.Code(rawValue: 0x11) == .insufficientResources && CBATTError.Code(rawValue: 0x12) == .other(0x12))
        #expect(CBError.invalidHandle ~= error && !(CBATTError.invalidHandle ~= error))
        let plain = NSError(domain: CBErrorDomain, code: 2)
        #expect(CBError.invalidHandle ~= plain && !(CBError.unknown ~= plain) && !(CBATTError.invalidHandle ~= plain))
        #expect(CBATTError.Code.other(0x80) ~= NSError(domain: CBATTErrorDomain, code: 0x80))
    }

    /// The user is asked when the first manager is made, not before.
    @Test(arguments: [CBManagerAuthorization.allowedAlways, .denied])
    func theQuestionComesWithTheFirstManager(answer: CBManagerAuthorization) {
        let bench = CBBench()
        let phone = bench.phone("phone")
        phone.authorization = .notDetermined
        phone.authorizationAnswer = answer
        bench.run(for: 10)
        #expect(phone.use { CBCentralManager.authorization } == .notDetermined)
        let central = CentralProgram(on: phone)
        bench.run(for: 2)
        #expect(phone.use { CBCentralManager.authorization } == answer)
        #expect(central.log == [answer == .denied ? "state unauthorized" : "state poweredOn"])
    }

    // MARK: Channels

    private func opened(_ pair: Pair, _ psm: CBL2CAPPSM) -> CBL2CAPChannel? {
        pair.central.channel = nil
        pair.central.peripheral?.openL2CAPChannel(psm)
        _ = pair.run { pair.central.channel != nil }
        return pair.central.channel
    }

    private func published(_ pair: Pair) -> CBL2CAPPSM {
        pair.accessory.psm = nil
        pair.accessory.manager.publishL2CAPChannel(withEncryption: false)
        #expect(pair.run { pair.accessory.psm != nil })
        return pair.accessory.psm ?? 0
    }

    /// A PSM is like a port: each has its listener, and a free one is assigned again.
    @Test func twoPSMsAreTwoPorts() throws {
        let pair = Pair()
        let (first, second) = (published(pair), published(pair))
        #expect(first != second)
        #expect(pair.connect())
        for psm in [first, second] {
            let channel = opened(pair, psm)
            #expect(channel?.psm == psm && pair.accessory.channel?.psm == psm)
        }
        pair.accessory.manager.unpublishL2CAPChannel(first)
        #expect(pair.run { pair.accessory.log.last == "unpublished" })
        #expect(published(pair) == first)
    }

    /// The PSM that a service publishes is read from a characteristic, least significant octet first; a fixed one needs no reading.
    @Test func thePSMIsReadOrFixed() throws {
        let pair = Pair()
        let psm = published(pair)
        let service = CBMutableService(type: CBUUID(string: "FFE0"), primary: true)
        service.characteristics = [
            CBMutableCharacteristic(
                type: CBUUID(string: CBUUIDL2CAPPSMCharacteristicString), properties: .read,
                value: Data([UInt8(truncatingIfNeeded: psm), UInt8(psm >> 8)]), permissions: .readable)
        ]
        pair.accessory.manager.add(service)
        // Object Transfer. Assigned Numbers, 2.5.
        pair.accessoryPhone.host.listen(0x25, .phone) { _ in }
        #expect(pair.connect())
        pair.central.peripheral?.discoverServices(nil)
        #expect(pair.run { pair.central.peripheral?.services?.count == 2 })
        let remote = try #require(pair.central.peripheral?.services?.first { $0.uuid == service.uuid })
        pair.central.peripheral?.discoverCharacteristics(nil, for: remote)
        #expect(pair.run { remote.characteristics?.isEmpty == false })
        let characteristic = try #require(remote.characteristics?.first)
        pair.central.peripheral?.readValue(for: characteristic)
        #expect(pair.run { characteristic.value?.count == 2 })
        let read = try #require(characteristic.value)
        #expect(opened(pair, CBL2CAPPSM(read[0]) | CBL2CAPPSM(read[1]) << 8) != nil)
        #expect(opened(pair, 0x25)?.psm == 0x25)
    }

    /// The stream ends when the link is lost, and when the other side lets go of its channel.
    @Test(arguments: [true, false]) func aStreamEndsWithItsLinkOrChannel(isLost: Bool) throws {
        final class Ends: NSObject, StreamDelegate {
            var events: [Stream.Event] = []
            func stream(_ aStream: Stream, handle eventCode: Stream.Event) { events.append(eventCode) }
        }
        let pair = Pair()
        let psm = published(pair)
        #expect(pair.connect())
        let channel = try #require(opened(pair, psm))
        #expect(pair.run { pair.accessory.channel != nil })
        let ends = Ends()
        channel.inputStream.delegate = ends
        channel.inputStream.open()
        if isLost { pair.bench.setPacketErrorRate(1) } else { pair.accessory.channel = nil }
        #expect(pair.run { ends.events.contains(.endEncountered) })
    }
}
