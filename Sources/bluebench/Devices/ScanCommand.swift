import ArgumentParser
import BBHost
import BBPackets
import BBReport
import BBSessions
import BBTiming

/// `bluebench scan`: lists advertising devices.
struct ScanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scan", abstract: "Show advertisers, or devices that are discoverable over BR/EDR.",
        discussion: """
            Each report: address, RSSI, kind, PHYs and name, then its AD structures. Fragments of extended data are joined. The private address of \
            a bonded device is followed by its identity. --service and --name select devices by what any of their reports has. With --bredr: address, RSSI, class of device and extended inquiry response; a device \
            without a name there gets a name request afterwards, unless --passive is given. With --sync, each event of the periodic advertising \
            trains that are found is shown, too.
            """)

    @Argument(help: .device) var device: String
    @Option(help: "Time to scan, in seconds.", transform: Arguments.whole(1...86_400)) var seconds = 5
    @Option(help: ArgumentHelp("Stop after n reports.", valueName: "n"), transform: Arguments.whole(1...Int.max)) var count: Int?
    @Option(help: "Primary PHYs: 1m, coded or 1m,coded.") var phy = "1m"
    @Flag(help: "Passive scanning: no scan requests.") var passive = false
    @Flag(help: "Show every report, not only the first of each advertiser.") var duplicates = false
    @Option(
        help: ArgumentHelp("Show only devices that advertise a service, or data of it.", valueName: "uuid"), transform: Arguments.uuid)
    var service: BluetoothUUID?
    @Option(help: ArgumentHelp("Show only devices whose name contains a text.", valueName: "text")) var name: String?
    @Flag(help: "Print one JSON document at the end.") var json = false
    @Flag(help: "Show only the number of reports and advertisers.") var summary = false
    @Flag(help: "Also synchronise with periodic advertising trains, and show the data of each event.") var sync = false
    @Flag(help: "Inquiry over BR/EDR with name requests, instead of an LE scan.") var bredr = false
    @OptionGroup var store: BondOptions
    @OptionGroup var firmware: FirmwareOptions

    func run() throws {
        if bredr { return try inquire() }
        var settings = ScanSettings()
        settings.isActive = !passive
        settings.filtersDuplicates = !duplicates
        settings.phys = try Arguments.phys(phy)
        settings.ownAddressType = .randomDevice
        let limit = Microseconds.seconds(seconds)
        let most = count ?? .max
        guard !summary || !json && !sync && service == nil && name == nil else {
            throw CommandFailure(.usage, "--summary excludes --json, --sync, --service and --name: it counts all reports")
        }
        let command = self
        let keys = try store.read(for: device)
        let account = Account(isPrinted: !json)
        let prepare = { (host: Host) in
            host.keys = keys
            account.isOpen = true
        }
        let outcome = Result {
            try HostSession.run(on: device, firmware: firmware, prepare: prepare) { [settings] host in
                try await host.setRandomAddress(host.drawStaticAddress())
                if command.summary {
                    try await Self.count(host, settings, most, limit)
                } else {
                    try await command.show(host, settings, most, limit, account)
                }
            }
        }
        // The document is written when a scan is stopped, too.
        if json, account.isOpen {
            let document = ScanDocument(reports: account.reports, trains: sync ? account.trains : nil)
            Console.write(try ResultsJSON.encode(document, keys: .convertToSnakeCase))
        }
        try outcome.get()
    }

    private func inquire() throws {
        guard !duplicates, !summary, !json, !sync, service == nil, name == nil, phy == "1m" else {
            let options = "--duplicates, --summary, --json, --sync, --service, --name and --phy"
            throw CommandFailure(.usage, "\(options) cannot be used with --bredr: an inquiry has no advertising")
        }
        guard seconds <= 61, count.map({ $0 <= 255 }) ?? true else {
            throw CommandFailure(.usage, "with --bredr, --seconds is at most 61 and --count at most 255")
        }
        let command = self
        try HostSession.run(on: device, firmware: firmware) { host in
            try await InquirySession(host, on: Terminal(on: host.loop)).run(
                seconds: command.seconds, most: command.count, asksNames: !command.passive)
        }
    }

    /// The reports so far.
    private final class Account {
        let isPrinted: Bool
        var isOpen = false
        var reports: [ScanReport] = []
        var trains: [TrainReport] = []
        init(isPrinted: Bool) { self.isPrinted = isPrinted }

        func add(_ report: AdvertisingReport) {
            guard isPrinted else { return reports.append(ScanReport(report)) }
            Console.line(ScanCommand.line(report))
            for field in AdvertisingWords.fields(report.data) { Console.line("    \(field.name): \(field.value)") }
        }

        func add(_ report: PeriodicReport, of sync: PeriodicSync) {
            let report = TrainReport(report, of: sync)
            guard isPrinted else { return trains.append(report) }
            Console.line(report.line)
            for field in report.fields { Console.line("    \(field.name): \(field.value)") }
        }
    }

    private func show(_ host: Host, _ settings: ScanSettings, _ most: Int, _ limit: Microseconds, _ account: Account) async throws {
        var filter = ScanFilter(service: service, name: name)
        let scan = try await host.scan(settings)
        let trains = TrainSession(host, heard: { account.add($1, of: $0) }, failed: { Console.complain($0) })
        let end = host.loop.start {
            try await host.loop.sleep(for: limit)
            try await scan.stop()
        }
        defer { end.cancel() }
        var (shown, received) = (0, 0)
        defer {
            if shown == 0, received > 0, service != nil || name != nil {
                Console.complain("none of the \(received) received reports matches")
            }
        }
        reading: for try await report in scan.reports {
            received += 1
            if sync { trains.consider(report) }
            for chosen in filter.take(report) {
                account.add(chosen)
                shown += 1
                if shown == most { break reading }
            }
        }
        try await scan.stop()
        if shown < most { try await end.value() }
        await trains.end()
    }

    private static func count(_ host: Host, _ settings: ScanSettings, _ most: Int, _ limit: Microseconds) async throws {
        let tally = Tally(most: most, on: host.loop)
        let scan = try await host.scan(settings) { report in tally.take(report) }
        defer { Console.line("\(tally.reports) reports from \(tally.addresses.count) advertisers") }
        do { try await tally.enough.value(until: host.loop.now + limit) } catch is TimeOut {}
        try await scan.stop()
    }

    /// The number of reports, counted on the loop in each report's delivery.
    private final class Tally {
        var reports = 0
        var addresses: Set<DeviceAddress> = []
        let most: Int
        let enough: Promise<Void>

        init(most: Int, on loop: RunLoop) {
            self.most = most
            enough = Promise(on: loop)
        }

        func take(_ report: AdvertisingReport) {
            reports += 1
            if let address = report.address { addresses.insert(address) }
            if reports == most { enough.fulfil(()) }
        }
    }

    fileprivate static func line(_ report: AdvertisingReport) -> String {
        var words = [report.address.map { "\($0)" } ?? "anonymous", "\(report.rssi) dBm", report.isLegacy ? "legacy" : "extended"]
        if let identity = report.identity, identity.address != report.address { words[0] += " is \(identity.address.argument)" }
        if report.isConnectable { words.append("connectable") }
        if report.isScannable { words.append("scannable") }
        if report.isDirected { words.append("directed") }
        if report.isScanResponse { words.append("response") }
        if report.isTruncated { words.append("truncated") }
        if report.periodicInterval > 0 { words.append("train every \(TrainReport.milliseconds(report.periodicInterval)) ms") }
        words.append("on " + ([report.primaryPHY] + [report.secondaryPHY].compactMap { $0 }).map(\.shortName).joined(separator: "/"))
        if let name = report.data.localName { words.append("'\(PlainText.escaped(name))'") }
        return words.joined(separator: "  ")
    }
}
