import BBPackets

/// Joins the fragments in which a controller reports the data of an extended advertisement. The controller chooses their sizes. Core Vol 4,
/// Part E, 7.7.65.13.
struct ReportFragments {
    private typealias Report = HCIEvents.LEExtendedAdvertisingReport.Report

    private struct Advertiser: Hashable {
        var address: BDADDR
        var type: AddressType
        var set: UInt8
        var isResponse: Bool
    }

    private static let scanResponse: UInt16 = 0x08
    private static let dataStatus: UInt16 = 0x60
    private static let moreToCome: UInt16 = 0x20
    /// The largest number of data octets in a report.
    private static let most = 229
    private var begun: [Advertiser: [UInt8]] = [:]

    /// Returns the event with all the data for the last fragment of an advertisement, if a report can contain it; other packets unchanged.
    mutating func joined(_ packet: HCIPacket) -> HCIPacket {
        guard var event = try? packet.event(as: HCIEvents.LEExtendedAdvertisingReport.self) else { return packet }
        var isChanged = false
        for index in event.reports.indices where take(&event.reports[index]) { isChanged = true }
        return isChanged ? HCIPacket(event: event) : packet
    }

    private mutating func take(_ report: inout Report) -> Bool {
        let advertiser = Advertiser(
            address: report.address, type: report.addressType, set: report.advertisingSID,
            isResponse: report.eventType & Self.scanResponse != 0)
        let data = begun.removeValue(forKey: advertiser) ?? []
        guard report.eventType & Self.dataStatus != Self.moreToCome else {
            begun[advertiser] = data + report.data
            return false
        }
        guard !data.isEmpty, data.count + report.data.count <= Self.most else { return false }
        report.data = data + report.data
        return true
    }
}
