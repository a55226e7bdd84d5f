import CoreBluetooth
import Foundation
import Testing

/// Values between a central and a peripheral manager.
@Suite struct ValueTests {
    @Test func aDynamicValueIsAskedForEachTime() throws {
        let pair = Pair()
        #expect(pair.connect())
        let rate = try #require(pair.central.characteristic("2A37"))
        pair.accessory.value = Data((0..<200).map { UInt8($0) })
        pair.central.peripheral?.readValue(for: rate)
        #expect(pair.run { !pair.central.values.isEmpty })
        #expect(rate.value == pair.accessory.value)
        #expect(pair.accessory.log.count { $0 == "read at 0" } == 1)
        pair.central.peripheral?.readValue(for: rate)
        #expect(pair.run { pair.central.values.count == 2 })
        #expect(pair.accessory.log.count { $0 == "read at 0" } == 2)
    }

    /// A program may respond when it likes; the outcome is the code that it gives.
    @Test(arguments: [CBATTError.Code.success, .unlikelyError, .insufficientAuthorization, .invalidAttributeValueLength, .other(0x80)])
    func aLateResponseIsTheOutcome(result: CBATTError.Code) throws {
        let pair = Pair()
        #expect(pair.connect())
        pair.accessory.answers = false
        let control = try #require(pair.central.characteristic("2A39"))
        pair.central.peripheral?.writeValue(Data([1, 2]), for: control, type: .withResponse)
        #expect(pair.run { pair.accessory.requests.count == 1 })
        pair.bench.run(for: 10)
        #expect(!pair.central.log.contains { $0.hasPrefix("written") })
        pair.accessory.manager.respond(to: pair.accessory.requests[0], withResult: result)
        #expect(pair.run { pair.central.log.contains { $0.hasPrefix("written") } })
        #expect((pair.central.errors.last as? CBATTError)?.code == (result == .success ? nil : result))
        #expect(pair.accessory.written == [Data([1, 2])])
    }

    /// A value that is longer than ATT_MTU - 3 comes in parts of ATT_MTU - 5 octets, in one call, and is answered once.
    @Test(arguments: [(517, 512, [0]), (185, 182, [0]), (185, 183, [0, 180]), (185, 512, [0, 180, 360]), (23, 40, [0, 18, 36])])
    func aLongWriteComesInParts(mtu: Int, count: Int, offsets: [Int]) throws {
        var traits = CBPhoneTraits()
        traits.mtu = mtu
        let pair = Pair(phone: traits)
        #expect(pair.connect())
        let (peripheral, control) = (try #require(pair.central.peripheral), try #require(pair.central.characteristic("2A39")))
        #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) == min(512, mtu - 3))
        let value = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
        peripheral.writeValue(value, for: control, type: .withResponse)
        #expect(pair.run { pair.central.log.last == "written" })
        #expect(pair.accessory.requests.map(\.offset) == offsets)
        #expect(pair.accessory.written.reduce(Data(), +) == value)
        #expect(pair.accessory.log.last == "write of \(offsets.count)")
        // One answer for all of them, of the program, which keeps the value.
        pair.accessory.result = .invalidOffset
        peripheral.writeValue(value, for: control, type: .withResponse)
        #expect(pair.run { pair.central.log.last == "written failed" })
        #expect(CBATTError.invalidOffset ~= (try #require(pair.central.errors.last)))
    }

    @Test func commandsStopAtTheLimit() throws {
        let pair = Pair()
        #expect(pair.connect())
        let (peripheral, control) = (try #require(pair.central.peripheral), try #require(pair.central.characteristic("2A39")))
        var sent = 0
        while sent < 300 {
            while peripheral.canSendWriteWithoutResponse, sent < 300 {
                peripheral.writeValue(Data([UInt8(truncatingIfNeeded: sent)]), for: control, type: .withoutResponse)
                sent += 1
            }
            pair.central.log.removeAll()
            if sent < 300 { #expect(pair.run { pair.central.log.contains("ready") }) }
        }
        #expect(pair.run { pair.accessory.written.count == 300 })
        #expect(pair.accessory.written == (0..<300).map { Data([UInt8(truncatingIfNeeded: $0)]) })
    }

    @Test func notificationsReachSubscribers() throws {
        let pair = Pair()
        #expect(pair.connect())
        let (peripheral, rate) = (try #require(pair.central.peripheral), try #require(pair.central.characteristic("2A37")))
        #expect(pair.accessory.manager.updateValue(Data([9]), for: pair.accessory.rate, onSubscribedCentrals: nil))
        pair.bench.run(for: 1)
        #expect(pair.central.values.isEmpty)
        peripheral.setNotifyValue(true, for: rate)
        #expect(pair.run { rate.isNotifying })
        #expect(pair.accessory.log.contains("subscribed"))
        #expect(pair.accessory.rate.subscribedCentrals?.count == 1)
        for value: UInt8 in 1...3 {
            pair.accessory.manager.updateValue(Data([0, value]), for: pair.accessory.rate, onSubscribedCentrals: nil)
        }
        #expect(pair.run { pair.central.values.count == 3 })
        #expect(pair.central.values == [Data([0, 1]), Data([0, 2]), Data([0, 3])])
        peripheral.setNotifyValue(false, for: rate)
        #expect(pair.run { pair.accessory.log.last == "unsubscribed" })
        #expect(pair.accessory.rate.subscribedCentrals?.isEmpty ?? true)
    }

    @Test func updatesStopAtTheLimitAndNoneIsLost() throws {
        let pair = Pair()
        #expect(pair.connect())
        let rate = try #require(pair.central.characteristic("2A37"))
        pair.central.peripheral?.setNotifyValue(true, for: rate)
        #expect(pair.run { rate.isNotifying })
        var sent = 0
        while sent < 200 {
            while sent < 200, pair.accessory.manager.updateValue(Data([UInt8(sent)]), for: pair.accessory.rate, onSubscribedCentrals: nil) {
                sent += 1
            }
            pair.accessory.log.removeAll()
            if sent < 200 { #expect(pair.run { pair.accessory.log.contains("ready") }) }
        }
        #expect(pair.run { pair.central.values.count == 200 })
        #expect(pair.central.values == (0..<200).map { Data([UInt8($0)]) })
    }

    /// The user is asked for nothing but a pairing that the value demands, and the value follows.
    @Test func aProtectedValuePairs() throws {
        let pair = Pair()
        #expect(pair.connect())
        let alarm = try #require(pair.central.characteristic("FF01"))
        pair.central.peripheral?.readValue(for: alarm)
        #expect(pair.run { pair.central.log.last == "value" })
        #expect(alarm.value == pair.accessory.value)
        pair.central.peripheral?.setNotifyValue(true, for: alarm)
        #expect(pair.run { alarm.isNotifying })
        pair.accessory.manager.updateValue(Data([5]), for: pair.accessory.alarm, onSubscribedCentrals: nil)
        #expect(pair.run { pair.central.values.last == Data([5]) })
    }

    @Test func aRefusedPairingIsAnErrorOfTheValue() throws {
        let pair = Pair()
        pair.accessoryPhone.answer(accepts: false)
        #expect(pair.connect())
        let alarm = try #require(pair.central.characteristic("FF01"))
        pair.central.peripheral?.readValue(for: alarm)
        #expect(pair.run { pair.central.log.last == "value failed" })
        #expect(CBATTError.insufficientAuthentication ~= (try #require(pair.central.errors.last)))
        #expect(pair.central.peripheral?.state == .connected)
    }

    @Test func descriptorsHaveTypedValues() throws {
        let pair = Pair()
        #expect(pair.connect())
        let rate = try #require(pair.central.characteristic("2A37"))
        pair.central.peripheral?.discoverDescriptors(for: rate)
        #expect(pair.run { rate.descriptors?.count == 2 })
        for descriptor in rate.descriptors ?? [] { pair.central.peripheral?.readValue(for: descriptor) }
        #expect(pair.run { pair.central.log.count { $0 == "descriptor value" } == 2 })
        let values = Dictionary(uniqueKeysWithValues: (rate.descriptors ?? []).map { ($0.uuid.uuidString, $0.value) })
        #expect(values["2901"] as? String == "rate")
        #expect((values["2902"] as? NSNumber)?.intValue == 0)
    }

    @Test func onlyChangedServicesBecomeInvalid() throws {
        let pair = Pair()
        #expect(pair.connect())
        let battery = CBMutableService(type: CBUUID(string: "180F"), primary: true)
        battery.characteristics = [
            CBMutableCharacteristic(type: CBUUID(string: "2A19"), properties: .read, value: Data([80]), permissions: .readable)
        ]
        pair.accessory.manager.add(battery)
        #expect(pair.run { pair.central.log.last == "modified" })
        #expect(pair.central.invalidated.isEmpty)
        pair.central.peripheral?.discoverServices(nil)
        #expect(pair.run { pair.central.peripheral?.services?.count == 2 })
        pair.accessory.manager.remove(battery)
        #expect(pair.run { !pair.central.invalidated.isEmpty })
        #expect(pair.central.invalidated.map(\.uuid.uuidString) == ["180F"])
        #expect(pair.central.peripheral?.services?.map(\.uuid.uuidString) == ["180D"])
    }

    /// The most octets of a value. Core Vol 3, Part F, 3.2.9.
    @Test(arguments: [511, 512, 513, 600]) func aValueHasAtMost512Octets(count: Int) throws {
        let pair = Pair()
        #expect(pair.connect())
        let (peripheral, control) = (try #require(pair.central.peripheral), try #require(pair.central.characteristic("2A39")))
        let (value, cut) = (Data(repeating: 7, count: count), Data(repeating: 7, count: min(512, count)))
        #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) == 512)
        peripheral.writeValue(value, for: control, type: .withResponse)
        #expect(pair.run { pair.central.log.last == (count > 512 ? "written failed" : "written") })
        #expect(pair.central.errors.allSatisfy { CBATTError.invalidAttributeValueLength ~= $0 })
        #expect(pair.accessory.written == (count > 512 ? [] : [value]))
        peripheral.writeValue(value, for: control, type: .withoutResponse)
        #expect(pair.run { pair.accessory.written.last == cut })
        pair.accessory.value = value
        peripheral.readValue(for: try #require(pair.central.characteristic("2A37")))
        #expect(pair.run { pair.central.values == [cut] })
        #expect(pair.accessory.requests.allSatisfy { $0.central.maximumUpdateValueLength == 512 })
    }

    @Test func advertisingTwiceAndReservedServicesAreErrors() {
        let pair = Pair()
        pair.accessory.advertise()
        #expect(pair.run { pair.accessory.log.last == "advertising failed 9" })
        pair.accessory.manager.add(CBMutableService(type: CBUUID(string: "1812"), primary: true))
        #expect(pair.run { pair.accessory.log.last == "adding failed" })
        pair.accessory.manager.stopAdvertising()
        #expect(!pair.accessory.manager.isAdvertising)
    }

    /// One seed gives one course, to the octet.
    @Test func theSameSeedGivesTheSameCourse() throws {
        func course(_ seed: UInt64) -> [String] {
            let pair = Pair(seed: seed)
            pair.bench.setPacketErrorRate(0.1)
            _ = pair.connect()
            return pair.central.log + ["\(pair.bench.now)", pair.central.peripheral?.identifier.uuidString ?? ""]
        }
        #expect(course(5) == course(5))
        #expect(course(5) != course(6))
    }
}
