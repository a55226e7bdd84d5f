import BBBench
import BBDongles
import BBPackets
import BBTiming
import BBTransport
import BBTransportUSB
import Foundation

/// The row of a dongle; the JSON has the names in snake case.
struct DeviceRow: Encodable {
    var selector: String
    var id: String?
    var manufacturer: String?
    var product: String?
    var serial: String?
    var driver: String?
    var impediment: String?
    var impedimentKind: ImpedimentKind?
    var startup: String?
    /// Modes, endpoints and settings from its descriptors, and what they break of HCI over USB.
    var usb: String?
    var usbFindings: [String] = []
    /// The mode in use, with the reason for it.
    var usbMode: String?
    var firmware: String?
    var chip: String?
    var version: String?
    var address: String?
    var le: Bool?
    var bredr: Bool?
    var leFeatures: String?
    var aclBuffers: String?
    var leBuffers: String?
    /// The numbers used by the table of known dongles.
    var numbers: DongleNumbers?
    /// The matching rows of the table.
    var known: [Known] = []
    /// The active workarounds.
    var workarounds: [String] = []
    /// The behaviour observed while it was probed.
    var learned: [String] = []
    var checkUp: CheckUpReport?
    /// True if the device was lost; not in the JSON, which has an impediment for it.
    var isLost = false
    var isUnfit = false

    struct Known: Encodable {
        var id: String
        var name: String
        var conduct: String
        var source: String
        var quirks: [String]
        var advice: String

        init(_ row: KnownDongle) {
            (id, name, conduct, source, quirks, advice) = (row.id, row.name, row.conduct, row.source, row.quirks, row.advice)
        }
    }

    struct Document: Encodable {
        var devices: [DeviceRow]
        var reference: ReferencePair?
    }

    private enum CodingKeys: String, CodingKey {
        case selector, id, manufacturer, product, serial, driver, impediment, impedimentKind, startup, firmware, chip, version, address, le,
            bredr
        case usb, usbFindings, usbMode, leFeatures, aclBuffers, leBuffers, numbers, known, workarounds, learned, checkUp
    }

    init(selector: String) { self.selector = selector }

    init(_ dongle: USBDongleDescription) {
        self.init(selector: dongle.location.description)
        id = String(USBSelector.identity(vendor: dongle.vendor, product: dongle.product, serial: nil).description.dropFirst(4))
        (manufacturer, product, serial) = (dongle.manufacturerName, dongle.productName, dongle.serial)
        (driver, impediment) = (dongle.driver, dongle.impediment?.description)
        impedimentKind = ImpedimentKind(dongle)
        usb = dongle.shape?.line
        usbFindings = (dongle.shape?.findings ?? []).map { "\($0.text) (\($0.section))" }
    }

    mutating func take(_ identity: DongleIdentity) {
        (chip, version, address) = (identity.chip, identity.coreVersion, identity.address?.description)
        (le, bredr) = (identity.hasLE, identity.hasBREDR)
        leFeatures = Hex.number(Int(truncatingIfNeeded: identity.leFeatures), bits: 64)
        aclBuffers = "\(identity.aclCount) x \(identity.aclLength)"
        leBuffers = "\(identity.leCount) x \(identity.leLength)"
    }

    mutating func take(_ numbers: DongleNumbers, from table: KnownDongles) {
        self.numbers = numbers
        let rows = table.find(numbers)
        let all = DongleWorkarounds(rows)
        (known, workarounds, isUnfit) = (rows.map(Known.init), all.namesInUse, all.isUnfitAsReference || all.isUnusable)
    }

    var candidate: ReferencePair.Candidate? {
        checkUp.map { ReferencePair.Candidate(name: selector, report: $0, isUnfit: isUnfit) }
    }

    // MARK: Text

    var lines: [String] {
        let names = [manufacturer, product, serial].compactMap { $0 }.map(PlainText.escaped).joined(separator: ", ")
        var lines = [[selector, id, names].compactMap(\.self).joined(separator: "  ")]
        if let impediment { lines.append("    cannot be used: \(impediment)") }
        if let usb { lines.append("    USB: \(usb)\(usbMode.map { "; \($0)" } ?? "")") }
        if checkUp == nil { lines += usbFindings.map { "    USB: \($0)" } }
        if let firmware { lines.append("    \(firmware)") }
        guard let chip, let version else { return lines }
        let kinds = [le == true ? "LE" : nil, bredr == true ? "BR/EDR" : nil].compactMap { $0 }.joined(separator: " and ")
        lines.append("    \(chip), Core \(version), \(kinds), address \(address ?? "unknown"), \(startup ?? "")")
        lines.append("    buffers: ACL \(aclBuffers ?? ""), LE \(leBuffers ?? ""); LE features \(leFeatures ?? "")")
        if let numbers { lines.append("    \(numbers.line)") }
        for row in known { lines.append("    known: \(row.name). \(row.conduct) \(row.advice)") }
        if !workarounds.isEmpty { lines.append("    in use: \(workarounds.joined(separator: ", "))") }
        for text in learned { lines.append("    learned: \(text)") }
        if let checkUp { lines += Self.lines(checkUp) }
        return lines
    }

    private static func lines(_ report: CheckUpReport) -> [String] {
        var lines = report.findings.map { finding in
            "    \(finding.weight == .fault ? "found" : "note"): \(finding.name): \(finding.text)"
                + (finding.advice.isEmpty ? "" : ". \(finding.advice)")
        }
        if report.findings.isEmpty { lines.append("    checked: nothing found") }
        lines += report.figures.map { "    \($0.name): \($0.value)" }
        lines += report.skipped.map { "    not checked: \($0.check), as \($0.reason)" }
        if let ended = report.ended { lines.append("    the check-up ended early: \(ended)") }
        return lines
    }
}

/// Probes and checks dongles one after another.
struct DeviceRows {
    var command: DevicesCommand
    private let opener: DeviceOpener
    /// Raised to end the probing; the rows so far are reported.
    var stopping: StopFlag
    private var helper: DeviceSelector?

    init(command: DevicesCommand, stopping: StopFlag) throws {
        (self.command, self.stopping) = (command, stopping)
        opener = try command.firmware.opener()
        do { helper = try command.with.map { try DeviceSelector($0) } } catch { throw CommandFailure(error) }
    }

    func all(_ names: [String]) throws -> [DeviceRow] {
        let selectors: [DeviceSelector]
        do { selectors = try names.map { try DeviceSelector($0) } } catch { throw CommandFailure(error) }
        let usb = selectors.compactMap { if case .usb(let selector) = $0 { selector } else { nil } }
        var rows: [DeviceRow] = []
        if names.isEmpty || !usb.isEmpty {
            let dongles: [USBDongleDescription]
            do { dongles = try USBEnumeration.dongles() } catch { throw CommandFailure(.bench, "\(error)") }
            rows = dongles.filter { dongle in (usb.isEmpty || usb.contains { dongle.matches($0) }) && !isHelper(dongle) }.map(row)
        }
        for selector in selectors {
            if case .usb = selector { continue }
            guard command.probe else { throw CommandFailure(.usage, "\(selector) is not a USB dongle: add --probe to check it") }
            if !stopping.isRaised { rows.append(row(of: selector)) }
        }
        return rows
    }

    private func isHelper(_ dongle: USBDongleDescription) -> Bool {
        if case .usb(let selector)? = helper { dongle.matches(selector) } else { false }
    }

    private func row(_ dongle: USBDongleDescription) -> DeviceRow {
        var row = DeviceRow(dongle)
        guard dongle.impediment == nil, !stopping.isRaised else { return row }
        do { try ask(dongle, &row) } catch { note(error, &row) }
        return row
    }

    private func row(of selector: DeviceSelector) -> DeviceRow {
        var row = DeviceRow(selector: selector.description)
        let loop = BBTiming.RunLoop(mode: .wall)
        do { try check(try command.firmware.open(selector, on: loop).transport, nil, &row, loop) } catch { note(error, &row) }
        return row
    }

    private func note(_ error: any Error, _ row: inout DeviceRow) {
        row.impediment = error is CancellationError ? "the question was interrupted" : "\(error)"
        row.impedimentKind = ImpedimentKind(error)
        if case .lost? = error as? TransportError { row.isLost = true }
    }

    private func ask(_ description: USBDongleDescription, _ row: inout DeviceRow) throws {
        let loop = BBTiming.RunLoop(mode: .wall)
        var asking = opener
        asking.loadsFirmware = false
        let device = try asking.device(.usb(description.location), on: loop)
        let transport = device.transport
        try stopping.run(on: loop) { try await device.prepare() }
        row.startup = device.dongle?.startup.map { "\($0)" }
        row.usbMode = device.transport.startOfPipe?.mode
        if case .needed(let need)? = device.firmware {
            row.chip = need.chip
            transport.close()
            let image = try opener.firmware.read(need).image
            row.firmware = "needs firmware: \(need.file); \(image.path) is loaded when the dongle is used"
            return
        }
        if let outcome = device.firmware, outcome != .notNeeded { row.firmware = "\(outcome)" }
        defer { row.learned = transport.learned.all.map(\.text) }
        if command.probe { return try check(transport, description, &row, loop) }
        let probe = try DongleProbe(transport, on: loop)
        defer { probe.close() }
        let identity = try stopping.run(on: loop) { try await probe.identity() }
        row.take(identity)
        row.take(DongleNumbers(identity, usb: description), from: opener.known)
    }

    private func check(
        _ transport: any HCITransport, _ usb: USBDongleDescription?, _ row: inout DeviceRow, _ loop: BBTiming.RunLoop
    ) throws {
        let run = CheckUpRun(
            listening: command.listen ?? 3, helper: helper, firmware: command.firmware, opener: opener, stopping: stopping,
            isQuiet: command.json)
        let (report, failure) = try run.run(transport, usb: usb, on: loop)
        if let identity = report.identity { row.take(identity) }
        if let numbers = report.numbers { row.take(numbers, from: opener.known) }
        row.checkUp = report
        if let failure { throw failure }
    }
}
