import BBPackets
import BBSimulation
import BBTiming
import BBTransport
import BBVirtualDongle

/// Two dongles with simulated controllers.
private final class Bus: USBIPBus {
    let loop = RunLoop()
    let devices = ["1-1", "1-2"].map { (busID: $0, descriptors: DongleDescriptors(serialNumber: $0)) }
    private let backend: SimulatedBackend
    private(set) var held: Set<String> = []

    init() throws {
        let configurations = (0..<2).map { ControllerConfiguration(address: RawWorld.address($0)) }
        backend = try SimulatedBackend(Simulation(loop: loop, seed: 1), configurations: configurations, on: loop)
    }

    func attach(_ busID: String) -> USBDongle? {
        guard let index = devices.firstIndex(where: { $0.busID == busID }), held.insert(busID).inserted else { return nil }
        guard let pipe = try? backend.pipe(to: index, on: loop) else { return nil }
        return try? USBDongle(descriptors: devices[index].descriptors, pipe: pipe, loop: loop)
    }

    func detach(_ busID: String) { held.remove(busID) }
}

private final class Output {
    var count = 0
}

extension FuzzTarget {
    /// A client's USB/IP session in any pieces: it continues or ends with a reason, and the device is released.
    static let usbip = FuzzTarget(
        name: "usbip", layer: { _ in nil }, seeds: { conversations },
        run: { input in
            let frames = Frames(input)
            let bus = try Bus()
            let output = Output()
            try bus.loop.run {
                let session = USBIPSession(bus: bus)
                session.write = { output.count += $0.count }
                for frame in frames.list {
                    guard session.receive(frame.packet) == nil else { break }
                    try await bus.loop.sleep(for: frame.action.pause)
                }
                session.end()
                try promise(bus.held.isEmpty, "a device is held by nobody: \(bus.held)")
                try await bus.loop.sleep(for: .milliseconds(10))
            }
            try promise(output.count < 64 << 20, "\(output.count) octets of answers")
        })

    private static let attach: [UInt8] = [1, 0x11, 0x80, 3, 0, 0, 0, 0] + Array("1-1".utf8) + [UInt8](repeating: 0, count: 29)

    private static func words(_ words: [UInt32]) -> [UInt8] {
        words.flatMap { w in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: w >> $0) } }
    }

    private static func submit(
        _ seqnum: UInt32, isIn: Bool, endpoint: UInt32, length: UInt32, packets: UInt32 = .max, setup: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0],
        data: [UInt8] = []
    ) -> [UInt8] {
        words([1, seqnum, 0x10001, isIn ? 1 : 0, endpoint, 0, length, 0, packets, 0]) + setup + data
    }

    private static let conversations: [[UInt8]] = [
        [[1, 0x11, 0x80, 5, 0, 0, 0, 0]],
        [attach, submit(1, isIn: true, endpoint: 0, length: 18, setup: [0x80, 6, 0, 1, 0, 0, 18, 0])],
        [
            attach, submit(2, isIn: true, endpoint: 1, length: 16), submit(3, isIn: true, endpoint: 2, length: 64),
            submit(4, isIn: false, endpoint: 0, length: 3, setup: [0x20, 0, 0, 0, 0, 0, 3, 0], data: [3, 0x0C, 0]),
            submit(5, isIn: false, endpoint: 2, length: 6, data: [1, 0, 2, 0, 9, 9]), words([2, 6, 0x10001, 0, 0, 3, 0, 0, 0, 0, 0, 0]),
        ],
        [
            attach, submit(7, isIn: false, endpoint: 0, length: 0, setup: [1, 11, 1, 0, 1, 0, 0, 0]),
            submit(8, isIn: true, endpoint: 3, length: 18, packets: 2, data: words([0, 9, 0, 0, 9, 9, 0, 0])),
        ],
    ].map { pieces in Frames(pieces.map { Frames.Frame(action: Frames.Action(end: 0, pause: 4), packet: $0) }).octets() }
}
