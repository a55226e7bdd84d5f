import BBCases
import BBPackets
import BBTraffic

/// Reports of a scan that stop: in the middle of chained data, or until the host restarts the scan. Core Vol 4, Part E, 7.7.65.13.
struct ReportWatch {
    private struct Scan {
        var begun: Moment
        var last: Moment
        var reports = 0
        var isIncomplete = false
        /// True if the controller may rightly be silent: it reports each device once, or scans for a part of the time.
        var mayBeSilent: Bool
        var devices: Set<UInt64> = []
    }

    /// A scan that had become silent when the host ended it.
    private struct Stopped {
        var last: Moment
        var waited: Int64
        var devices: Set<UInt64>
    }

    private var enabling: (isOn: Bool, mayBeSilent: Bool, at: Moment)?
    private var scan: Scan?
    private var stopped: Stopped?

    private static let enables: Set<PDUID> = [HCICommands.LESetScanEnable.id, HCICommands.LESetExtendedScanEnable.id]
    private static let reports: Set<PDUID> = [HCIEvents.LEAdvertisingReport.id, HCIEvents.LEExtendedAdvertisingReport.id]
    private static let limit: Int64 = 10_000_000
    /// Devices that were heard before are heard at once by a controller that scans again.
    private static let soon: Int64 = 2_000_000
    private static let most = 64
    /// A scan with this number of reports, one a second at least, does not become silent by chance.
    private static let many = 20
    private static let second: Int64 = 1_000_000

    mutating func note(_ pdu: DecodedLayer, at now: Moment) -> [Observation] {
        guard let id = pdu.id else { return [] }
        if pdu.layer == .hciCommands {
            if id == HCICommands.Reset.id { (scan, enabling, stopped) = (nil, nil, nil) }
            guard Self.enables.contains(id), let isOn = (pdu.fields.named("Enable") ?? pdu.fields.named("LE_Scan_Enable"))?.int else {
                return []
            }
            let mayBeSilent = pdu.fields.named("Filter_Duplicates")?.int != 0 || pdu.fields.named("Period")?.int ?? 0 != 0
            enabling = (isOn == 1, mayBeSilent, now)
            return []
        }
        if let command = pdu.command {
            guard Self.enables.contains(command.id), let enabling, pdu.returns.named("Status")?.int == 0 else { return [] }
            self.enabling = nil
            let found = end(now)
            scan = enabling.isOn ? Scan(begun: now, last: now, mayBeSilent: enabling.mayBeSilent) : nil
            return found
        }
        if Self.reports.contains(id) { return reported(pdu, now) }
        guard id == HCIEvents.LEScanTimeout.id else { return [] }
        let found = end(now)
        scan = nil
        return found
    }

    private mutating func reported(_ pdu: DecodedLayer, _ now: Moment) -> [Observation] {
        guard var scan else { return [] }
        var found = [incomplete(scan, now)].compactMap(\.self)
        for row in pdu.fields.named("Reports")?.children ?? [] {
            guard let address = row.children.named("Address")?.integer else { continue }
            let device = UInt64(truncatingIfNeeded: address)
            if let stopped, now.time - scan.begun.time < Self.soon, stopped.devices.contains(device) {
                self.stopped = nil
                found.append(
                    Observation(.reportsStopped, [("Waited", .milliseconds(stopped.waited))], packet: stopped.last.packet))
            }
            if scan.devices.count < Self.most { scan.devices.insert(device) }
            // Bits 5 and 6 of an extended report: 1 if more data follow.
            scan.isIncomplete =
                pdu.id == HCIEvents.LEExtendedAdvertisingReport.id && (row.children.named("Event_Type")?.int ?? 0) >> 5 & 3 == 1
        }
        scan.reports += 1
        scan.last = now
        self.scan = scan
        return found
    }

    /// The end of a scan, or of the capture.
    mutating func end(_ now: Moment) -> [Observation] {
        guard let scan else { return [] }
        let found = incomplete(scan, now)
        let waited = now.time - scan.last.time
        let isBusy = scan.reports >= Self.many && scan.last.time - scan.begun.time < Int64(scan.reports) * Self.second
        stopped = nil
        if found == nil, !scan.mayBeSilent, waited >= Self.limit, isBusy {
            stopped = Stopped(last: scan.last, waited: waited, devices: scan.devices)
        }
        return [found].compactMap(\.self)
    }

    private func incomplete(_ scan: Scan, _ now: Moment) -> Observation? {
        let waited = now.time - scan.last.time
        guard scan.isIncomplete, waited >= Self.limit else { return nil }
        return Observation(.reportIncomplete, [("Waited", .milliseconds(waited))], packet: scan.last.packet)
    }
}
