import BBPackets
import BBTiming

/// The BR/EDR part of a controller. Core Vol 1, Part A, 2; Vol 2.
final class BREDRController {
    unowned let controller: Controller
    let clock: NativeClock
    var settings = BREDRSettings()
    var inquiry: InquiryState? { didSet { shareWindows() } }
    let inquiring = Activities<Inquirer>()
    let inquiryScanning = Activities<InquiryScanner>()
    var paging: Paging? { didSet { shareWindows() } }
    /// Devices with a pending remote name request.
    var namesWanted: Set<BDADDR> = []
    let pagers = Activities<Pager>()
    let pageScanning = Activities<PageScanner>()
    let linkEnds = Activities<ACLLinkEnd>()
    let synchronousLinks = Activities<SynchronousLinkEnd>()
    /// Number of unacknowledged ACL packets from the host.
    var buffersInUse = 0

    init(_ controller: Controller, clock: NativeClock) {
        self.controller = controller
        self.clock = clock
    }

    var activities: [any ActivityGroup] { [inquiring, inquiryScanning, pagers, pageScanning, linkEnds, synchronousLinks] }
    var inquiryScanner: InquiryScanner? { inquiryScanning.first }
    var links: [ACLLinkEnd] { linkEnds.running }
    var synchronousEnds: [SynchronousLinkEnd] { synchronousLinks.running }

    /// Prevents the device's own scan windows from coinciding with those of the searched device.
    func shareWindows() {
        let isLooking = inquiry != nil || paging != nil
        inquiryScanner?.isIrregular = isLooking
        pageScanning.first?.isIrregular = isLooking
    }

    /// Resets the host's settings.
    func reset() {
        inquiry = nil
        paging = nil
        namesWanted = []
        buffersInUse = 0
        if !configuration.quirks.resetKeeps.contains(.bredrSettings) { settings = BREDRSettings() }
    }
}

extension BREDRController: CommandExecutor {
    static func part(of controller: Controller) -> BREDRController { controller.bredr }
}

/// Members shared with the rest of the controller.
extension BREDRController {
    var configuration: ControllerConfiguration { controller.configuration }
    var radio: Radio { controller.radio }

    func emit<Event: HCIEvent>(_ event: Event) { controller.emit(event) }
    func makeRandomSource() -> RandomSource { controller.makeRandomSource() }
}
