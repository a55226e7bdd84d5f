import BBPackets
import BBSimulation
import BBTiming
import Foundation

@testable import BBTransport
@testable import BBVirtualDongle

extension FuzzTarget {
    /// System calls of a program at the fake usbfs, with its memory as far as it is asked for: each call has one answer, and nothing is left
    /// of a program that ends.
    static let usbfs = FuzzTarget(
        name: "usbfs", layer: { _ in nil }, seeds: { UsbfsTrial.programs.map { Frames($0).octets() } },
        run: { input in
            let trial = try UsbfsTrial()
            try trial.run(Frames(input).list)
        })
}

private final class UsbfsTrial {
    private let loop = BBTiming.RunLoop(mode: .virtual, watchesDescriptors: true)
    private let node: UsbfsNode
    private let connection: UsbfsConnection
    private let stream: ByteStream
    private let other: Int32
    private var output: [UInt8] = []
    private static let place: (fifo: String, socket: String) = {
        let (fifo, socket) = (ScratchFile(".fifo").path, ScratchFile(".usbfs").path)
        mkfifo(fifo, 0o600)
        return (fifo, socket)
    }()

    init() throws {
        let backend = try SimulatedBackend(
            Simulation(loop: loop, seed: 1), configurations: [ControllerConfiguration(address: RawWorld.address(0))], on: loop)
        var descriptors = DongleDescriptors(serialNumber: "1")
        descriptors.offersSerialisedMode = true
        let dongle = try USBDongle(
            descriptors: descriptors, pipe: try backend.pipe(to: 0, on: loop), loop: loop)
        node = try UsbfsNode(dongle, node: Self.place.fifo, socket: Self.place.socket, on: loop)
        // The fuzzer is the peer, whose memory must stay as it is.
        node.accessesMemory = false
        var ends: [Int32] = [-1, -1]
        try promise(socketpair(AF_UNIX, streamSocket, 0, &ends) == 0, "no sockets")
        other = ends[1]
        setNonBlocking(other)
        stream = ByteStream(name: "program", descriptor: ends[0], on: loop)
        connection = node.accept(stream)
    }

    deinit { close(other) }

    func run(_ frames: [Frames.Frame]) throws {
        defer {
            node.retire()
            stream.close()
            loop.end()
        }
        try loop.run { [self] in
            for frame in frames {
                if frame.action.kind == 3 { node.unplug() } else { frame.packet.withUnsafeBytes { connection.received($0) } }
                drain()
                try await loop.sleep(for: frame.action.pause)
            }
            connection.ended(.lost("program"))
            try await loop.sleep(for: .milliseconds(10))
        }
        drain()
        try promise(node.counters.openHandles == 0, "\(node.counters.openHandles) handles are open")
        try promise(node.counters.pending == 0, "\(node.counters.pending) requests are pending")
        try checkMessages(calls: frames.reduce(0) { $0 + $1.packet.count } / 24)
    }

    private func drain() {
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(other, &piece, piece.count)
            guard count > 0 else { return }
            output += piece.prefix(count)
        }
    }

    /// Each message is whole and known, and there are no more answers than calls.
    private func checkMessages(calls: Int) throws {
        var (place, answers) = (0, 0)
        while place < output.count {
            try promise(place + 24 <= output.count, "half a message")
            let (kind, length) = (output.little(place, 8), output.little(place + 16, 8))
            place += 24
            switch kind {
            case 3: answers += 1
            case 5: break
            case 6: place += Int(clamping: length)
            default: throw BrokenPromise("a message of kind \(kind)")
            }
        }
        try promise(place == output.count, "half a message")
        try promise(answers <= calls, "\(answers) answers to \(calls) calls")
    }

    // MARK: Seeds

    static var programs: [[Frames.Frame]] {
        func call(_ request: UsbfsRequest, _ argument: UInt64 = 0x1000, _ memory: [UInt8] = []) -> [UInt8] {
            .little(1, 8) + .little(UInt64(request.rawValue), 8) + .little(argument, 8) + memory
        }
        func urb(_ kind: UsbfsURB.Kind, _ endpoint: UInt8, length: Int, packets: Int = 0) -> [UInt8] {
            [kind.rawValue, endpoint, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] + .little(0x2000, 8) + .little(UInt64(length), 4)
                + [0, 0, 0, 0, 0, 0, 0, 0] + .little(UInt64(packets), 4) + [UInt8](repeating: 0, count: 16)
        }
        func frames(_ calls: [[UInt8]]) -> [Frames.Frame] { calls.map { Frames.Frame(action: .init(end: 0, pause: 4), packet: $0) } }
        let reset: [UInt8] = [0x20, 0, 0, 0, 0, 0, 3, 0, 3, 0x0C, 0]
        let sizes = [UInt8].little(9, 4) + [0, 0, 0, 0, 0, 0, 0, 0]
        return [
            frames([
                call(.getCapabilities), call(.claimInterface, 0x1000, [0, 0, 0, 0]), call(.getSpeed),
                call(.releaseInterface, 0, [0, 0, 0, 0]),
            ]),
            frames([
                call(.submitURB, 0x1000, urb(.interrupt, 0x81, length: 16)), call(.submitURB, 0x1100, urb(.control, 0, length: 11) + reset),
                call(.reapURBNoDelay), call(.reapURBNoDelay), call(.reapURB),
            ]),
            frames([
                call(.setInterface, 0x1000, [1, 0, 0, 0, 2, 0, 0, 0]),
                call(.submitURB, 0x1000, urb(.isochronous, 0x83, length: 18, packets: 2) + sizes + sizes), call(.reapURB),
                call(.discardURB),
            ]),
            frames([
                call(.submitURB, .max - 60, urb(.bulk, 0x82, length: 64)), call(.discardURB, .max - 60), call(.reset),
                call(.clearHalt, 0, [2, 0, 0, 0]),
            ]),
            frames([call(.submitURB, 0x1000, urb(.bulk, 2, length: 6) + [1, 0, 2, 0, 9, 9]), call(.setConfiguration, 0, [1, 0, 0, 0])])
                + [Frames.Frame(action: .init(end: 0, kind: 3), packet: [])] + frames([call(.reapURB)]),
        ]
    }
}
