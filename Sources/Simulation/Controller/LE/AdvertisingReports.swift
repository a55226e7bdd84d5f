import BBPackets
import BBTiming

/// Queued advertising reports; a controller may combine several into one event. Core Vol 4, Part E, 7.7.65.2 and 7.7.65.13.
final class AdvertisingReports {
    private unowned let controller: Controller
    private var legacy: [HCIEvents.LEAdvertisingReport.Report] = []
    private var extended: [HCIEvents.LEExtendedAdvertisingReport.Report] = []
    private var timer: AirTimer!
    /// Octets of a report besides its data.
    private static let overhead = 24
    private static let room = 250
    private var octets = 0

    init(_ controller: Controller) {
        self.controller = controller
        timer = AirTimer(on: controller.loop) { [unowned self] in flush() }
    }

    private var choices: ControllerChoices { controller.configuration.choices }

    func add(_ report: HCIEvents.LEAdvertisingReport.Report) {
        guard choices.reportsPerEvent > 1 else { return controller.emit(HCIEvents.LEAdvertisingReport(reports: [report])) }
        makeRoom(report.data.count)
        legacy.append(report)
        added()
    }

    func add(_ report: HCIEvents.LEExtendedAdvertisingReport.Report) {
        guard choices.reportsPerEvent > 1 else { return controller.emit(HCIEvents.LEExtendedAdvertisingReport(reports: [report])) }
        makeRoom(report.data.count)
        extended.append(report)
        added()
    }

    /// Sends the queued reports.
    func flush() {
        timer.cancel()
        octets = 0
        if !legacy.isEmpty { controller.emit(HCIEvents.LEAdvertisingReport(reports: legacy)) }
        if !extended.isEmpty { controller.emit(HCIEvents.LEExtendedAdvertisingReport(reports: extended)) }
        legacy.removeAll(keepingCapacity: true)
        extended.removeAll(keepingCapacity: true)
    }

    /// Drops the queued reports.
    func discard() {
        timer.cancel()
        octets = 0
        legacy.removeAll(keepingCapacity: true)
        extended.removeAll(keepingCapacity: true)
    }

    private func makeRoom(_ count: Int) {
        if octets + count + Self.overhead > Self.room { flush() }
        octets += count + Self.overhead
    }

    private func added() {
        if legacy.count + extended.count >= choices.reportsPerEvent { return flush() }
        if !timer.isSet { timer.set(at: controller.loop.now + choices.reportDelay) }
    }
}
