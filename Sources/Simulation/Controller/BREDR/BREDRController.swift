import Packets
import Timing

/// What the controller does for BR/EDR. Core Vol 1, Part A, 2; Vol 2.
final class BREDRController {
    unowned let controller: Controller
    let clock: NativeClock
    var settings = BREDRSettings()
    var inquiry: InquiryState?
    let inquiring = Activities<Inquirer>()
    let inquiryScanning = Activities<InquiryScanner>()

    init(_ controller: Controller, clock: NativeClock) {
        self.controller = controller
        self.clock = clock
    }

    var activities: [any ActivityGroup] { [inquiring, inquiryScanning] }
    var inquiryScanner: InquiryScanner? { inquiryScanning.first }

    /// Takes back what the host has set.
    func reset() {
        inquiry = nil
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
