import BBPackets

// Reserved bits that some controllers use.

extension EventMask {
    /// A reserved bit. LE controllers of one manufacturer send Number Of Completed Packets only if it is set, as it is by default after
    /// HCI_Reset. Core Vol 4, Part E, 7.3.1.
    public static let numberOfCompletedPackets = EventMask(rawValue: 1 << 18)
}

extension HCIEvents.LEAdvertisingReport.Report {
    /// Mask of the defined bits of Event_Type. Core Vol 4, Part E, 7.7.65.2.
    private static let types: UInt8 = 0x07

    public var withoutReservedBits: Self {
        var report = self
        report.eventType = AdvertisingReportType(rawValue: eventType.rawValue & Self.types)
        return report
    }
}

extension HCIEvents.LEExtendedAdvertisingReport.Report {
    /// Masks of the defined bits of Event_Type and PHY. Core Vol 4, Part E, 7.7.65.13.
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
    /// The advertising report without its reserved bits; nil if none is set, and for any other packet.
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
