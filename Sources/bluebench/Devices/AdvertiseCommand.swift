import ArgumentParser
import BBCases
import BBConformance
import BBHost
import BBPackets
import BBProducts
import BBSessions
import BBTiming

/// `bluebench advertise`: runs an accessory on a device.
struct AdvertiseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "advertise", abstract: "Play an accessory for phones and other stacks: advertise, serve and notify.",
        discussion: "docs/guide/accessory.md describes the accessories. Advertising restarts after each connection; Ctrl-C ends it.")

    @Argument(help: .device) var device: String
    @Option(name: .customLong("as"), help: "Accessory: heart-rate, keyboard, thermometer, serial or reference. Default: reference.")
    var kind: AccessoryKind?
    @Option(
        name: .customLong("device"),
        help: ArgumentHelp("Play the device of this description, which `survey` writes.", valueName: "file"), completion: .file())
    var description: String?
    @Option(help: ArgumentHelp("With --device: give it this defect, a mutant of a host: battery-above-hundred.", valueName: "name"))
    var fault: String?
    @Option(help: "Time to advertise, in seconds. Default: until Ctrl-C.", transform: Arguments.whole(1...86_400)) var seconds: Int?
    @Option(help: ArgumentHelp("File that keeps the bonds. Default: bonds are lost at the end.", valueName: "file"), completion: .file())
    var bonds: String?
    @Flag(name: .customLong("private"), help: "Use resolvable private addresses, which bonded peers alone can resolve.") var isPrivate =
        false
    @Flag(name: .customLong("eatt"), help: "Accept Enhanced ATT bearers, up to five, on encrypted links.") var hasEnhancedBearers = false
    @Option(
        help: ArgumentHelp("Also send a periodic advertising train with these octets: AD structures in hexadecimal.", valueName: "octets"))
    var train: String?
    @Option(
        help: ArgumentHelp("Interval of the train, in steps of 1.25 ms.", valueName: "n"), transform: Arguments.whole(6...65_535))
    var trainInterval: UInt16 = 80
    @OptionGroup var firmware: FirmwareOptions

    func validate() throws {
        if let train, Hex.parse(train) == nil { throw ValidationError("--train takes octets in hexadecimal, for example 020104") }
        if kind != nil, description != nil { throw ValidationError("--as and --device exclude each other: each names the accessory") }
        if fault != nil, description == nil { throw ValidationError("--fault needs --device") }
        if hasEnhancedBearers, description != nil {
            throw ValidationError("--device and --eatt exclude each other: the description says if the device has EATT bearers")
        }
    }

    func run() throws {
        let (kind, seconds, isPrivate) = (kind ?? .reference, seconds.map { Microseconds.seconds($0) }, isPrivate)
        let played = try description.map { try DeviceDescription.load($0) }
        let quirks = try fault.map(mutant)?.hostQuirks()
        let file = try bonds.map { try BondOptions.open($0, for: device) }
        let prepare = { (host: Host) in
            guard let keys = file?.keys else { return }
            host.keys = keys
            host.addressChoice = keys.identityAddress.map { .fixed($0) } ?? .drawn
        }
        let database = played?.database ?? kind.database(hasEnhancedBearers: hasEnhancedBearers)
        let serve = { (_: RunLoop) in database }
        try HostSession.run(on: device, firmware: firmware, database: serve, prepare: prepare) { host in
            if file != nil { try host.keys.keepIdentity(host.address) }
            if isPrivate { try await host.enablePrivacy() }
            let accessory = played.map { ServedAccessory($0, quirks: quirks, on: host) } ?? ServedAccessory(kind, on: host)
            await accessory.start()
            let broadcast = try await startTrain(on: host)
            Console.line("advertising '\(played?.device.name ?? kind.name)' at \(host.address.argument)")
            // Ctrl-C ends the command normally. Without a time there is no timer: one far ahead would be a fault in virtual time.
            let failure = try? await host.failure(within: seconds)
            await accessory.stop()
            await host.loop.cleanUp(within: .seconds(2)) { try await Self.stop(broadcast) }
            try file?.check()
            if let failure { throw failure }
        }
    }

    /// Starts a set beside the accessory's that carries the train; nil without --train.
    private func startTrain(on host: Host) async throws -> AdvertisingSet? {
        guard let octets = train.flatMap(Hex.parse) else { return nil }
        var settings = AdvertisingSettings()
        (settings.handle, settings.sid, settings.properties) = (1, 1, [])
        let set = try await host.advertise(settings)
        var periodic = PeriodicSettings()
        periodic.data = octets
        (periodic.intervalMin, periodic.intervalMax) = (trainInterval, trainInterval)
        try await set.startPeriodic(periodic)
        Console.line("train of \(octets.count) octets every \(Double(trainInterval) * 1.25) ms, SID 1")
        return set
    }

    private static func stop(_ broadcast: AdvertisingSet?) async throws {
        try await broadcast?.stopPeriodic()
        try await broadcast?.stop()
    }

    private func mutant(_ id: String) throws -> Mutant {
        let mutants = try CaseFolder.mutants(CaseFolder.standard, CaseFolder.load(CaseFolder.standard)).filter { $0.end == .host }
        if let found = mutants.first(where: { $0.id == id }) { return found }
        throw CommandFailure(.usage, "no host has the defect '\(id)'" + Suggestion.text(for: id, among: mutants.map(\.id)))
    }
}

extension AccessoryKind: ExpressibleByArgument {}
