import ArgumentParser
import BBCases
import BBConformance
import BBHCI
import BBHost
import BBProducts
import BBUpperTester

/// The two devices of a run.
struct EndOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Tester device. Default: virtual.", valueName: "device"), completion: Completions.devices)
    var tester: String?
    @Option(
        help: ArgumentHelp(
            "Device under test (DUT): a device, or air for one with its own host, which --peer finds. Default: virtual.",
            valueName: "device"),
        completion: Completions.devices)
    var subject: String?
    @Option(
        help: ArgumentHelp(
            "Tester's address: auto (public, or static where there is none), random (static) or a static address: C0:B1:BE:00:00:01.",
            valueName: "address", visibility: .hidden), transform: Arguments.ownAddress)
    var testerAddress: OwnAddress?
    @Option(
        help: ArgumentHelp("DUT's address, as for --tester-address.", valueName: "address", visibility: .hidden),
        transform: Arguments.ownAddress)
    var subjectAddress: OwnAddress?
    @Option(
        help: ArgumentHelp(
            "Quirk of both virtual controllers, such as joins-packets=20; see `bluebench dongle --list-quirks`. Repeatable.",
            valueName: "name[=value]", visibility: .hidden))
    var quirk: [String] = []
}

/// The accessory under test: a product over the air, or one in the simulation.
struct AccessoryOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "DUT over the air: its name, its address, or the UUID of a service that it advertises. Implies --subject air with a real tester.",
            valueName: "peer"), transform: { PeerSelector($0) })
    var peer: PeerSelector?
    @Option(help: "Simulated accessory to test: reference, heart-rate, keyboard, thermometer or serial.")
    var accessory = AccessoryKind.reference
    @Option(
        help: ArgumentHelp("Description of the DUT, as `bluebench survey` prints it. Default: survey it first.", valueName: "file"),
        completion: .file())
    var device: String?
    @Option(
        help: ArgumentHelp(
            "Also apply the rules of a profile, a file in `profiles` beside the suites: adg-r31, adg-r17, en18031.", valueName: "name"))
    var profile: String?
    @OptionGroup var pairing: DevicePairingOptions
    @OptionGroup var store: BondOptions
}

/// A foreign host on the DUT's virtual controller.
struct ForeignHostOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Serve the DUT's virtual controller to a foreign host: tcp-listen:PORT, tcp-listen:HOST:PORT or unix-listen:PATH.",
            valueName: "socket"))
    var subjectPort: String?
    @Option(
        help: ArgumentHelp(
            "With --subject-port: timeout for the host to connect. Default: \(defaultWait).", valueName: "seconds", visibility: .hidden),
        transform: Arguments.whole(1...86_400))
    var waitForHost: Int?
    @Option(
        help: ArgumentHelp(
            "Upper tester of the host behind --subject-port, for cases about hosts: unix:PATH, tcp:HOST:PORT, serial:PATH, unix-listen:PATH or tcp-listen:PORT.",
            valueName: "socket", visibility: .hidden))
    var btp: String?
    @OptionGroup(visibility: .hidden) var sharing: VirtualTimeOptions

    private static let defaultWait = 30

    var timeout: Int { waitForHost ?? Self.defaultWait }

    /// Rejects options without effect.
    func check() throws {
        if subjectPort == nil, Arguments.given("--wait-for-host") {
            throw CommandFailure(.usage, "--wait-for-host needs --subject-port")
        }
        if Arguments.given("--btp"), subjectPort == nil {
            throw CommandFailure(
                .usage, "--btp needs --subject-port: the host under test uses the virtual controller that is served there")
        }
        try sharing.check()
        if Arguments.given("--virtual-time"), subjectPort == nil {
            throw CommandFailure(
                .usage, "--virtual-time needs --subject-port: without a foreign host a run of two virtual devices is in virtual time anyway"
            )
        }
    }
}

/// Options for real devices.
struct RealDeviceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Timeout for a lost or missing device to come back; the interrupted case is then repeated.", valueName: "seconds"),
        transform: Arguments.whole(1...86_400))
    var waitForReplug: Int?
    @Option(
        help: ArgumentHelp(
            "Tolerance for real devices, added to the end of each window in which something must come. Default: 100.", valueName: "ms"),
        transform: Arguments.whole(0...10_000))
    var slack: Int?
    @OptionGroup var firmware: FirmwareOptions
}

/// The tester and the device under test of a run. Its groups have titles of their own in the help.
struct BenchOptions: ParsableArguments {
    @OptionGroup(title: "Devices") var ends: EndOptions
    @OptionGroup(title: "Accessory under test") var product: AccessoryOptions
    @OptionGroup(title: "Foreign host") var host: ForeignHostOptions
    @OptionGroup(title: "Real devices", visibility: .hidden) var real: RealDeviceOptions

    var tester: String { ends.tester ?? "virtual" }
    private var subject: String? { ends.subject }

    /// True if both sides are in this program, and no part of the subject is outside.
    var areVirtual: Bool { tester == "virtual" && subject ?? "virtual" == "virtual" }

    /// True if only a subject is given: cases for one device run.
    var isForOne: Bool {
        subject.map { $0 != "virtual" } == true && ends.tester == nil && subjectName != BenchEnds.overTheAir
            && host.subjectPort == nil
    }

    /// The subject; a peer is over the air unless --subject gives its controller.
    var subjectName: String { subject ?? (product.peer != nil && tester != "virtual" ? BenchEnds.overTheAir : "virtual") }

    /// True if the bench uses the subject's controller.
    private var drivesSubject: Bool { host.subjectPort == nil && subjectName != BenchEnds.overTheAir }

    /// Rejects options without effect.
    func check() throws {
        try host.check()
        let subjectPort = host.subjectPort
        if Arguments.given("--subject-address"), !drivesSubject {
            throw CommandFailure(
                .usage, "--subject-address needs a DUT whose controller the bench drives: this one chooses its own address")
        }
        if product.accessory != .reference, !areVirtual || subjectPort != nil {
            throw CommandFailure(.usage, "--accessory needs two virtual devices: select a device over the air with --peer")
        }
        if Arguments.given("--quirk"), !areVirtual || subjectPort != nil {
            throw CommandFailure(.usage, "--quirk needs two virtual devices; for a served one use `bluebench dongle --quirk`")
        }
        _ = try world()
        if subjectPort != nil, subject != nil {
            throw CommandFailure(.usage, "--subject and --subject-port exclude each other: each names the DUT")
        }
    }

    /// The world of the run: the quirks of the controllers.
    func world() throws -> World {
        let quirks = areVirtual && host.subjectPort == nil ? ends.quirk : []
        do { return try QuirkCatalogue.world(ofControllersWith: quirks) } catch { throw CommandFailure(.usage, "--quirk: \(error)") }
    }

    func apply(to setup: inout BenchSetup, areVirtual: Bool) throws {
        setup.peer = product.peer
        setup.upperTester = host.subjectPort == nil ? nil : try host.btp.map { try BTPPlace($0) }
        setup.accessory = product.accessory
        setup.profile = product.profile
        setup.pairing = try product.pairing.choice()
        if product.peer != nil || product.store.bonds != nil {
            let bonds = try product.store.read(for: tester)
            if product.peer != nil { setup.known = bonds.all.compactMap(Self.resolving) }
        }
        setup.ownAddresses = [.tester: ends.testerAddress, .subject: drivesSubject ? ends.subjectAddress : nil].compactMapValues(\.self)
        if !areVirtual || real.firmware.known.knownDongles != nil { setup.opener = try real.firmware.opener() }
        guard let slack = real.slack else { return }
        guard !areVirtual else {
            guard Arguments.given("--slack") else { return }
            throw CommandFailure(.usage, "--slack needs real devices: nothing is late between two virtual devices")
        }
        setup.slack = .milliseconds(slack)
    }

    /// The bond with only the key that resolves a bonded peer's private address, so that the tester is otherwise unknown to it.
    private static func resolving(_ bond: Bond) -> Bond? {
        guard let key = bond.identityResolvingKey else { return nil }
        var known = Bond(bond.identity)
        known.identityResolvingKey = key
        return known
    }
}
