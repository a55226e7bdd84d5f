import BBCases
import BBPackets
import BBProducts

extension CaseResult {
    /// Adds the lines of the case and a restart of the product.
    mutating func add(_ end: ProductLog.CaseEnd) {
        if let excerpt = end.excerpt { log = excerpt }
        notes += end.remarks
        if let before = end.restartBefore { notes.append("the product restarted before this case: \(before)") }
        guard let restart = end.restarts.first else { return }
        let more = end.restarts.count > 1 ? ", and \(end.restarts.count - 1) more of its banners" : ""
        let text = "the product restarted: \(restart.text) (its log at \(Int(saturating: restart.milliseconds.rounded())) ms\(more))"
        message = message.isEmpty ? text : "\(message); \(text)"
        let at = Microseconds(Int64(saturating: restart.milliseconds * 1_000))
        evidence.append(Evidence(packet: 0, side: "log", text: restart.text, at: at))
    }
}
