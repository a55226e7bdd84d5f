import Synchronization
import Testing

@testable import CoreBluetooth

/// Calls without effect: each has its line, and is a misuse of the bench.
@Suite struct StrictTests {
    private typealias Program = @Sendable (Pair) throws -> Void

    private final class Called: Sendable {
        private let list = Mutex<[CBBenchMisuse]>([])
        var all: [CBBenchMisuse] { list.withLock { $0 } }
        func add(_ misuse: CBBenchMisuse) { list.withLock { $0.append(misuse) } }
    }

    private static func connected(_ pair: Pair) throws -> CBPeripheral {
        #expect(pair.connect())
        pair.bench.run(for: 2)
        return try #require(pair.central.peripheral)
    }

    private static let rows: [(name: String, line: String, program: Program)] = [
        (
            "before powered on",
            "API MISUSE: <CBCentralManager> can only accept this command while in the powered on state: scanForPeripherals",
            { CentralProgram(on: $0.phone).manager.scanForPeripherals(withServices: nil) }
        ),
        (
            "not connected", "can only accept commands while in the connected state: readRSSI",
            { pair in
                let peripheral = try connected(pair)
                pair.central.manager.cancelPeripheralConnection(peripheral)
                #expect(pair.bench.run { peripheral.state == .disconnected })
                peripheral.readRSSI()
            }
        ),
        (
            "without the property", "\"Write Without Response\" property - ignoring response-less write",
            { pair in
                let peripheral = try connected(pair)
                peripheral.writeValue(Data([1]), for: try #require(pair.central.characteristic("2A38")), type: .withoutResponse)
            }
        ),
        (
            "too long for a packet", "WARNING: a write without response of 600 octets is cut to 512, maximumWriteValueLength(for:)",
            { pair in
                let peripheral = try connected(pair)
                peripheral.writeValue(Data(count: 600), for: try #require(pair.central.characteristic("2A39")), type: .withoutResponse)
            }
        ),
        (
            "nobody holds it", "Did you forget to keep a reference to it?",
            { pair in
                _ = try connected(pair)
                pair.central.found.removeAll()
            }
        ),
        ("a service twice", "API MISUSE: Services cannot be added more than once: ", { $0.accessory.manager.add($0.accessory.service) }),
        (
            "a key that is not allowed", "WARNING: Advertisement key 'kCBAdvDataManufacturerData' is not allowed",
            { pair in
                pair.accessory.manager.stopAdvertising()
                pair.accessory.manager.startAdvertising([
                    CBAdvertisementDataManufacturerDataKey: Data([1, 2, 3]), CBAdvertisementDataLocalNameKey: "monitor",
                ])
            }
        ),
        (
            "a service of another peripheral", "is not a valid service for peripheral <CBPeripheral: ",
            { pair in
                let peripheral = try connected(pair)
                peripheral.discoverCharacteristics(nil, for: CBMutableService(type: CBUUID(string: "180D"), primary: true))
            }
        ),
        (
            "an object from before", "became invalid when the state fell below poweredOff",
            { pair in
                let peripheral = try connected(pair)
                pair.phone.crashService(for: 1)
                #expect(pair.bench.run { pair.central.manager.state == .resetting })
                #expect(pair.bench.run { pair.central.manager.state == .poweredOn })
                pair.central.manager.connect(peripheral)
            }
        ),
        (
            "no delegate", "API MISUSE: Discovering services for peripheral <CBPeripheral: ",
            { pair in
                let peripheral = try connected(pair)
                peripheral.delegate = nil
                peripheral.discoverServices(nil)
            }
        ),
        (
            "a service that was not added", "API MISUSE: updateValue for the characteristic FF09, whose service was not added",
            { pair in
                let foreign = CBMutableCharacteristic(type: CBUUID(string: "FF09"), properties: .notify, value: nil, permissions: [])
                pair.accessory.manager.updateValue(Data(), for: foreign, onSubscribedCentrals: nil)
            }
        ),
        (
            "a scan that finds nothing", "WARNING: scanForPeripherals without services finds nothing while the app is in the background",
            { pair in
                pair.phone.isInBackground = true
                pair.central.manager.scanForPeripherals(withServices: nil)
            }
        ),
        (
            "no usage description", "must contain an NSBluetoothAlwaysUsageDescription key",
            { pair in
                pair.phone.apply(infoPlist: [:])
                _ = pair.phone.use { CBCentralManager(delegate: nil, queue: nil) }
                pair.bench.run(for: 0.1)
            }
        ),
    ]

    /// Each misuse stops a strict bench, fails its check, and calls the test; it is the only one of its course.
    @Test(arguments: rows.indices) func eachSilentDropIsAMisuse(index: Int) throws {
        let (row, pair) = (Self.rows[index], Pair(strict: true))
        let called = Called()
        pair.bench.onMisuse = { called.add($0) }
        #expect(throws: Never.self) { try pair.bench.check() }
        try row.program(pair)
        pair.bench.run(for: 1)
        #expect(pair.bench.misuses.count == 1, "\(row.name): \(pair.bench.misuses)")
        #expect(pair.bench.misuses.first?.line.contains(row.line) == true, "\(row.name): \(pair.bench.misuses)")
        #expect(called.all == pair.bench.misuses, "\(row.name)")
        let now = pair.bench.now
        #expect(!pair.bench.run { true }, "\(row.name)")
        pair.bench.run(for: 10)
        #expect(pair.bench.now == now, "\(row.name)")
        #expect(throws: CBBenchMisuse.self) { try pair.bench.check() }
    }

    /// Events of the device are no faults of the program, and without `strict` time passes.
    @Test func onlyMisusesAreCounted() throws {
        let pair = Pair()
        #expect(pair.connect())
        pair.phone.removeController()
        #expect(pair.run { pair.central.manager.state == .poweredOff })
        try pair.bench.check()
        pair.central.manager.scanForPeripherals(withServices: nil)
        #expect(pair.bench.run { true })
        #expect(pair.bench.misuses.map(\.phone) == ["phone"])
        #expect(throws: CBBenchMisuse.self) { try pair.bench.check() }
    }

    /// A program declares in its Info.plist what it may do; what a phone ends without it never gets a state.
    @Test func theInfoPlistIsRead() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("Info.plist")
        let bench = CBBench()
        for (text, modes) in [(nil, []), ("to find your watch", ["bluetooth-central"])] as [(String?, [String])] {
            let phone = bench.phone("phone \(modes.count)")
            var plist: [String: Any] = ["UIBackgroundModes": modes + ["fetch"]]
            if let text { plist["NSBluetoothAlwaysUsageDescription"] = text }
            try PropertyListSerialization.data(fromPropertyList: plist, format: .xml, options: 0).write(to: file)
            try phone.apply(infoPlist: file)
            let program = CentralProgram(on: phone)
            bench.run(for: 5)
            #expect(program.manager.state == (text == nil ? .unknown : .poweredOn))
            #expect(program.log.isEmpty == (text == nil))
            #expect(phone.backgroundModes == (modes.isEmpty ? [] : .central))
        }
        #expect(bench.misuses.count == 1)
        #expect(throws: (any Error).self) { try bench.phone("other").apply(infoPlist: folder) }
    }
}
