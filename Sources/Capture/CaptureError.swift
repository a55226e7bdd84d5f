/// Error of a capture file. Packets read or written before the error are valid.
public enum CaptureError: Error, Sendable, Equatable {
    case cannotOpen(path: String, reason: String)
    case readFailed(path: String, reason: String)
    /// The disk is full, the reader of the pipe is gone, or similar.
    case writeFailed(path: String, reason: String)
    /// The file has no known format.
    case unknownFormat(path: String)
    /// The file name extension is not that of a writable format.
    case unknownExtension(path: String)
    /// The file ends within a packet.
    case truncated(path: String, offset: Int, packetsBefore: Int)
    /// A length or field in the file is invalid.
    case malformed(path: String, offset: Int, reason: String)
    /// The file is known, and has no packets that can be read.
    case withoutPackets(path: String, what: CaptureHint)
    /// The format cannot contain this kind of packet.
    case unsuitable(path: String, reason: String)
}

extension CaptureError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .cannotOpen(let path, let reason): "cannot open \(path): \(reason)"
        case .readFailed(let path, let reason): "cannot read \(path): \(reason)"
        case .writeFailed(let path, let reason): "cannot write \(path): \(reason); the packets before are kept"
        case .unknownFormat(let path):
            "\(path) is not a capture: use btsnoop, pcapng, pcap, PacketLogger, hcidump, a log with whole packets, or an archive of them"
        case .withoutPackets(let path, let what): "\(path) \(what.rawValue)"
        case .unknownExtension(let path): "\(path): name a capture .btsnoop, .pcapng or .pklg"
        case .truncated(let path, let offset, let packets): "\(path) is cut off at byte \(offset), after \(packets) packets"
        case .malformed(let path, let offset, let reason): "\(path) is damaged at byte \(offset): \(reason)"
        case .unsuitable(let path, let reason): "\(path): \(reason)"
        }
    }
}

/// The kind of a file without readable packets, and the next step.
public enum CaptureHint: String, Sendable, Hashable, CaseIterable {
    case btmon = "is text of btmon, which has no whole packets: record with `btmon -w FILE`"
    case hcidump = "is text of hcidump without octets: record with `hcidump -w FILE`, or print with `hcidump -R`"
    case bumble = "is a log of Bumble with decoded packets: record with BUMBLE_SNOOPER=btsnoop:file:FILE"
    case bugReport = "is a bug report without a Bluetooth log: enable the HCI snoop log, restart Bluetooth, and repeat"
    case eventTrace = "is an event trace of Windows: convert it with BTETLParse of the Bluetooth Test Platform, or record with BTVS"
    case text = "is text without HCI packets: use a log with whole packets in hexadecimal"
}
