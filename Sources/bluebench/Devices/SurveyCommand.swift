import ArgumentParser
import Conformance
import Host
import Packets
import Timing

/// `bluebench survey`: describes a device over the air.
struct SurveyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "survey", abstract: "Find out what a device over the air is, and print a description of it.",
        discussion: """
            The description is YAML: what was found, what its maker declares, and what is to be left out. `bluebench run accessory --device FILE` \
            judges the device by it, and `bluebench schema --device` prints its JSON Schema. Nothing is written to the device. With a bond the device is \
            known by its private address.
            """)

    @Argument(help: "The device that looks: usb:VID:PID[/serial], usb:<bus>-<port>, tcp:host:port, unix:path or serial:path.")
    var device: String
    @Option(
        help:
            "The device looked at: its name, its address, or the UUID of a service that it advertises; name:TEXT for a name that looks like one."
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
