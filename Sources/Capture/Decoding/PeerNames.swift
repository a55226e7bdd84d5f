import BBPackets

/// Names of devices by address, from advertising data, inquiry results and remote name requests.
struct PeerNames {
    private var names: [UInt64: String] = [:]
    /// Number of names learned.
    private(set) var learned = 0
    private static let most = 1_024
    private static let longest = 40

    subscript(address: UInt64) -> String? { names[address] }

    mutating func set(_ name: String, of address: UInt64) {
        guard !name.isEmpty, names[address] != name else { return }
        if names[address] == nil, names.count >= Self.most { names.removeAll() }
        names[address] = name
        learned += 1
    }

    /// True for events that may show the name of a device.
    static func areShown(by event: HCIPacket) -> Bool {
        switch event.eventCode {
        case HCIEvents.RemoteNameRequestComplete.code, HCIEvents.ExtendedInquiryResult.code: true
        default: reports.contains(event.leSubevent)
        }
    }

    private static let reports: Set<UInt8?> = [HCIEvents.LEAdvertisingReport.subevent, HCIEvents.LEExtendedAdvertisingReport.subevent]

    /// Learns from an event.
    mutating func note(_ event: DecodedLayer) {
        switch event.name {
        case HCIEvents.LEAdvertisingReport.name, HCIEvents.LEExtendedAdvertisingReport.name:
            for report in event.fields.named("Reports")?.children ?? [] {
                guard let address = report.children.named("Address")?.integer,
                    let name = Self.advertised(report.children.named("Data")?.children ?? [])
                else { continue }
                set(name, of: UInt64(truncatingIfNeeded: address))
            }
        case HCIEvents.RemoteNameRequestComplete.name, HCIEvents.ExtendedInquiryResult.name:
            let found =
                event.fields.named("Remote_Name")?.octets.map(Self.text)
                ?? Self.advertised(event.fields.named("Extended_Inquiry_Response")?.children ?? [])
            guard let name = found, let address = event.fields.named("BD_ADDR")?.integer else { return }
            set(name, of: UInt64(truncatingIfNeeded: address))
        default: break
        }
    }

    private static func advertised(_ data: [DecodedField]) -> String? {
        (data.named("Complete_Local_Name") ?? data.named("Shortened_Local_Name"))?.octets.map(text)
    }

    /// A name up to its first zero, safe for terminals and bounded.
    static func text(_ octets: [UInt8]) -> String {
        String(PlainText.escaped(String(decoding: octets.prefix { $0 != 0 }, as: UTF8.self)).prefix(longest))
    }
}
