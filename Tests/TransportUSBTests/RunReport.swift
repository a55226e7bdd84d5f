import Foundation

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// The report folder of a run, as read by a user.
struct RunReport: Decodable {
    struct Run: Decodable {
        struct Device: Decodable {
            struct Loss: Decodable {
                var reason: String
                var awayMs: Double?
                var startup: String?
            }
            var side: String
            var startup: String?
            var discarded: Int
            var clearedHalts: Int
            var losses: [Loss]
        }
        struct USB: Decodable {
            var handlesOpen: Int
            var transfersAllocated: Int
            var transfersInFlight: Int
        }
        var interrupted: Bool
        var devices: [Device]?
        var usb: USB?
    }
    struct Case: Decodable {
        var id: String
        var verdict: String
        var message: String
        var durationMs: Double
        var notes: [String]?
    }
    var run: Run
    var cases: [Case]

    init(folder: String) throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        self = try decoder.decode(RunReport.self, from: Data(contentsOf: URL(fileURLWithPath: folder + "/results.json")))
    }

    var verdicts: [String] { cases.map(\.verdict) }

    /// libusb objects that were not released.
    var leaks: Int { run.usb.map { $0.handlesOpen + $0.transfersAllocated + $0.transfersInFlight } ?? 0 }

    func device(_ side: String) -> Run.Device? { run.devices?.first { $0.side == side } }

    /// Errors in the report of a run that lost a device: every case must be present, those before the loss passed, the rest INCONC, the
    /// exit code must match, and no libusb object may be left.
    static func problems(in folder: String, cases: Int, code: Int32) -> [String] {
        guard let report = try? RunReport(folder: folder) else { return ["there is no readable results.json"] }
        var problems: [String] = []
        let passed = report.verdicts.prefix { $0 == "PASS" }.count
        if report.cases.count != cases { problems.append("\(report.cases.count) of \(cases) cases are in the report") }
        if report.verdicts.dropFirst(passed).contains(where: { $0 != "INCONC" }) { problems.append("the verdicts are \(report.verdicts)") }
        let expected: Int32 = passed == cases ? 0 : 3
        if code != expected { problems.append("exit code \(code) where \(expected) fits") }
        if report.run.usb == nil { problems.append("libusb's objects were not counted") }
        if report.leaks != 0 { problems.append("left of libusb: \(String(describing: report.run.usb))") }
        if let parser = XMLParser(contentsOf: URL(fileURLWithPath: folder + "/junit.xml")) {
            if !parser.parse() { problems.append("junit.xml cannot be read") }
        } else {
            problems.append("there is no junit.xml")
        }
        return problems
    }
}
