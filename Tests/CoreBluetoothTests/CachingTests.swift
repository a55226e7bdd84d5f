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
}
