import Packets
import Timing

/// What the controller does for BR/EDR. Core Vol 1, Part A, 2; Vol 2.
final class BREDRController {
    unowned let controller: Controller
    let clock: NativeClock
    var settings = BREDRSettings()
    var inquiry: InquiryState? { didSet { shareWindows() } }
    let inquiring = Activities<Inquirer>()
    let inquiryScanning = Activities<InquiryScanner>()
    var paging: Paging? { didSet { shareWindows() } }
    /// Devices whose name was asked for.
    var namesWanted: Set<BDADDR> = []
    let pagers = Activities<Pager>()
    let pageScanning = Activities<PageScanner>()
    let linkEnds = Activities<ACLLinkEnd>()
    var synchronousEnds: [SynchronousLinkEnd] = []
    /// ACL packets of the host that have not been acknowledged.
    var buffersInUse = 0

    init(_ controller: Controller, clock: NativeClock) {
        self.controller = controller
        self.clock = clock
    }

    var activities: [any ActivityGroup] { [inquiring, inquiryScanning, pagers, pageScanning, linkEnds] }
    var inquiryScanner: InquiryScanner? { inquiryScanning.first }
    var links: [ACLLinkEnd] { linkEnds.running }

    /// A device that looks for others leaves out some of its own windows, and those of inquiry scan while it pages, which takes seconds and may not fail.
    func shareWindows() {
        inquiryScanner?.share = paging != nil ? .none : inquiry != nil ? .some : .all
        pageScanning.first?.share = inquiry != nil || paging != nil ? .some : .all
    }

    /// Takes back what the host has set.
    func reset() {
        inquiry = nil
        paging = nil
        namesWanted = []
        synchronousEnds = []
        buffersInUse = 0
        settings = BREDRSettings()
    }
}

extension BREDRController: CommandExecutor {
    static func part(of controller: Controller) -> BREDRController { controller.bredr }
}

/// What it shares with the rest of the controller.
extension BREDRController {
    var configuration: ControllerConfiguration { controller.configuration }
    var radio: Radio { controller.radio }

    func emit<Event: HCIEvent>(_ event: Event) { controller.emit(event) }
    func makeRandomSource() -> RandomSource { controller.makeRandomSource() }
}
