import BBBenchTesting
import BBDongles
import BBPackets
import BBSimulation
import BBTiming
import BBTransport
import BBVirtualDongle
import Foundation

@testable import BBTransportUSB

/// A dongle that needs firmware, a folder of files, and virtual time.
struct FirmwareBench {
    let model: BootModel
    /// Files of the folder; generated files by default.
    var files: [MadeFirmware]
    var faults: [TransportFault] = []

    init(_ model: BootModel) {
        self.model = model
        files = Self.made[model] ?? []
    }

    private static let made = Dictionary(uniqueKeysWithValues: BootModel.allCases.map { ($0, $0.madeFirmware) })

    struct Result: Sendable {
        var outcome: FirmwareOutcome?
        var failure: FirmwareError?
        /// The error thrown by `prepare`.
        var end: TransportError?
        /// Identity of the dongle afterwards.
        var identity: DongleIdentity?
        var duration: Microseconds
        var hits: [Int]
    }

    /// Starts the dongle as the bench does, and reads its identity.
    func start(onlyAsks: Bool = false) throws -> Result {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("firmware-\(UInt64.random(in: 0 ... .max))").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        for file in files {
            let url = URL(fileURLWithPath: root + "/" + file.name)
            try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(file.octets).write(to: url)
        }
        return try start(in: FirmwareFolders(root), onlyAsks: onlyAsks)
    }

    private func start(in folders: FirmwareFolders, onlyAsks: Bool) throws -> Result {
        let loop = BBTiming.RunLoop()
        let configuration = ControllerConfiguration(address: DeviceAddress(value: 0x02BB_0000_0001))
        let simulated = try SimulatedBackend(Simulation(loop: loop, seed: 1), configurations: [configuration], on: loop)
        let backend = BootloaderBackend(simulated, model: model, on: loop)
        let faulty = FaultTransport(try backend.pipe(to: 0, on: loop), faults: faults, seed: 1, on: loop)
        let transport = FirmwareTransport(faulty, folders: folders, onlyAsks: onlyAsks, on: loop)
        return try loop.run {
            var end: TransportError?
            var identity: DongleIdentity?
            do {
                try await transport.prepare()
                let duration = loop.now
                let probe = try DongleProbe(transport, on: loop)
                identity = try await probe.identity()
                probe.close()
                return Result(
                    outcome: transport.outcome, failure: transport.failure, identity: identity, duration: duration, hits: faulty.hits)
            } catch let error as TransportError { end = error }
            return Result(
                outcome: transport.outcome, failure: transport.failure, end: end, identity: identity, duration: loop.now, hits: faulty.hits)
        }
    }

    /// The octets of the file with this name ending.
    subscript(ending: String) -> [UInt8] {
        get { files.first { $0.name.hasSuffix(ending) }?.octets ?? [] }
        set {
            guard let index = files.firstIndex(where: { $0.name.hasSuffix(ending) }) else { return }
            files[index].octets = newValue
        }
    }

    /// Appends the end of a complete Realtek file.
    static func closed(_ octets: some Sequence<UInt8>, project: UInt8 = 14) -> [UInt8] {
        Array(octets) + [project, 1, 0, 0x51, 0x04, 0xFD, 0x77]
    }
}
