import ArgumentParser
import BBHCI
import BBHost
import BBPackets
import BBSessions
import BBTiming

/// `bluebench bridge`: pairs once over LE and opens profiles over BR/EDR.
struct BridgeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bridge",
        abstract: "Pair over LE, derive the BR/EDR link key (CTKD) and set up A2DP, HFP and AVRCP.",
        discussion: """
            With --peer the device is the phone and plays a tone. With --advertise it is the accessory, which receives and counts the audio. The \
            device 'virtual' is both, in simulated time. Each step is a line with its time since the start. After Ctrl-C the counts so far are \
            printed. Exit code 1 when a step fails or the peer lacks a profile.
            """)

    @Argument(help: .device("or virtual, for both sides in simulated time")) var device: String
    @Option(help: "Peer's LE address: 00:1B:DC:00:00:01/public, C0:B1:BE:00:00:01/random.") var peer: String?
    @Option(help: ArgumentHelp("Be the accessory: advertise under this name and let a phone connect.", valueName: "name")) var advertise:
        String?
    @Option(help: "List of profiles: a2dp, hfp, avrcp.") var profiles = "a2dp,hfp,avrcp"
    @Option(help: "Length of the tone, in seconds; an accessory stays until the phone disconnects.", transform: Arguments.seconds)
    var seconds = 5.0
    @Option(help: "Timeout for the peer, in seconds.", transform: Arguments.seconds) var wait = 60.0
    @Flag(help: "Pair by numeric comparison. Default: Just Works.") var compare = false
    @Flag(help: "With --compare: confirm without asking.") var accept = false
    @Flag(help: "Print a line of JSON for each step.") var json = false
    @Option(help: "With virtual: seed of every random choice.", transform: Arguments.seed) var seed: UInt64 = 1
    @Option(
        help: ArgumentHelp("With virtual: write every transmission on the simulated air as pcapng.", valueName: "file"), completion: .file()
    )
    var air: String?
    @OptionGroup var store: BondOptions
    @OptionGroup var firmware: FirmwareOptions

    func validate() throws {
        guard device == "virtual" || (peer == nil) != (advertise == nil) else {
            throw ValidationError("missing peer: give --peer ADDRESS (as the phone) or --advertise NAME (as the accessory)")
        }
        guard device != "virtual" || peer == nil && advertise == nil else {
            throw ValidationError("the device 'virtual' is both the phone and the accessory: leave --peer and --advertise out")
        }
        guard device == "virtual" || air == nil && !Arguments.given("--seed") else {
            throw ValidationError("--air and --seed need the device 'virtual'")
        }
    }

    func run() throws {
        let command = self
        let wanted = try wantedProfiles()
        let address = try peer.map { try DeviceAddress(argument: $0) }
        guard device != "virtual" else { return try BridgeAir(self).run(wanted) }
        let file = try store.open(makes: true, for: device)
        let keys = file?.keys ?? KeyStore()
        let prepare = { (host: Host) in
            host.keys = keys
            if let identity = keys.identityAddress { host.addressChoice = .fixed(identity) }
        }
        try HostSession.run(on: device, firmware: firmware, named: advertise ?? "bluebench", prepare: prepare) { host in
            try PublicAddress.check(host, chosen: keys.identityAddress)
            try keys.keepIdentity(host.address)
            let session = BridgeSession(host, command.plan, on: Terminal(on: host.loop))
            try await session.conclude {
                if let address { try await session.asPhone(address, wanted) } else { try await session.asAccessory(Set(wanted)) }
            }
            try file?.check()
        }
    }

    var plan: BridgePlan {
        var plan = BridgePlan()
        (plan.advertised, plan.seconds, plan.timeout) = (advertise ?? "", seconds, wait)
        (plan.compares, plan.accepts, plan.isJSON) = (compare, accept, json)
        return plan
    }

    private func wantedProfiles() throws -> [ClassicProfile] {
        let names: [Substring: ClassicProfile] = ["a2dp": .a2dp, "hfp": .hfp, "avrcp": .avrcp]
        return try profiles.lowercased().split(separator: ",").map {
            guard let profile = names[$0] else { throw CommandFailure(.usage, "unknown profile '\($0)': use a2dp, hfp or avrcp") }
            return profile
        }
    }
}
