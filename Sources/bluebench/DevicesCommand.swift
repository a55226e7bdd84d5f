import ArgumentParser
import Dongles
import Foundation
import Packets
import Report
import Timing
import Transport
import TransportUSB

/// `bluebench devices`: the dongles of this machine.
struct DevicesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "List USB dongles with chip, version and features, and what prevents their use.",
        discussion: "Each usable dongle is reset to be asked.")

    @Flag(help: "Print JSON.") var json = false
    @OptionGroup var firmware: FirmwareOptions
    @Flag(help: "Compare what each dongle claims in its supported commands with what it answers.") var probe = false

    /// One dongle's row; the JSON has the names in snake case.
    struct Row: Encodable {
        var selector: String
        var id: String
        var manufacturer: String?
        var product: String?
        var serial: String?
        var driver: String?
        var obstacle: String?
        var startup: String?
        var firmware: String?
        var chip: String?
        var version: String?
        var address: String?
        var le: Bool?
        var bredr: Bool?
        var leFeatures: String?
        var aclBuffers: String?
        var leBuffers: String?
        var claimedFalsely: [String]?
        var workedUnclaimed: [String]?
        /// It was there and went away; not in the JSON, where the obstacle says it.
        var isLost = false

        private enum CodingKeys: String, CodingKey {
            case selector, id, manufacturer, product, serial, driver, obstacle, startup, firmware, chip, version, address, le, bredr
            case leFeatures, aclBuffers, leBuffers, claimedFalsely, workedUnclaimed
        }
    }

    func run() throws {
        let dongles: [USBDongleDescription]
        do { dongles = try USBEnumeration.dongles() } catch { throw CommandFailure(.bench, "\(error)") }
        let rows = dongles.map { row(of: $0) }
        if json {
            Console.write(try ResultsJSON.encode(["devices": rows], keys: .convertToSnakeCase))
        } else if rows.isEmpty {
            Console.line("no USB Bluetooth dongle is plugged in")
        } else {
            for row in rows { print(row) }
        }
        let lost = rows.filter(\.isLost).map(\.selector)
        if !lost.isEmpty { throw CommandFailure(.bench, "\(lost.joined(separator: ", ")) went away while being asked") }
    }

    private func row(of dongle: USBDongleDescription) -> Row {
        let id = USBSelector.identity(vendor: dongle.vendor, product: dongle.product, serial: nil).description.dropFirst(4)
        var row = Row(
            selector: dongle.location.description, id: String(id), manufacturer: dongle.manufacturerName, product: dongle.productName,
            serial: dongle.serial, driver: dongle.driver, obstacle: dongle.obstacle?.description)
        guard dongle.obstacle == nil else { return row }
        do { try ask(dongle, &row) } catch {
            row.obstacle = "\(error)"
            if case .lost? = error as? TransportError { row.isLost = true }
        }
        return row
    }

    private func ask(_ dongle: USBDongleDescription, _ row: inout Row) throws {
        let loop = Timing.RunLoop(mode: .wall)
        let dongle = try USBTransport(dongle.location, on: loop)
        let transport = FirmwareTransport(dongle, folders: firmware.folders, onlyAsks: true, on: loop)
        let outcome = try loop.run { try await transport.prepare() }
        if case .needed(let need) = outcome {
            row.chip = need.chip
            row.startup = dongle.startup.map { "\($0)" }
            transport.close()
            let image = try firmware.folders.read(need).image
            row.firmware = "needs firmware: \(need.file); \(image.path) is loaded when the dongle is used"
            return
        }
        if outcome != .notNeeded { row.firmware = "\(outcome)" }
        let probe = try DongleProbe(transport, on: loop)
        defer { probe.close() }
        let compares = self.probe
        let (identity, findings) = try loop.run {
            let identity = try await probe.identity()
            return (identity, compares ? try await probe.compareClaims(identity) : nil)
        }
        row.startup = dongle.startup.map { "\($0)" }
        row.chip = identity.chip
        row.version = identity.coreVersion
        row.address = identity.address?.description
        row.le = identity.hasLE
        row.bredr = identity.hasBREDR
        row.leFeatures = Hex.number(Int(truncatingIfNeeded: identity.leFeatures), bits: 64)
        row.aclBuffers = "\(identity.aclCount) x \(identity.aclLength)"
        row.leBuffers = "\(identity.leCount) x \(identity.leLength)"
        row.claimedFalsely = findings.map { $0.filter { $0.finding == .claimedFalsely }.map(\.name) }
        row.workedUnclaimed = findings.map { $0.filter { $0.finding == .workedUnclaimed }.map(\.name) }
    }

    private func print(_ row: Row) {
        let names = [row.manufacturer, row.product, row.serial].compactMap { $0 }.map(PlainText.escaped).joined(separator: ", ")
        Console.line("\(row.selector)  \(row.id)  \(names)")
        if let obstacle = row.obstacle { Console.line("    cannot be used: \(obstacle)") }
        if let firmware = row.firmware { Console.line("    \(firmware)") }
        guard let chip = row.chip, let version = row.version else { return }
        let kinds = [row.le == true ? "LE" : nil, row.bredr == true ? "BR/EDR" : nil].compactMap { $0 }.joined(separator: " and ")
        Console.line("    \(chip), Core \(version), \(kinds), address \(row.address ?? "unknown"), \(row.startup ?? "")")
        Console.line("    buffers: ACL \(row.aclBuffers ?? ""), LE \(row.leBuffers ?? ""); LE features \(row.leFeatures ?? "")")
        for name in row.claimedFalsely ?? [] { Console.line("    claims \(name), which does not work") }
        for name in row.workedUnclaimed ?? [] { Console.line("    \(name) works, though not claimed") }
    }
}
