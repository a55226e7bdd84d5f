import ArgumentParser
import Host
import Packets
import Timing

/// `bluebench scan`: lists advertising devices.
struct ScanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scan", abstract: "Show advertisers, or devices that are discoverable over BR/EDR.",
        discussion: """
            Each line: address, RSSI, kind of report, PHYs, name, data in hexadecimal. Fragments of extended data are joined. The private address of \
            a bonded device is followed by its identity. With --bredr: address, RSSI, class of device and extended inquiry response; a device \
            without a name there gets a name request afterwards, unless --passive is given.
            """)

    @Argument(help: .device) var device: String
    @Option(help: "Time to scan, in seconds.", transform: Arguments.whole(1...86_400)) var seconds = 5
    @Option(help: ArgumentHelp("Stop after n reports.", valueName: "n"), transform: Arguments.whole(1...Int.max)) var count: Int?
    @Option(help: "Primary PHYs: 1m, coded or 1m,coded.") var phy = "1m"
    @Flag(help: "Passive scanning: no scan requests.") var passive = false
    @Flag(help: "Show every report, not only the first of each advertiser.") var duplicates = false
    @Flag(help: "Show only the number of reports and advertisers.") var summary = false
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
        let command = self
        let keys = try store.read()
        let prepare = { (host: Host) in host.keys = keys }
        try HostSession.run(on: device, firmware: firmware, prepare: prepare) { [settings] host in
            try await host.setRandomAddress(host.drawStaticAddress())
            if command.summary {
                try await Self.count(host, settings, most, limit)
            } else {
                try await Self.show(host, settings, most, limit)
            }
        }
    }

    private func inquire() throws {
        guard !duplicates, !summary, phy == "1m" else {
            throw CommandFailure(.usage, "--duplicates, --summary and --phy are about advertising, not about an inquiry")
        }
        guard seconds <= 61, count.map({ $0 <= 255 }) ?? true else {
            throw CommandFailure(.usage, "an inquiry takes at most 61 seconds and 255 devices")
        }
        let command = self
        try HostSession.run(on: device, firmware: firmware) { host in
            try await InquirySession(host).run(seconds: command.seconds, most: command.count, asksNames: !command.passive)
        }
    }

    private static func show(_ host: Host, _ settings: ScanSettings, _ most: Int, _ limit: Microseconds) async throws {
        let scan = try await host.scan(settings)
        let end = host.loop.start {
            try await host.loop.sleep(for: limit)
            try await scan.stop()
        }
        defer { end.cancel() }
        var shown = 0
        for try await report in scan.reports {
            Console.line(Self.line(report))
            shown += 1
            if shown == most { break }
        }
        try await scan.stop()
        if shown < most { try await end.value() }
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

    private static func line(_ report: AdvertisingReport) -> String {
        var words = [report.address.map { "\($0)" } ?? "anonymous", "\(report.rssi) dBm", report.isLegacy ? "legacy" : "extended"]
        if let identity = report.identity, identity.address != report.address { words[0] += " is \(identity.address.argument)" }
        if report.isConnectable { words.append("connectable") }
        if report.isScannable { words.append("scannable") }
        if report.isDirected { words.append("directed") }
        if report.isScanResponse { words.append("response") }
        if report.isTruncated { words.append("truncated") }
        words.append("on " + ([report.primaryPHY] + [report.secondaryPHY].compactMap { $0 }).map(\.shortName).joined(separator: "/"))
        if let name = report.data.localName { words.append("'\(PlainText.escaped(name))'") }
        words.append("\(report.octets.count): " + Hex.octets(report.octets))
        return words.joined(separator: "  ")
    }
}
