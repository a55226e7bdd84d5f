import Testing

@testable import CoreBluetooth

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

    static let turns: [(calls: [String], disconnections: Int, isConnected: Bool)] = [
        (["cancel", "connect"], 1, true), (["cancel", "connect", "connect"], 1, true), (["cancel", "cancel", "connect"], 1, true),
        (["cancel", "connect", "cancel"], 1, false), (["cancel", "connect", "cancel", "connect"], 1, true),
    ]

    /// Requests of one turn are all remembered, to a device with a connection or a request for one.
    @Test(arguments: turns, [true, false])
    func requestsOfOneTurnAreRemembered(turn: (calls: [String], disconnections: Int, isConnected: Bool), wasConnected: Bool) throws {
        let (pair, peripheral) = try found()
        pair.central.manager.connect(peripheral)
        #expect(!wasConnected || pair.run { peripheral.state == .connected })
        pair.central.log.removeAll()
        for call in turn.calls {
            if call == "cancel" {
                pair.central.manager.cancelPeripheralConnection(peripheral)
            } else {
                pair.central.manager.connect(peripheral)
            }
            #expect(peripheral.state == .disconnecting)
        }
        pair.bench.run(for: 10)
        #expect(peripheral.state == (turn.isConnected ? .connected : .disconnected))
        let log = [String](repeating: "disconnected", count: turn.disconnections) + (turn.isConnected ? ["connected"] : [])
        #expect(pair.central.log == log)
        #expect(pair.phone.host.connections.isEmpty == !turn.isConnected)
        #expect(pair.central.errors.isEmpty)
    }

    /// A request for an absent device that is cancelled at once leaves the controller free for the next one.
    @Test(arguments: [0, 1]) func aCancelledRequestDoesNotHoldUpTheNext(milliseconds: Int) throws {
        let (pair, absent) = try found()
        let other = Accessory(on: pair.bench.phone("other"))
        #expect(pair.run { other.log.contains("advertising") })
        pair.accessoryPhone.isPoweredOn = false
        pair.central.manager.scanForPeripherals(withServices: nil)
        #expect(pair.run { pair.central.found.count == 2 })
        pair.central.manager.stopScan()
        pair.bench.run(for: 1)
        pair.central.manager.connect(absent)
        pair.bench.run(for: Double(milliseconds) / 1_000)
        pair.central.manager.cancelPeripheralConnection(absent)
        pair.central.manager.connect(pair.central.found[1])
        #expect(pair.run { pair.central.found[1].state == .connected })
        pair.accessoryPhone.isPoweredOn = true
        pair.bench.run(for: 10)
        #expect(pair.phone.host.connections.count == 1)
    }

    /// The object of a device that was let go does not end the request of the next object.
    @Test func aReleasedObjectEndsItsOwnRequestOnly() throws {
        let pair = try found().0
        let identifier = try #require(pair.central.peripheral?.identifier)
        pair.central.manager.connect(try #require(pair.central.peripheral))
        pair.central.found.removeAll()
        let next = try #require(pair.central.manager.retrievePeripherals(withIdentifiers: [identifier]).first)
        pair.central.manager.connect(next)
        #expect(pair.run { next.state == .connected })
        #expect(!pair.central.log.contains("disconnected"))
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
