import BBHost
import BBPackets
import BBTraffic

/// A data length below the requested one that the subject limits: it never sends, or does not receive, longer link layer packets. Core
/// Vol 6, Part B, 4.5.10.
struct ShortDataLength: Hashable {
    /// Octets that this side's controller and the row allow.
    var wanted: Int
    var text: String

    /// The same link with the wanted data length.
    func lengthened(_ link: LinkParameters) -> LinkParameters {
        var link = link
        (link.octets, link.time) = (wanted, max(link.time, link.phy.longestTime))
        return link
    }
}

extension LinkSetup {
    /// The data length of `link` if the subject keeps it below the requested one; nil otherwise.
    func shortDataLength(_ link: LinkParameters, of subject: String) -> ShortDataLength? {
        let own = tester.host.controller.maximumDataLength
        let isFromSubject = Self.isFromSubject(request)
        let wanted = min(request.dataLength, Int(isFromSubject ? own.rxOctets : own.txOctets))
        guard link.octets < wanted else { return nil }
        return ShortDataLength(wanted: wanted, text: "the \(subject) \(isFromSubject ? "sends" : "receives") \(link.octets) octets at most")
    }
}
