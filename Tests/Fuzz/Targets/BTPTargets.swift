import BBBTP
import BBHost
import BBPackets
import BBSimulation
import BBTiming
import BBTransport

@testable import BBUpperTester

extension FuzzTarget {
    /// Octets of an upper tester, in any pieces: the outcomes do not depend on the pieces, and each command has one answer at most.
    static let upperTesters = FuzzTarget(
        name: "btp", layer: { _ in nil },
        seeds: {
            let texts = [
                "018000040001000000", "010e000000", "0100000100 03", "0182000d00000102030405061800 0000c800", "02830008000001020304050607",
                "00010000 00|0001ff0100 07", "ffffffffff",
            ]
            return Seeds.written(texts, .init(end: 0)) + Seeds.written(texts, .init(end: 1))
        },
        run: { input in
            let pieces = Frames(input).list
            let octets = pieces.flatMap(\.packet)
            let command = BTPFrame(.gap, 0x0E, index: 0, data: [0, 1, 2, 3, 4, 5, 6, 0])
            func outcomes(_ pieces: [[UInt8]]) -> [BTPClient.Outcome] {
                var client = BTPClient(limit: 2_000)
                _ = client.send(command)
                var outcomes: [BTPClient.Outcome] = []
                for piece in pieces {
                    outcomes += client.receive(piece)
                    // A stream that cannot be followed is closed.
                    if case .violation(let text)? = outcomes.last, text.hasPrefix("it sent a frame with") { break }
                }
                return outcomes
            }
            let whole = outcomes([octets])
            if !whole.contains(where: { if case .violation = $0 { true } else { false } }) {
                try promise(outcomes(octets.map { [$0] }) == whole, "the pieces matter")
            }
            let answers = whole.count { if case .response = $0 { true } else if case .refused = $0 { true } else { false } }
            try promise(answers <= 1, "\(answers) answers to one command")
            try promise(whole.count * BTPFrame.headerLength <= octets.count + BTPFrame.headerLength, "more messages than octets")
        })

    /// Commands of a tester at our upper tester, whose host has a controller and a neighbour: each has one answer at most, answers are
    /// well-formed, and the host can be stopped. A packet is a service, an opcode and data.
    static let upperTesterCommands = FuzzTarget(
        name: "btp-commands", layer: { _ in nil }, seeds: { UpperTesterTrial.conversations },
        run: { input in try UpperTesterTrial().run(Frames(input)) })
}

/// An upper tester with a simulated controller beside an advertiser.
private final class UpperTesterTrial {
    private let loop = RunLoop()
    private var answers: [BTPFrame] = []

    // MARK: Seeds

    /// Random legal commands, each conversation with a connection to the neighbour.
    static var conversations: [[UInt8]] {
        var random = RandomSource(seed: 1)
        let declared = PDUCatalog.all.filter { $0.layer == .btpCommands }
        let connect = packet(BTPCommands.GAPConnect(addressType: 1, address: RawWorld.address(1).bdADDR))
        return (0..<48).map { _ in
            let commands = (0..<6).compactMap { _ -> [UInt8]? in
                guard let declaration = declared.randomElement(using: &random) else { return nil }
                let data = try? declaration.random(using: &random).parameters()
                return data.map { [UInt8(truncatingIfNeeded: declaration.code >> 8), UInt8(truncatingIfNeeded: declaration.code)] + $0 }
            }
            let frames = [Frames.Frame(action: .init(end: 0, pause: 7), packet: connect ?? [])]
            return Frames(frames + commands.map { Frames.Frame(action: .init(end: 0, pause: 5), packet: $0) }).octets()
        }
    }

    private static func packet<Command: PDU>(_ command: Command) -> [UInt8]? {
        BTPFrame(.btpCommands, named: Command.name, data: command.parameters).map { [$0.service.rawValue, $0.opcode] + $0.data }
    }

    // MARK: Run

    func run(_ frames: Frames) throws {
        let simulation = Simulation(loop: loop, seed: 1)
        let pipes = try (0..<2).map { index in
            let pipe = InProcessTransport.pair(on: loop)
            try simulation.addController(ControllerConfiguration(address: RawWorld.address(index)), on: pipe.controller)
            return pipe
        }
        try loop.run { [self] in
            let hosts = pipes.map { Host(loop: loop, transport: $0.host, database: GATTDatabase(deviceName: "fuzz"), seed: 1) }
            for host in hosts { try await host.start() }
            _ = try await hosts[1].advertise(AdvertisingSettings(data: AdvertisingData([.completeLocalName("fuzz")])))
            let server = BTPServer(host: hosts[0])
            server.output = { [unowned self] frame in if !frame.isEvent { answers.append(frame) } }
            server.start()
            for service in [1, 2, 3] as [UInt8] { server.receive(BTPFrame(.core, 3, data: [service])) }
            try await loop.sleep(for: .milliseconds(1))
            for frame in frames.list where frame.packet.count >= 2 {
                let service = BTPService(rawValue: frame.packet[0])
                server.receive(
                    BTPFrame(
                        service, frame.packet[1], index: service == .core ? BTPFrame.noController : 0,
                        data: Array(frame.packet.dropFirst(2))))
                try await loop.sleep(for: frame.action.pause)
            }
            try await loop.sleep(for: .seconds(1))
            try check(sent: frames.list.count + 3)
            await server.stop()
            for host in hosts { host.close() }
            try await loop.sleep(for: .seconds(1))
        }
        loop.end()
    }

    private func check(sent: Int) throws {
        try promise(answers.count <= sent, "\(answers.count) answers to \(sent) commands")
        for answer in answers where answer.opcode != BTPFrame.errorOpcode {
            let layer = DecodedLayer(btp: answer, isResponse: true)
            try promise(layer.problem == nil, "its \(layer.name) is malformed: \(layer.problem.map { "\($0)" } ?? "")")
        }
    }
}
