import BBPackets
import BBTiming
import BBTransport

/// Number of background devices in a simulation, which take no part in the test.
public struct Neighbours: Sendable, Hashable {
    public var advertisers = 0
    public var scanners = 0
    /// Connections, each between two background devices.
    public var links = 0
    /// Phones with the Bluetooth settings page open: BR/EDR, discoverable.
    public var phones = 0

    public init() {}

    /// Splits a number of devices: of four, one advertises, one scans, and two are connected.
    public init(devices: Int) {
        links = devices / 4
        scanners = (devices + 2) / 4
        advertisers = devices - 2 * links - scanners
    }
}

extension Simulation {
    /// Adds the background devices to the world.
    public func settle(_ count: Neighbours) throws {
        var number: UInt64 = 0
        func next(_ profile: ControllerConfiguration.Profile = .le) throws -> Neighbour {
            let address = DeviceAddress(value: 0x00B1_BE01_0000 + number)
            number += 1
            var configuration = ControllerConfiguration(address: address)
            configuration.profile = profile
            let neighbour = Neighbour(address, on: loop)
            try addController(configuration, on: neighbour)
            return neighbour
        }
        for turn in 0..<count.advertisers { try next().advertise(turn) }
        for turn in 0..<count.scanners { try next().scan(isActive: turn % 2 == 0) }
        for _ in 0..<count.phones { try next(.dual).beDiscoverable() }
        for _ in 0..<count.links {
            let peripheral = try next()
            peripheral.advertise(0)
            try next().connect(to: peripheral.address)
        }
    }
}

/// The host of a background device, as its controller's pipe: it sends a few commands and ignores all events.
private final class Neighbour: HCITransport {
    let name = "neighbour"
    let address: DeviceAddress
    private let loop: RunLoop
    /// Weak, since the controller keeps its pipe.
    private weak var controller: (any HCITransportSink)?

    init(_ address: DeviceAddress, on loop: RunLoop) { (self.address, self.loop) = (address, loop) }

    func open(_ sink: any HCITransportSink) { controller = sink }

    func send(_ packet: HCIPacket) {}

    func close() {}

    /// Advertises with an interval from 100 ms up, connectable, scannable or non-connectable depending on `turn`.
    func advertise(_ turn: Int) {
        let types: [LegacyAdvertisingType] = [.advInd, .advScanInd, .advNonconnInd]
        let interval = UInt16(0x00A0 + 7 * turn)
        let data: [UInt8] = [2, 1, 6, 3, 0xFF, 0xFF, 0xFF]
        send(
            HCICommands.LESetAdvertisingParameters(
                advertisingIntervalMin: interval, advertisingIntervalMax: interval, advertisingType: types[turn % 3],
                advertisingChannelMap: .init(rawValue: 7)))
        send(
            HCICommands.LESetAdvertisingData(
                advertisingDataLength: UInt8(data.count), advertisingData: data + [UInt8](repeating: 0, count: 31 - data.count)))
        send(HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
    }

    /// Enables inquiry scan with a smartphone's class of device.
    func beDiscoverable() {
        send(HCICommands.WriteClassOfDevice(classOfDevice: 0x5A020C))
        send(HCICommands.WriteScanEnable(scanEnable: 1))
    }

    func scan(isActive: Bool) {
        send(HCICommands.LESetScanParameters(leScanType: isActive ? .active : .passive, leScanInterval: 0x0060, leScanWindow: 0x0030))
        send(HCICommands.LESetScanEnable(leScanEnable: 1, filterDuplicates: 0))
    }

    func connect(to peer: DeviceAddress) {
        send(
            HCICommands.LECreateConnection(
                leScanInterval: 0x0060, leScanWindow: 0x0030, peerAddressType: AddressType(rawValue: peer.kind.rawValue),
                peerAddress: peer.bdADDR, connectionIntervalMin: 24, connectionIntervalMax: 24, supervisionTimeout: 200))
    }

    private func send<Command: HCICommand>(_ command: Command) { controller?.received(HCIPacket(command: command), at: loop.now) }
}
