import BBCases
import BBPackets
import BBTraffic

/// A conclusion that a watch draws from packets.
struct Observation {
    var conclusion: Conclusion
    var fields: [(String, CaseValue)]
    /// The packet that it names; the current one if nil.
    var packet: Int?
    /// The device that it is about, if it is about no link.
    var device: DeviceAddress?

    init(_ conclusion: Conclusion, _ fields: [(String, CaseValue)], packet: Int? = nil, device: DeviceAddress? = nil) {
        (self.conclusion, self.fields, self.packet, self.device) = (conclusion, fields, packet, device)
    }

    /// A request without an answer until the end of a link or of the capture.
    static func unanswered(_ name: String, _ sent: Moment, _ now: Moment) -> Observation {
        Observation(
            .requestUnanswered,
            [
                ("Request", .text(name)), ("Waited", .milliseconds(now.time - sent.time)), ("From", .text("unknown")),
                ("Ended", .text("other")),
            ], packet: sent.packet)
    }
}
