/// File formats of captures.
public enum CaptureFormat: String, Sendable, Hashable, CaseIterable {
    /// btsnoop of Android and BlueZ; written with datalink 1002 (H4).
    case btsnoop
    case pcapng
    /// PacketLogger of Apple.
    case packetLogger = "pklg"
    /// Classic libpcap; read only.
    case pcap
    /// hcidump of old BlueZ versions; read only.
    case hcidump
    /// Text with whole packets in hexadecimal, or with the Bluetooth log of a bug report; read only.
    case log

    /// The writable format for a file name extension.
    public init?(extensionOf path: String) {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        guard let dot = name.lastIndex(of: ".") else { return nil }
        switch name[name.index(after: dot)...].lowercased() {
        case "btsnoop", "snoop", "log": self = .btsnoop
        case "pcapng": self = .pcapng
        case "pklg": self = .packetLogger
        default: return nil
        }
    }
}
