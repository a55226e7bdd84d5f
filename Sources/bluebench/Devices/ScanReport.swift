import BBHost
import BBPackets
import BBTiming
import Foundation

/// A report in `bluebench scan --json`, with names in snake case.
struct ScanReport: Encodable {
    struct Service: Encodable {
        var uuid: String
        var name: String?
    }

    var address: String?
    /// The identity of a bonded device.
    var identity: String?
    var rssi: Int
    var legacy: Bool
    var connectable: Bool
    var scannable: Bool
    var directed: Bool
    var scanResponse: Bool
    var truncated: Bool
    /// Advertising SID; nil if there is none.
    var sid: Int?
    /// Interval of the set's periodic advertising train; nil without one.
    var trainIntervalMs: Double?
    var phys: [String]
    var name: String?
    var services: [Service]
    var fields: [AdvertisingWords.Field]
    /// The octets in hexadecimal.
    var data: String

    init(_ report: AdvertisingReport) {
        address = report.address?.argument
        identity = report.identity.flatMap { $0.address == report.address ? nil : $0.address.argument }
        (rssi, legacy, connectable) = (Int(report.rssi), report.isLegacy, report.isConnectable)
        (scannable, directed, scanResponse) = (report.isScannable, report.isDirected, report.isScanResponse)
        truncated = report.isTruncated
        sid = report.sid <= 15 ? Int(report.sid) : nil
        trainIntervalMs = report.periodicInterval > 0 ? TrainReport.milliseconds(report.periodicInterval) : nil
        phys = ([report.primaryPHY] + [report.secondaryPHY].compactMap(\.self)).map(\.shortName)
        name = report.data.localName.map(PlainText.escaped)
        services = report.data.serviceUUIDs.map { uuid in
            Service(uuid: uuid.description, name: uuid.short.flatMap { AssignedNumbers.name(uuid: $0) })
        }
        fields = AdvertisingWords.fields(report.data)
        data = Hex.octets(report.octets)
    }
}

/// An event of a train in `bluebench scan --sync --json`, with names in snake case.
struct TrainReport: Encodable {
    var address: String
    var sid: Int
    var phy: String
    var intervalMs: Double
    var rssi: Int?
    var txPower: Int?
    var truncated: Bool
    var fields: [AdvertisingWords.Field]
    /// The octets in hexadecimal.
    var data: String

    init(_ report: PeriodicReport, of sync: PeriodicSync) {
        (address, sid, phy) = (sync.advertiser.argument, Int(sync.sid), sync.phy.shortName)
        intervalMs = Self.milliseconds(sync.interval)
        (rssi, txPower, truncated) = (report.rssi.map(Int.init), report.txPower.map(Int.init), report.isTruncated)
        fields = AdvertisingWords.fields(report.data)
        data = Hex.octets(report.octets)
    }

    var line: String {
        var words = [address, "SID \(sid)", "train every \(intervalMs) ms", rssi.map { "\($0) dBm" } ?? "no RSSI", "on \(phy)"]
        if truncated { words.append("truncated") }
        return words.joined(separator: "  ")
    }

    static func milliseconds(_ interval: Microseconds) -> Double { Double(interval.rawValue) / 1_000 }
}

/// The document of `bluebench scan --json`.
struct ScanDocument: Encodable {
    var reports: [ScanReport]
    /// Events of trains, with --sync.
    var trains: [TrainReport]?
}

/// Selects the devices of a scan by what they have advertised, in any report.
struct ScanFilter {
    var service: BluetoothUUID?
    var name: String?
    private var waiting: [DeviceAddress: [AdvertisingReport]] = [:]
    private var chosen: Set<DeviceAddress> = []

    /// The limits for devices that do not match yet, and their reports.
    private static let mostDevices = 1_000
    private static let mostReports = 4

    init(service: BluetoothUUID?, name: String?) { (self.service, self.name) = (service, name) }

    var isEmpty: Bool { service == nil && name == nil }

    /// Returns the reports to show: earlier ones of a device follow as soon as it matches.
    mutating func take(_ report: AdvertisingReport) -> [AdvertisingReport] {
        guard !isEmpty else { return [report] }
        guard let address = report.address else { return matches([report]) ? [report] : [] }
        if chosen.contains(address) { return [report] }
        let all = (waiting[address] ?? []) + [report]
        if matches(all) {
            chosen.insert(address)
            waiting[address] = nil
            return all
        }
        if waiting[address] != nil || waiting.count < Self.mostDevices { waiting[address] = all.suffix(Self.mostReports) }
        return []
    }

    private func matches(_ reports: [AdvertisingReport]) -> Bool {
        let data = reports.map(\.data)
        let hasName = name.map { name in data.contains { $0.localName?.localizedCaseInsensitiveContains(name) == true } } ?? true
        let hasService = service.map { uuid in data.contains { $0.serviceUUIDs.contains(uuid) || $0.serviceData(uuid) != nil } } ?? true
        return hasName && hasService
    }
}
