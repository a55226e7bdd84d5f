import BBBench
import BBDongles
import BBPackets
import BBTiming
import BBTransport
import BBTransportUSB
import Foundation

/// Checks a dongle for `bluebench devices --probe` and displays the progress.
struct CheckUpRun {
    var listening: Int
    /// The second dongle.
    var helper: DeviceSelector?
    var firmware: FirmwareOptions
    var opener: DeviceOpener
    /// Raised to end the check-up.
    var stopping: StopFlag
    var isQuiet: Bool

    /// Runs the check-up; Ctrl-C ends it, and the findings so far are reported.
    ///
    /// - Returns: the report, and the error if the transport has failed.
    func run(_ transport: any HCITransport, usb: USBDongleDescription?, on loop: BBTiming.RunLoop) throws -> (
        CheckUpReport, TransportError?
    ) {
        var plan = CheckUp.Plan()
        plan.table = opener.known
        plan.listening = .seconds(listening)
        if let usb { plan.usb = DongleNumbers(vendor: usb.vendor, product: usb.product, release: usb.release) }
        let second = try helper.map { try firmware.open($0, on: loop).transport }
        let checkUp = try CheckUp(transport, helper: second, plan: plan, on: loop)
        defer { checkUp.close() }
        checkUp.onCheck = { [isQuiet, began = loop.now] check in
            // The progress of short check-ups is not displayed.
            if !isQuiet, loop.now - began > .seconds(2) { Console.problem("checking: \(check)") }
        }
        let outcome = Result { try stopping.run(on: loop) { try await checkUp.run() } }
        try loop.run { await checkUp.leave() }
        do { try outcome.get() } catch is CancellationError {
            var report = checkUp.report
            report.ended = "stopped"
            return (report, nil)
        } catch let error as TransportError {
            return (checkUp.report, error)
        }
        var report = checkUp.report
        for finding in usb?.shape?.findings ?? [] {
            let weight: CheckUpFinding.Weight = finding.weight == .fault ? .fault : .note
            report.add(CheckUpFinding(finding.rule.rawValue, weight, "\(finding.text) (\(finding.section))"))
        }
        if report.ended == nil, let usb, let first = transport.startOfPipe?.step, let finding = try reopened(usb, after: first) {
            report.add(finding)
        }
        return (report, nil)
    }

    /// Opens the dongle a second time, because some dongles answer only every second time.
    private func reopened(_ usb: USBDongleDescription, after first: String) throws -> CheckUpFinding? {
        let loop = BBTiming.RunLoop(mode: .wall)
        var opener = opener
        opener.firmware = FirmwareFolders("none")
        let device = try opener.device(.usb(usb.location), on: loop)
        defer { device.transport.close() }
        do { try stopping.run(on: loop) { try await device.prepare() } } catch { return nil }
        let portReset = "\(StartupStep.portReset)"
        guard device.dongle?.startup.map({ "\($0)" }) == portReset, !first.hasPrefix(portReset) else { return nil }
        return CheckUpFinding("second-open-deaf", .fault, "opened a second time, it answers only after a reset of its port")
    }
}
