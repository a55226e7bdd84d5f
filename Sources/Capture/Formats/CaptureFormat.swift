/// The file formats that captures come in.
public enum CaptureFormat: String, Sendable, Hashable, CaseIterable {
    /// Android's and BlueZ's btsnoop; written with datalink 1002 (H4).
    case btsnoop
    case pcapng
    /// Apple's PacketLogger.
    case packetLogger = "pklg"
    /// Classic libpcap; read only.
    case pcap
    /// BlueZ's old hcidump; read only.
    case hcidump

    /// The format that a file is written in, by the end of its name.
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
