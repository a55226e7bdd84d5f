import ArgumentParser
import Conformance
import Host
import Packets
import Timing

/// `bluebench survey`: describes a device over the air.
struct SurveyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "survey", abstract: "Survey a device over the air and print its description.",
        discussion: """
            The description is YAML: what was found, what its maker declares, and what to leave out. `bluebench run accessory --device FILE` tests \
            the device with it, and `bluebench schema --device` prints its JSON Schema. Nothing is written to the device. The private address of a \
            bonded device is resolved.
            """)

    @Argument(help: .device)
    var device: String
    @Option(
        help:
            "DUT: its name, its address, or the UUID of a service that it advertises; name:TEXT for a name that looks like one of these."
    )
    var peer: String
    @OptionGroup var store: BondOptions
    @OptionGroup var firmware: FirmwareOptions

    func run() throws {
        let peer = PeerSelector(peer)
        let keys = try store.read()
        let prepare = { (host: Host) in
            host.keys = keys
            host.addressChoice = keys.identityAddress.map { .fixed($0) } ?? .automatic
        }
        try HostSession.run(on: device, firmware: firmware, prepare: prepare) { host in
            do {
                Console.write(try await Surveyor(host, lingers: true).survey(peer).yaml)
            } catch let failure as SurveyFailure {
                throw CommandFailure(.bench, failure.description)
            }
        }
    }
}
