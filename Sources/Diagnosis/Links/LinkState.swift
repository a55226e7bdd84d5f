import BBCases
import BBPackets

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
    /// Times of the last completion of packets, and of one at least `endOfLink` before it.
    private var completions: (before: Int64, last: Int64)
    /// Time at which the peer last advertised since it was last heard; nil if it did not.
    var lastAdvertised: Int64?
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
        completions = (report.opened.time, report.opened.time)
    }

    /// At the end of a link, a controller completes the packets that it drops. Those completions are no sign of the peer.
    private static let endOfLink: Int64 = 100_000

    func complete(at time: Int64) {
        if time - completions.last >= Self.endOfLink { completions.before = completions.last }
        completions.last = time
    }

    /// Time of the last sign of the peer before the controller reported the end of the link.
    func lastSign(before end: Int64) -> Int64 {
        max(lastSign.time, end - completions.last >= Self.endOfLink ? completions.last : completions.before)
    }

    /// Forgets what awaits a response, which may be in a packet that the capture has only encrypted.
    func forgetRequests() {
        (att, control) = ([:], [:])
        (pairing, mtuRequest) = (nil, nil)
    }

    /// The supervision timeout in microseconds; zero if the capture does not have it, as of a BR/EDR link.
    var timeout: Int64 { Int64(report.parameters.last?.timeout ?? 0) * 10_000 }
    /// The supervision timeout as text.
    var limit: CaseValue { .text(timeout > 0 ? "\(timeout / 1_000) ms" : "not in the capture") }
}

/// An event of the rules before it is numbered and placed.
struct Conclusions {
    var list: [(Conclusion, [(String, CaseValue)], packet: Int)] = []

    mutating func add(_ conclusion: Conclusion, _ fields: [(String, CaseValue)] = [], packet: Int) {
        list.append((conclusion, fields, packet))
    }

    static func milliseconds(_ time: Int64) -> CaseValue { .number(Int(max(0, time) / 1_000)) }
}
