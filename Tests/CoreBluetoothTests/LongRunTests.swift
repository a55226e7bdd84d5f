import CoreBluetooth
import Testing

/// Five accessories that send numbers, and a phone that keeps them connected while links break: each call of a delegate comes once.
@Suite struct LongRunTests {
    /// With SOAK=1 24 hours of virtual time, with a disturbance each minute, and the memory; otherwise two minutes with one every 20 s.
    static let isWhole = ProcessInfo.processInfo.environment["SOAK"] != nil
    static let (rounds, period) = isWhole ? (24 * 60, 60.0) : (6, 20.0)

    @Test func noCallIsMissingOrTwice() throws {
        let seed: UInt64 = 4
        let bench = CBBench(seed: seed)
        let phone = bench.phone("phone")
        let senders = (0..<5).map { Sender($0, on: bench.phone("sender \($0)")) }
        let keeper = Keeper(on: phone, names: senders.map(\.name))
        var random = Numbers(state: seed)
        try #require(bench.run(within: 60) { keeper.areAllRunning }, "not connected at the start")

        let began = bench.now
        var memory: [Int] = []
        for round in 0..<Self.rounds {
            let disturbance = Disturbance.allCases[round % Disturbance.allCases.count]
            disturb(disturbance, senders[Int(random.next(below: 5))], keeper, bench)
            let isBack = bench.run(within: 40) { keeper.areAllRunning && senders.allSatisfy { $0.subscribers == 1 } }
            let faults = keeper.faults + senders.flatMap(\.faults)
            let found = "\(keeper.peers.map(\.step)), \(senders.map(\.subscribers)) subscribers, \(faults)"
            try #require(isBack, "round \(round): not connected 40 s after \(disturbance): \(found)")
            for sender in senders { sender.send(3) }
            // All values arrive, and later rounds begin on time.
            bench.run(for: max(2, began + Self.period * Double(round + 1) - bench.now))
            for (sender, peer) in zip(senders, keeper.peers) where peer.last != sender.last {
                Issue.record("round \(round), after \(disturbance): \(sender.name) sent \(sender.last), \(peer.last) arrived")
            }
            try #require(keeper.faults + senders.flatMap(\.faults) == [], "round \(round), after \(disturbance)")
            if round % 60 == 59, let resident = residentKilobytes() {
                memory.append(resident)
                let (connections, values) = keeper.peers.reduce((0, 0)) { ($0.0 + $1.connections, $0.1 + $1.received) }
                print("\(Int(bench.now)) s simulated: \(connections) connections, \(values) values, \(resident) kB resident")
            }
        }
        for (sender, peer) in zip(senders, keeper.peers) {
            #expect(peer.connections == peer.disconnections + 1)
            #expect(sender.subscriptions == sender.unsubscriptions + 1)
            #expect(!Self.isWhole || peer.connections > 100)
            #expect(peer.received + peer.lost == sender.last)
        }
        guard Self.isWhole else { return }
        let (first, last) = (try #require(memory.dropFirst(2).first), try #require(memory.last))
        #expect(last < first + first / 20, "memory grows")
    }

    private enum Disturbance: CaseIterable {
        case nothing, powerOff, powerOffPhone, noise, cancel, loss
    }

    private func disturb(_ disturbance: Disturbance, _ sender: Sender, _ keeper: Keeper, _ bench: CBBench) {
        switch disturbance {
        case .nothing: break
        case .powerOff:
            // The values are under way when the link ends.
            sender.send(2)
            sender.phone.isPoweredOn = false
            bench.run(for: 3)
            sender.phone.isPoweredOn = true
        case .powerOffPhone:
            keeper.phone.isPoweredOn = false
            bench.run(for: 3)
            keeper.phone.isPoweredOn = true
        case .noise:
            bench.setPacketErrorRate(0.3)
            sender.send(5)
            bench.run(for: 5)
            bench.setPacketErrorRate(0)
        case .cancel: keeper.cancel(sender.name)
        case .loss:
            bench.setPacketErrorRate(1)
            sender.send(2)
            bench.run(for: 12)
            bench.setPacketErrorRate(0)
        }
        bench.run(for: 1)
    }

    private func residentKilobytes() -> Int? {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
        return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 4 }
    }
}

/// SplitMix64.
private struct Numbers {
    var state: UInt64
    mutating func next(below bound: UInt64) -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return (mixed ^ (mixed >> 31)) % bound
    }
}

/// An accessory that notifies consecutive numbers.
private final class Sender: NSObject, CBPeripheralManagerDelegate {
    let name: String
    let phone: CBPhone
    private var manager: CBPeripheralManager!
    private let number = CBMutableCharacteristic(type: CBUUID(string: "FF02"), properties: .notify, value: nil, permissions: [])
    private var isPublished = false
    private(set) var faults: [String] = []
    private(set) var (subscribers, subscriptions, unsubscriptions) = (0, 0, 0)
    private(set) var last = 0

    init(_ index: Int, on phone: CBPhone) {
        name = "sender \(index)"
        self.phone = phone
        super.init()
        manager = phone.use { CBPeripheralManager(delegate: self, queue: nil) }
    }

    func send(_ count: Int) {
        for _ in 0..<count where subscribers == 1 {
            var value = Data()
            for shift in [24, 16, 8, 0] { value.append(UInt8(truncatingIfNeeded: (last + 1) >> shift)) }
            guard manager.updateValue(value, for: number, onSubscribedCentrals: nil) else { return }
            last += 1
        }
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        if !isPublished {
            let service = CBMutableService(type: CBUUID(string: "FF01"), primary: true)
            service.characteristics = [number]
            peripheral.add(service)
            isPublished = true
        }
        if !peripheral.isAdvertising {
            peripheral.startAdvertising([
                CBAdvertisementDataLocalNameKey: name, CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FF01")],
            ])
        }
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic) {
        subscribers += 1
        subscriptions += 1
        if subscribers != 1 { faults.append("\(name): \(subscribers) subscribers") }
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic) {
        subscribers -= 1
        unsubscriptions += 1
        if subscribers != 0 { faults.append("\(name): \(subscribers) subscribers") }
    }
}

/// An app that finds its accessories once, and keeps them connected and subscribed.
private final class Keeper: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    enum Step { case unknown, connecting, services, characteristics, subscription, running, cancelling }
    struct Peer {
        var step = Step.unknown
        var peripheral: CBPeripheral?
        var (connections, disconnections, received, last) = (0, 0, 0, 0)
        /// Values that an earlier connection took with it.
        var lost = 0
        /// True until the first value of a connection.
        var isFirst = true
    }
    let phone: CBPhone
    private let names: [String]
    private var manager: CBCentralManager!
    private(set) var peers: [Peer]
    private(set) var faults: [String] = []

    init(on phone: CBPhone, names: [String]) {
        self.phone = phone
        self.names = names
        peers = names.map { _ in Peer() }
        super.init()
        manager = phone.use { CBCentralManager(delegate: self, queue: nil) }
    }

    var areAllRunning: Bool { peers.allSatisfy { $0.step == .running } }

    func cancel(_ name: String) {
        guard let index = names.firstIndex(of: name), let peripheral = peers[index].peripheral else { return }
        peers[index].step = .cancelling
        manager.cancelPeripheralConnection(peripheral)
    }

    /// Records a call of a delegate; it is a fault in any step but those that expect it.
    private func called(
        _ call: String, _ peripheral: CBPeripheral, in steps: Set<Step>, then next: Step, _ error: (any Error)? = nil
    ) -> Int? {
        guard let index = peers.firstIndex(where: { $0.peripheral === peripheral }) else {
            faults.append("\(call) for an unknown peripheral")
            return nil
        }
        if !steps.contains(peers[index].step) { faults.append("\(names[index]): \(call) in step \(peers[index].step)") }
        guard error == nil || next == .connecting else { return nil }
        peers[index].step = next
        return index
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state == .poweredOn else {
            // All connections end, without a call for each.
            for index in peers.indices where ![.unknown, .connecting].contains(peers[index].step) { peers[index].disconnections += 1 }
            for index in peers.indices { peers[index].step = .unknown }
            return
        }
        let known = peers.compactMap(\.peripheral)
        if known.count < names.count { central.scanForPeripherals(withServices: [CBUUID(string: "FF01")]) }
        for (index, peer) in peers.enumerated() where peer.peripheral?.state == .disconnected { connect(index) }
    }

    private func connect(_ index: Int) {
        guard let peripheral = peers[index].peripheral else { return }
        peers[index].step = .connecting
        manager.connect(peripheral)
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
    ) {
        let name = advertisementData[CBAdvertisementDataLocalNameKey] as? String
        guard let index = names.firstIndex(where: { $0 == name }), peers[index].peripheral == nil else { return }
        peers[index].peripheral = peripheral
        peripheral.delegate = self
        connect(index)
        if peers.allSatisfy({ $0.peripheral != nil }) { central.stopScan() }
    }
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        guard let index = called("didConnect", peripheral, in: [.connecting], then: .services) else { return }
        peers[index].connections += 1
        peers[index].isFirst = true
        peripheral.discoverServices([CBUUID(string: "FF01")])
    }
    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        faults.append("didFailToConnect: \(error.map { "\($0)" } ?? "no error")")
    }
    func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?) {
        let steps: Set = [Step.services, .characteristics, .subscription, .running, .cancelling]
        guard let index = called("didDisconnect", peripheral, in: steps, then: .connecting, error) else { return }
        peers[index].disconnections += 1
        if central.state == .poweredOn { connect(index) }
    }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        guard called("didDiscoverServices", peripheral, in: [.services], then: .characteristics, error) != nil else { return }
        for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
    }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
        guard called("didDiscoverCharacteristics", peripheral, in: [.characteristics], then: .subscription, error) != nil else { return }
        for characteristic in service.characteristics ?? [] { peripheral.setNotifyValue(true, for: characteristic) }
    }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        guard called("didUpdateNotificationState", peripheral, in: [.subscription], then: .running, error) != nil else { return }
        if !characteristic.isNotifying { faults.append("not subscribed") }
    }
    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
        let isCancelling = peers.contains { $0.peripheral === peripheral && $0.step == .cancelling }
        let next = isCancelling ? Step.cancelling : .running
        guard let index = called("didUpdateValue", peripheral, in: [next], then: next, error) else { return }
        let value = (characteristic.value ?? Data()).reduce(0) { $0 << 8 | Int($1) }
        let missing = value - peers[index].last - 1
        if missing < 0 || (missing > 0 && !peers[index].isFirst) {
            faults.append("\(names[index]): \(value) after \(peers[index].last)")
        }
        peers[index].lost += missing
        peers[index].received += 1
        peers[index].isFirst = false
        peers[index].last = value
    }
}
