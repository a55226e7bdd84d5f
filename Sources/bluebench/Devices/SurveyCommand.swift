import ArgumentParser
import BBConformance
import BBHost
import BBPackets
import BBProducts
import BBTiming

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
    @Flag(help: "Leave out name, address, advertising data and values of more than 4 octets.") var hide = false
    @OptionGroup(title: "Pairing") var pairing: DevicePairingOptions
    @OptionGroup var store: BondOptions
    @OptionGroup var firmware: FirmwareOptions

    func run() throws {
        let peer = PeerSelector(peer)
        let choice = try pairing.choice()
        let keys = try choice == nil ? store.read(for: device) : KeyStore()
        let prepare = { (host: Host) in
            host.keys = keys
            // The device does not take the bench's own bond for this one.
            host.addressChoice = choice != nil ? .drawn : keys.identityAddress.map { .fixed($0) } ?? .automatic
            guard let choice else { return }
            host.pairingSettings = choice.settings
            host.pairingDialogue = .unattended(accepts: true, passkey: choice.passkey)
        }
        try HostSession.run(on: device, firmware: firmware, prepare: prepare) { host in
            do {
                let surveyor = Surveyor(host, lingers: true, pairing: choice)
                let description = try await surveyor.survey(peer)
                if let failure = surveyor.failureToConnect { throw CommandFailure(.bench, failure) }
                Console.write(description.yaml(hiding: hide))
            } catch let failure as SurveyFailure {
                throw CommandFailure(.bench, hide ? failure.brief : failure.description)
            }
        }
    }
}
