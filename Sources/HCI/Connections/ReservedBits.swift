import Packets

// Bits that are reserved for future use, and that some controllers use all the same.

extension EventMask {
    /// Reserved, but LE controllers of one maker send Number Of Completed Packets only with this bit, which is set after HCI_Reset everywhere.
    /// Core Vol 4, Part E, 7.3.1.
    public static let numberOfCompletedPackets = EventMask(rawValue: 1 << 18)
}

extension HCIEvents.LEAdvertisingReport.Report {
    /// Event_Type has values that need so many bits. Core Vol 4, Part E, 7.7.65.2.
    private static let types: UInt8 = 0x07

    public var withoutReservedBits: Self {
        var report = self
        report.eventType = AdvertisingReportType(rawValue: eventType.rawValue & Self.types)
        return report
    }
}

extension HCIEvents.LEExtendedAdvertisingReport.Report {
    /// Event_Type has so many bits, a PHY so many. Core Vol 4, Part E, 7.7.65.13.
    private static let types: UInt16 = 0x007F
    private static let phys: UInt8 = 0x1F

    public var withoutReservedBits: Self {
        var report = self
        report.eventType &= Self.types
        report.primaryPHY &= Self.phys
        report.secondaryPHY &= Self.phys
        return report
    }
}

extension HCIPacket {
    /// The same advertising report without reserved bits; nil where none is set, and for every other packet.
    public var reportWithoutReservedBits: HCIPacket? {
        if let event = try? event(as: HCIEvents.LEAdvertisingReport.self) {
            let reports = event.reports.map(\.withoutReservedBits)
            return reports == event.reports ? nil : HCIPacket(event: HCIEvents.LEAdvertisingReport(reports: reports))
        }
        if let event = try? event(as: HCIEvents.LEExtendedAdvertisingReport.self) {
            let reports = event.reports.map(\.withoutReservedBits)
            return reports == event.reports ? nil : HCIPacket(event: HCIEvents.LEExtendedAdvertisingReport(reports: reports))
        }
        return nil
    }
}
