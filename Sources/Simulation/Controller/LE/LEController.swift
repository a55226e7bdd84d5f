import BBBluetoothCrypto
import BBPackets
import BBTiming

/// The LE part of a controller. Core Vol 1, Part A, 2; Vol 6.
final class LEController {
    unowned let controller: Controller
    var settings: LESettings
    var keyPair: P256KeyPair?
    let advertising = Activities<Advertiser>()
    let scanning = Activities<Scanner>()
    let initiating = Activities<Initiator>()
    let testing = Activities<DirectTest>()
    let trains = Activities<PeriodicTrain>()
    let syncs = Activities<PeriodicSync>()
    private(set) lazy var reports = AdvertisingReports(controller)
    private(set) lazy var channels = AdaptiveChannels(self)

    init(_ controller: Controller) {
        self.controller = controller
        settings = LESettings(controller.configuration)
    }

    var activities: [any ActivityGroup] { [advertising, scanning, initiating, testing, trains, syncs] }
    /// Running advertising sets; the one of the legacy commands has handle 0xFF.
    var advertisers: [Advertiser] { advertising.running }
    var scanner: Scanner? { scanning.first }
    var initiator: Initiator? { initiating.first }
    var test: DirectTest? { testing.first }

    /// Resets the host's settings.
    func reset() {
        keyPair = nil
        reports.discard()
        channels.stop()
        let before = settings
        settings = LESettings(controller.configuration)
        if !configuration.quirks.resetKeeps.isEmpty { settings.keep(configuration.quirks.resetKeeps, of: before) }
    }

    /// Activities that a faulty reset does not stop.
    func activities(in kept: ResetKeeps) -> [any ActivityGroup] {
        let groups: [(ResetKeeps, any ActivityGroup)] = [(.advertising, advertising), (.scanning, scanning), (.initiating, initiating)]
        return groups.filter { kept.contains($0.0) }.map(\.1)
    }
}

extension LEController: CommandExecutor {
    static func part(of controller: Controller) -> LEController { controller.le }
}

/// Members shared with the rest of the controller.
extension LEController {
    var configuration: ControllerConfiguration { controller.configuration }
    var radio: Radio { controller.radio }
    var links: [LinkEnd] { controller.links }
    var isIdle: Bool { controller.isIdle }
    var random: RandomSource {
        get { controller.random }
        set { controller.random = newValue }
    }

    func emit<Event: HCIEvent>(_ event: Event) { controller.emit(event) }
    func link(_ handle: ConnectionHandle) throws(CommandRefusal) -> LinkEnd { try controller.link(handle) }
    var secrets: SecretSource {
        get { controller.secrets }
        set { controller.secrets = newValue }
    }
    func makeRandomSource() -> RandomSource { controller.makeRandomSource() }
}
