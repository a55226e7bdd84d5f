import Testing

@testable import CoreBluetooth

/// Attributes that a phone keeps between connections, and identifiers that outlast addresses.
@Suite struct CachingTests {
    private static func traits(bonds: Bool, reportsChanges: Bool) -> CBPhoneTraits {
        var traits = CBPhoneTraits()
        (traits.bonds, traits.reportsChanges) = (bonds, reportsChanges)
        return traits
    }

    /// Everything that discovery finds, and the number of requests for it.
    private func discover(_ pair: Pair) throws -> (uuids: [String], requests: [UInt8]) {
        let peripheral = try #require(pair.central.peripheral)
        // What the phone asks for by itself comes first.
        pair.bench.run(for: 5)
        let requests = Requests(pair.phone)
        peripheral.discoverServices(nil)
        #expect(pair.run { peripheral.services?.isEmpty == false })
        let service = try #require(peripheral.services?.first)
        peripheral.discoverCharacteristics(nil, for: service)
        #expect(pair.run { service.characteristics?.isEmpty == false })
        let characteristic = try #require(service.characteristics?.first)
        peripheral.discoverDescriptors(for: characteristic)
        #expect(pair.run { characteristic.descriptors != nil })
        let found = (service.characteristics ?? []).map(\.uuid) + (characteristic.descriptors ?? []).map(\.uuid)
        return ([service.uuid.uuidString] + found.map(\.uuidString), requests.opcodes)
    }

    private func reconnect(_ pair: Pair) throws {
        let peripheral = try #require(pair.central.peripheral)
        pair.central.manager.cancelPeripheralConnection(peripheral)
        #expect(pair.run { peripheral.state == .disconnected && pair.phone.host.connections.isEmpty })
        pair.central.manager.connect(peripheral)
        #expect(pair.run { peripheral.state == .connected })
    }

    /// A bonded device with Service Changed, and a device without it, need no second discovery; a device with it and without a bond does.
    @Test(arguments: [(true, true, true), (false, false, true), (true, false, true), (false, true, false)])
    func attributesAreKept(isBonded: Bool, reportsChanges: Bool, isKept: Bool) throws {
        let pair = Pair(accessory: Self.traits(bonds: isBonded, reportsChanges: reportsChanges))
        #expect(pair.connect())
        if isBonded {
            pair.central.peripheral?.readValue(for: try #require(pair.central.characteristic("FF01")))
            #expect(pair.run { pair.central.log.last == "value" })
        }
        try reconnect(pair)
        let first = try discover(pair)
        try reconnect(pair)
        let second = try discover(pair)
        #expect(first.uuids == second.uuids && first.uuids.count == 7)
        #expect(second.requests.isEmpty == isKept, "\(second.requests)")
    }

    /// A value that was read before is there when its characteristic is discovered again; reading asks the device nevertheless.
    @Test func knownValuesAreThereAgain() throws {
        let pair = Pair(accessory: Self.traits(bonds: false, reportsChanges: false))
        #expect(pair.connect())
        pair.central.peripheral?.readValue(for: try #require(pair.central.characteristic("2A38")))
        #expect(pair.run { pair.central.values == [Data([1])] })
        let old = try #require(pair.central.characteristic("2A38"))
        try reconnect(pair)
        #expect(pair.central.peripheral?.services == nil)
        _ = try discover(pair)
        let again = try #require(pair.central.characteristic("2A38"))
        #expect(again !== old)
        #expect(again.value == Data([1]))
        let requests = Requests(pair.phone)
        pair.central.peripheral?.readValue(for: again)
        #expect(pair.run { pair.central.values.count == 2 })
        #expect(requests.opcodes == [0x0A])
    }

    /// A bonded device whose services changed while it was away is discovered anew: it indicates the change, and its hash differs.
    @Test func aChangeBetweenConnectionsIsNoticed() throws {
        let pair = Pair()
        #expect(pair.connect())
        pair.central.peripheral?.readValue(for: try #require(pair.central.characteristic("FF01")))
        #expect(pair.run { pair.central.log.last == "value" })
        let peripheral = try #require(pair.central.peripheral)
        pair.central.manager.cancelPeripheralConnection(peripheral)
        #expect(pair.run { pair.phone.host.connections.isEmpty })
        let battery = CBMutableService(type: CBUUID(string: "180F"), primary: true)
        battery.characteristics = [
            CBMutableCharacteristic(type: CBUUID(string: "2A19"), properties: .read, value: Data([80]), permissions: .readable)
        ]
        pair.accessory.manager.add(battery)
        pair.bench.run(for: 1)
        pair.central.manager.connect(peripheral)
        #expect(pair.run { peripheral.state == .connected })
        pair.bench.run(for: 5)
        peripheral.discoverServices(nil)
        #expect(pair.run { peripheral.services?.count == 2 })
        #expect(peripheral.services?.map(\.uuid.uuidString) == ["180D", "180F"])
    }

    // MARK: Identifiers

    /// Once bonded, a device is the same under each private address.
    @Test(arguments: [true, false]) func aBondKeepsTheIdentifier(isBonded: Bool) throws {
        var traits = CBPhoneTraits()
        traits.privateAddressLifetime = 60
        let pair = Pair(accessory: traits, phone: traits)
        #expect(pair.connect())
        if isBonded {
            pair.central.peripheral?.readValue(for: try #require(pair.central.characteristic("FF01")))
            #expect(pair.run { pair.central.log.last == "value" })
        }
        let peripheral = try #require(pair.central.peripheral)
        pair.central.manager.cancelPeripheralConnection(peripheral)
        #expect(pair.run { pair.phone.host.connections.isEmpty })
        pair.central.connects = false
        pair.bench.run(for: 200)
        pair.central.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
        pair.bench.run(for: 10)
        #expect((Set(pair.central.found.map(\.identifier)).count == 1) == isBonded)
        // The device under its old address is not reached; the bonded one is.
        pair.central.manager.connect(peripheral)
        pair.bench.run(for: 30)
        #expect((peripheral.state == .connected) == isBonded)
    }

    @Test func aForgottenDeviceHasAnotherIdentifier() throws {
        let pair = Pair()
        #expect(pair.connect())
        pair.central.peripheral?.readValue(for: try #require(pair.central.characteristic("FF01")))
        #expect(pair.run { pair.central.log.last == "value" })
        let before = try #require(pair.central.peripheral)
        pair.phone.forget(before.identifier)
        #expect(pair.run { before.state == .disconnected })
        #expect(pair.phone.host.keys.all.isEmpty)
        #expect(pair.central.manager.retrievePeripherals(withIdentifiers: [before.identifier]).isEmpty)
        pair.central.connects = false
        pair.central.manager.scanForPeripherals(withServices: nil)
        #expect(pair.run { pair.central.found.count == 2 })
        #expect(pair.central.found[1].identifier != before.identifier)
    }

    /// The peer has lost its keys: the connection fails with an error of its own.
    @Test func aPeerWithoutItsKeysIsReported() throws {
        let pair = Pair()
        #expect(pair.connect())
        pair.central.peripheral?.readValue(for: try #require(pair.central.characteristic("FF01")))
        #expect(pair.run { pair.central.log.last == "value" })
        let peripheral = try #require(pair.central.peripheral)
        pair.central.manager.cancelPeripheralConnection(peripheral)
        #expect(pair.run { pair.phone.host.connections.isEmpty })
        for bond in pair.accessoryPhone.host.keys.all { pair.accessoryPhone.host.keys.remove(.init(bond.identity)) }
        pair.central.manager.connect(peripheral)
        #expect(pair.run { pair.central.log.last == "connection failed" })
        #expect(CBError.peerRemovedPairingInformation ~= (try #require(pair.central.errors.last)))
    }

    /// An attribute of an earlier connection is not used.
    @Test func attributesOfAnEarlierConnectionAreInvalid() throws {
        let pair = Pair()
        #expect(pair.connect())
        let rate = try #require(pair.central.characteristic("2A37"))
        let service = try #require(rate.service)
        try reconnect(pair)
        let requests = Requests(pair.phone)
        pair.bench.run(for: 5)
        let before = requests.count
        pair.central.peripheral?.readValue(for: rate)
        #expect(pair.run { pair.central.log.last == "value failed" })
        pair.central.peripheral?.discoverCharacteristics(nil, for: service)
        #expect(pair.run { pair.central.log.last == "characteristics failed" })
        #expect(pair.central.errors.suffix(2).allSatisfy { CBError.invalidHandle ~= $0 })
        #expect(requests.count == before)
    }

    // MARK: Service Changed

    /// The handle of Service Changed, and that of the configuration of the heart rate.
    private func handles(_ pair: Pair) throws -> (changed: UInt16, rate: UInt16) {
        let all = pair.accessoryPhone.host.database.services.flatMap(\.characteristics)
        let rate = try #require(all.first { $0.uuid == 0x2A37 })
        return (try #require(all.first { $0.uuid == .serviceChanged }).value, try #require(rate.configuration))
    }

    /// Finds the services again, and the configurations that are written for a subscription to the heart rate.
    private func subscribeAgain(_ pair: Pair) throws -> [UInt16] {
        let peripheral = try #require(pair.central.peripheral)
        peripheral.discoverServices([CBUUID(string: "180D")])
        #expect(pair.run { peripheral.services?.isEmpty == false })
        peripheral.discoverCharacteristics(nil, for: try #require(peripheral.services?.first))
        #expect(pair.run { pair.central.characteristic("2A37") != nil })
        let (rate, requests) = (try #require(pair.central.characteristic("2A37")), Requests(pair.phone))
        #expect(!rate.isNotifying)
        peripheral.setNotifyValue(true, for: rate)
        #expect(pair.run { rate.isNotifying })
        return requests.written
    }

    /// A device that has started anew reports that everything has changed, keeps its handles and has forgotten the subscriptions. A change
    /// of a part of a service is one of the service; a change elsewhere leaves the subscription.
    @Test(arguments: ["all", "all, twice", "configuration", "elsewhere"])
    func aSubscriptionAfterAChangeIsWrittenAgain(change: String) throws {
        let pair = Pair()
        #expect(pair.connect())
        pair.central.peripheral?.setNotifyValue(true, for: try #require(pair.central.characteristic("2A37")))
        #expect(pair.run { pair.accessory.log.last == "subscribed" })
        pair.bench.run(for: 5)
        let (changed, rate) = try handles(pair)
        let range: [UInt8] =
            switch change {
            case "configuration": [UInt8(truncatingIfNeeded: rate), 0, UInt8(truncatingIfNeeded: rate), 0]
            case "elsewhere": [0xF0, 0xFF, 0xFF, 0xFF]
            default: [0x01, 0x00, 0xFF, 0xFF]
            }
        let link = try #require(pair.accessoryPhone.host.connections.first)
        let count = change == "all, twice" ? 2 : 1
        pair.bench.start { for _ in 0..<count { try await link.indicate(changed, range) } }
        #expect(pair.run { pair.central.log.count { $0 == "modified" } == count })
        pair.bench.run(for: 5)
        if change == "elsewhere" {
            #expect(pair.central.characteristic("2A37")?.isNotifying == true)
        } else {
            #expect(try subscribeAgain(pair) == [rate])
        }
        pair.accessory.manager.updateValue(Data([0, 61]), for: pair.accessory.rate, onSubscribedCentrals: nil)
        #expect(pair.run { pair.central.values == [Data([0, 61])] })
    }

    /// A change comes while the configuration is being written: the next subscription is written, too.
    @Test func aChangeDuringASubscriptionEndsIt() throws {
        let pair = Pair()
        #expect(pair.connect())
        pair.bench.run(for: 5)
        let (changed, rate) = try handles(pair)
        let link = try #require(pair.accessoryPhone.host.connections.first)
        pair.bench.start { try await link.indicate(changed, [0x01, 0x00, 0xFF, 0xFF]) }
        pair.central.peripheral?.setNotifyValue(true, for: try #require(pair.central.characteristic("2A37")))
        #expect(pair.run { pair.central.log.contains("modified") && pair.accessory.log.contains("subscribed") })
        pair.bench.run(for: 5)
        #expect(try subscribeAgain(pair) == [rate])
    }

    /// Requests that wait for the answer to an earlier one fail if their attributes end before their turn: a handle may mean another one by
    /// then.
    @Test func requestsThatWaitEndWithTheirAttributes() throws {
        let pair = Pair()
        #expect(pair.connect())
        pair.bench.run(for: 5)
        let peripheral = try #require(pair.central.peripheral)
        let (rate, control) = (try #require(pair.central.characteristic("2A37")), try #require(pair.central.characteristic("2A39")))
        pair.accessory.answers = false
        peripheral.readValue(for: rate)
        #expect(pair.run { pair.accessory.requests.count == 1 })
        peripheral.writeValue(Data([1]), for: control, type: .withResponse)
        peripheral.setNotifyValue(true, for: rate)
        peripheral.discoverDescriptors(for: rate)
        let (changed, link) = (try handles(pair).changed, try #require(pair.accessoryPhone.host.connections.first))
        pair.bench.start { try await link.indicate(changed, [0x01, 0x00, 0xFF, 0xFF]) }
        #expect(pair.run { pair.central.log.contains("modified") })
        pair.accessory.manager.respond(to: pair.accessory.requests[0], withResult: .success)
        #expect(pair.run { pair.central.log.last == "descriptors failed" })
        #expect(pair.central.log.suffix(4) == ["value", "written failed", "notifying false failed", "descriptors failed"])
        #expect(pair.central.errors.allSatisfy { CBError.invalidHandle ~= $0 } && pair.accessory.written.isEmpty)
    }
}
