/// A match of a rule.
public struct Finding: Sendable {
    public var rule: DiagnosisRule
    /// Number of the link, starting with 1.
    public var link: Int?
    public var device: Int?
    /// Numbers of the first packets, starting with 1.
    public var packets: [Int]
    /// Microseconds since the first packet of the capture.
    public var time: Int64
    public var message: String
    /// Number of matches on the link, or on the links of the device.
    public var count = 1
    /// Numbers of the links of all matches.
    public var links: Set<Int> = []
    /// The part of the capture, such as a case of a run.
    var section = 0
    /// The device, or 0 for private addresses that no key resolves.
    var owner: Int?
    /// Text that differs between findings of the rule.
    var detail = ""
    /// The id of the rule that explains this finding, if it is a consequence.
    public var cause: String?

    init(rule: DiagnosisRule, link: Int?, device: Int?, packets: [Int], time: Int64, message: String) {
        (self.rule, self.link, self.device, self.packets, self.time, self.message) = (rule, link, device, packets, time, message)
        if let link { links = [link] }
    }
}
