import Packets

/// Names of devices by address, from advertising data, inquiry results and remote name requests.
struct PeerNames {
    private var names: [UInt64: String] = [:]
    private static let most = 1_024
    private static let longest = 40

    subscript(address: UInt64) -> String? { names[address] }

    /// Sets a name; returns true if it is new.
    mutating func set(_ name: String, of address: UInt64) -> Bool {
        guard !name.isEmpty, names[address] != name else { return false }
        if names[address] == nil, names.count >= Self.most { names.removeAll() }
        names[address] = name
        return true
    }

    /// Learns from an event; returns true if it shows a new name.
    mutating func note(_ event: DecodedLayer) -> Bool {
        switch event.name {
        case "LE_Advertising_Report", "LE_Extended_Advertising_Report":
            var isNew = false
            for report in event.fields.named("Reports")?.children ?? [] {
                guard let address = report.children.named("Address")?.integer,
                    let name = Self.advertised(report.children.named("Data")?.children ?? [])
                else { continue }
                isNew = set(name, of: UInt64(truncatingIfNeeded: address)) || isNew
            }
            return isNew
        case "Remote_Name_Request_Complete", "Extended_Inquiry_Result":
            guard let address = event.fields.named("BD_ADDR")?.integer else { return false }
            let found =
                event.fields.named("Remote_Name")?.octets.map(Self.text)
                ?? Self.advertised(event.fields.named("Extended_Inquiry_Response")?.children ?? [])
            return found.map { set($0, of: UInt64(truncatingIfNeeded: address)) } ?? false
        default: return false
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
