import CoreBluetooth
import Testing

/// Options of connections, and connections of other programs.
@Suite struct ConnectionTests {
    /// Follows a connection with the delegate method that tells of reconnection.
    private final class Follower: NSObject, CBCentralManagerDelegate {
        var log: [String] = []
        func centralManagerDidUpdateState(_ central: CBCentralManager) {}
        func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { log.append("connected") }
        func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
            log.append("failed")
        }
        func centralManager(
            _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime, isReconnecting: Bool,
            error: (any Error)?
        ) {
            log.append(isReconnecting ? "lost, reconnecting" : error == nil ? "ended" : "lost")
        }
        func centralManager(
            _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral
        ) {
            log.append(event == .peerConnected ? "peer connected" : "peer disconnected")
        }
    }

    /// A pair whose central has found the accessory and is not connected.
    private func found() throws -> (Pair, CBPeripheral) {
        let pair = Pair()
        pair.central.connects = false
        pair.central.manager.scanForPeripherals(withServices: nil)
        #expect(pair.run { pair.central.peripheral != nil })
        pair.central.manager.stopScan()
        return (pair, try #require(pair.central.peripheral))
    }

    /// A request that follows a cancellation at once is one for a new connection.
    @Test func aCancelledConnectionIsMadeAgain() throws {
        let (pair, peripheral) = try found()
        pair.central.manager.connect(peripheral)
        #expect(pair.run { peripheral.state == .connected })
        pair.central.manager.cancelPeripheralConnection(peripheral)
        #expect(pair.run { peripheral.state == .disconnected })
        pair.central.manager.connect(peripheral)
        #expect(pair.run { pair.central.log.count { $0 == "connected" } == 2 })
        pair.bench.run(for: 5)
        #expect(peripheral.state == .connected)
        #expect(pair.central.log.count { $0 == "disconnected" } == 1)
    }

    @Test(arguments: [true, false]) func aStartDelayDefersTheConnection(isInteger: Bool) throws {
        let (pair, peripheral) = try found()
        let delay: Any = isInteger ? 5 : 5.0
        pair.central.manager.connect(peripheral, options: [CBConnectPeripheralOptionStartDelayKey: delay])
        pair.bench.run(for: 4.9)
        #expect(peripheral.state == .connecting)
        #expect(pair.run { peripheral.state == .connected })
    }

    @Test func aCancelledRequestDoesNotStartLater() throws {
        let (pair, peripheral) = try found()
        pair.central.manager.connect(peripheral, options: [CBConnectPeripheralOptionStartDelayKey: 5])
        pair.bench.run(for: 1)
        pair.central.manager.cancelPeripheralConnection(peripheral)
        #expect(pair.run { pair.central.log.last == "disconnected" })
        pair.bench.run(for: 10)
        #expect(peripheral.state == .disconnected)
        #expect(!pair.central.log.contains("connected"))
    }

    @Test(arguments: [true, false]) func aLostLinkIsRestoredOnlyOnRequest(reconnects: Bool) throws {
        let (pair, peripheral) = try found()
        let follower = Follower()
        pair.central.manager.delegate = follower
        pair.central.manager.connect(peripheral, options: [CBConnectPeripheralOptionEnableAutoReconnect: reconnects])
        #expect(pair.run { peripheral.state == .connected })
        for _ in 0..<3 {
            follower.log.removeAll()
            pair.accessoryPhone.isPoweredOn = false
            #expect(pair.run { !follower.log.isEmpty })
            #expect(follower.log == [reconnects ? "lost, reconnecting" : "lost"])
            #expect(peripheral.state == (reconnects ? .connecting : .disconnected))
            pair.accessoryPhone.isPoweredOn = true
            pair.bench.run(for: 10)
            #expect(follower.log == (reconnects ? ["lost, reconnecting", "connected"] : ["lost"]))
            guard reconnects else { return }
        }
        follower.log.removeAll()
        pair.central.manager.cancelPeripheralConnection(peripheral)
        pair.bench.run(for: 10)
        #expect(follower.log == ["ended"])
        #expect(peripheral.state == .disconnected)
    }

    static let registrations: [(options: [CBConnectionEventMatchingOption: [String]], isTold: Bool)] = [
        ([:], true), ([.serviceUUIDs: ["180F", "180D"]], true), ([.serviceUUIDs: ["180F"]], false),
        ([.peripheralUUIDs: ["that peer"]], true), ([.peripheralUUIDs: []], false),
        ([.peripheralUUIDs: [], .serviceUUIDs: ["180D"]], true),
    ]

    @Test(arguments: registrations)
    func connectionsOfOtherProgramsAreTold(options: [CBConnectionEventMatchingOption: [String]], isTold: Bool) throws {
        let (pair, peripheral) = try found()
        let follower = Follower()
        let other = pair.phone.use { CBCentralManager(delegate: follower, queue: nil) }
        #expect(pair.run { other.state == .poweredOn })
        var matching: [CBConnectionEventMatchingOption: Any] = [:]
        if let services = options[.serviceUUIDs] { matching[.serviceUUIDs] = services.map { CBUUID(string: $0) } }
        if let peers = options[.peripheralUUIDs] { matching[.peripheralUUIDs] = peers.map { _ in peripheral.identifier } }
        other.registerForConnectionEvents(options: matching)
        pair.central.manager.connect(peripheral)
        #expect(pair.run { peripheral.state == .connected })
        pair.central.manager.cancelPeripheralConnection(peripheral)
        pair.bench.run(for: 2)
        #expect(follower.log == (isTold ? ["peer connected", "peer disconnected"] : []))
        other.registerForConnectionEvents(options: nil)
        pair.central.manager.connect(peripheral)
        #expect(pair.run { peripheral.state == .connected })
        #expect(follower.log.count == (isTold ? 2 : 0))
    }

    @Test func featuresAreKnownOncePoweredOn() {
        let bench = CBBench()
        let phone = bench.phone("phone")
        #expect(phone.use { !CBCentralManager.supports(.extendedScanAndConnect) })
        let central = CentralProgram(on: phone)
        #expect(bench.run { central.manager.state == .poweredOn })
        #expect(phone.use { CBCentralManager.supports(.extendedScanAndConnect) })
        #expect(phone.use { !CBCentralManager.supports(.init(rawValue: 1 << 10)) })
    }

    @Test func theStatesOfAConnectionAndOneIdentifier() throws {
        let (pair, peripheral) = try found()
        let identifier = peripheral.identifier
        var states = [peripheral.state]
        pair.central.manager.connect(peripheral)
        states.append(peripheral.state)
        #expect(pair.run { pair.central.log.last == "connected" })
        states.append(peripheral.state)
        pair.central.manager.cancelPeripheralConnection(peripheral)
        states.append(peripheral.state)
        #expect(pair.run { pair.central.log.last == "disconnected" })
        states.append(peripheral.state)
        #expect(states == [.disconnected, .connecting, .connected, .disconnecting, .disconnected])
        #expect(pair.central.errors.isEmpty)
        #expect(peripheral.identifier == identifier)
    }

    /// Commands that are under way may or may not finish; no answer follows the end.
    @Test func cancellingWithReadsUnderWayIsHarmless() throws {
        let pair = Pair()
        #expect(pair.connect())
        let (peripheral, rate) = (try #require(pair.central.peripheral), try #require(pair.central.characteristic("2A37")))
        for _ in 0..<5 { peripheral.readValue(for: rate) }
        pair.central.manager.cancelPeripheralConnection(peripheral)
        pair.bench.run(for: 10)
        #expect(pair.central.log.last == "disconnected")
        #expect(pair.central.log.count { $0 == "disconnected" } == 1)
    }
}
