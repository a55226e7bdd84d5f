import BBPackets
import Testing

@testable import CoreBluetooth

/// The advertising of a phone for its program, and its strength at other phones.
@Suite struct AdvertisingTests {
    private static var long: [CBUUID] { (1...6).map { CBUUID(string: "0000000\($0)-1111-2222-3333-444444444444") } }

    /// Scans of a phone for one service each.
    private func found(_ services: [CBUUID], in pair: Pair) -> [Bool] {
        services.map { service in
            let program = CentralProgram(on: pair.phone)
            program.connects = false
            #expect(pair.run { program.manager.state == .poweredOn })
            program.manager.scanForPeripherals(withServices: [service])
            pair.bench.run(for: 3)
            let overflow = program.advertisements.last?[CBAdvertisementDataOverflowServiceUUIDsKey] as? [CBUUID]
            #expect(overflow == nil || overflow == [service])
            #expect(program.advertisements.allSatisfy { $0[CBAdvertisementDataManufacturerDataKey] == nil })
            return !program.advertisements.isEmpty
        }
    }

    /// Services without room are found by who looks for them, and by nobody else; so are those of a program in the background.
    @Test(arguments: [false, true]) func servicesWithoutRoomAreInTheOverflowArea(inBackground: Bool) throws {
        let pair = Pair()
        pair.accessory.manager.stopAdvertising()
        pair.accessoryPhone.isInBackground = inBackground
        pair.phone.isInBackground = inBackground
        pair.accessory.manager.startAdvertising([
            CBAdvertisementDataServiceUUIDsKey: Self.long, CBAdvertisementDataLocalNameKey: "a name of some length",
        ])
        let others = [CBUUID(string: "180D"), CBUUID(string: "99999999-1111-2222-3333-444444444444")]
        #expect(found(Self.long + others, in: pair) == Array(repeating: true, count: 6) + [false, false])
        guard !inBackground else { return }
        let all = CentralProgram(on: pair.phone)
        all.connects = false
        #expect(pair.run { all.manager.state == .poweredOn })
        all.manager.scanForPeripherals(withServices: nil)
        pair.bench.run(for: 3)
        let shown = try #require(all.advertisements.last)
        #expect(shown[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [Self.long[0]])
        #expect(shown[CBAdvertisementDataOverflowServiceUUIDsKey] == nil)
        // The rest of the scan response.
        #expect(shown[CBAdvertisementDataLocalNameKey] as? String == "a name o")
    }

    @Test(arguments: [(1.0, -40), (10, -60), (100, -80), (1_000, nil)] as [(Double, Int?)])
    func theRSSIFollowsTheDistance(metres: Double, rssi: Int?) throws {
        let pair = Pair()
        pair.bench.setDistance(metres, between: "accessory", and: "phone")
        let program = RSSIProgram()
        program.manager = pair.phone.use { CBCentralManager(delegate: program, queue: nil) }
        pair.bench.run(for: 5)
        #expect(program.values == (rssi.map { [$0] } ?? []))
        // The user moves.
        pair.bench.setRSSI(-71, between: "accessory", and: "phone")
        #expect(pair.bench.run { program.values.contains(-71) })
    }

    private final class RSSIProgram: NSObject, CBCentralManagerDelegate {
        var manager: CBCentralManager?
        var values: Set<Int> = []
        func centralManagerDidUpdateState(_ central: CBCentralManager) {
            guard central.state == .poweredOn else { return }
            central.scanForPeripherals(withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
        }
        func centralManager(
            _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
        ) {
            values.insert(rssi.intValue)
        }
    }
}
