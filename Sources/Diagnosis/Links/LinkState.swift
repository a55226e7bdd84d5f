import Cases
import Packets

/// The state of one link while a capture is read: its report, and what is outstanding on it. A class, because copies for every packet took
/// a third of the time.
final class LinkState {
    struct Request {
        var name: String
        var packet: Int
        var time: Int64
    }

    var report: LinkReport
    /// Address of the remote device, or of the peripheral on the air.
    var peer: DeviceAddress?
    /// Open ATT requests and link layer requests by sender.
    var att: [DiagnosisEvent.Sender: Request] = [:]
    var control: [DiagnosisEvent.Sender: Request] = [:]
    /// Commands that another event than their answer completes.
    var procedures: [String: Request] = [:]
    var mtuRequest: Int?
    /// Lengths in the last LL_LENGTH_REQ.
    var offered: (tx: Int, rx: Int)?
    /// The last PDU of an incomplete pairing.
    var pairing: Request?
    /// The last sign of life of the peer, or of the peripheral on the air.
    var lastSign: (packet: Int, time: Int64)
    var isAdvertisedSince = false
    /// Packets sent to the controller and not completed, and the time of the last progress.
    var outstanding = 0
    var progress: Int64 = 0
    var isStallReported = false
    var isStarved = false
    /// True after Number_Of_Completed_Packets, which some captures leave out.
    var hasCompletions = false
    var isClosed = false

    init(_ report: LinkReport, peer: DeviceAddress?) {
        self.report = report
        self.peer = peer
        lastSign = report.opened
    }

    /// The supervision timeout in microseconds.
    var timeout: Int64 { Int64(report.parameters.last?.timeout ?? 0) * 10_000 }
}

/// An event of the rules before it is numbered and placed.
struct Conclusions {
    var list: [(Conclusion, [(String, CaseValue)], packet: Int)] = []

    mutating func add(_ conclusion: Conclusion, _ fields: [(String, CaseValue)] = [], packet: Int) {
        list.append((conclusion, fields, packet))
    }

    static func milliseconds(_ time: Int64) -> CaseValue { .number(Int(max(0, time) / 1_000)) }
}
