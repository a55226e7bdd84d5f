/// Writes a capture file through a bounded buffer; `flush()` empties the buffer.
public final class CaptureWriter {
    public let path: String
    public let format: CaptureFormat
    /// Number of records written. The next record has this number plus 1.
    public private(set) var count = 0
    public private(set) var interfaces: [CaptureInterface] = []

    private let sink: FileSink
    private let encoder: any RecordEncoder

    /// Creates the file.
    ///
    /// - Parameters:
    ///   - format: nil to choose by the file name extension.
    ///   - isSecret: restrict access to the owner, because the file contains keys.
    /// - Throws: `unknownExtension`, `cannotOpen`, or `unsuitable` for a read-only format.
    public init(path: String, format: CaptureFormat? = nil, isSecret: Bool = false) throws(CaptureError) {
        guard let format = format ?? CaptureFormat(extensionOf: path) else { throw .unknownExtension(path: path) }
        switch format {
        case .btsnoop: encoder = BTSnoopEncoder()
        case .pcapng: encoder = PcapNGEncoder()
        case .packetLogger: encoder = PacketLoggerEncoder()
        case .pcap, .hcidump: throw .unsuitable(path: path, reason: "\(format.rawValue) is only read, never written")
        }
        self.path = path
        self.format = format
        sink = try FileSink(path: path, isSecret: isSecret)
        let preamble = encoder.preamble
        try sink.write { $0.append(contentsOf: preamble) }
        try sink.flush()
    }

    /// Adds an interface and returns its index for later records.
    ///
    /// - Throws: `unsuitable` if the format does not support the link type; `writeFailed`.
    public func addInterface(_ interface: CaptureInterface) throws(CaptureError) -> Int {
        guard format == .pcapng || interface.linkType == .h4WithDirection else {
            throw .unsuitable(path: path, reason: "\(format.rawValue) carries only HCI; the air needs pcapng")
        }
        interfaces.append(interface)
        let announcement = encoder.announcement(of: interface)
        try sink.write { $0.append(contentsOf: announcement) }
        return interfaces.count - 1
    }

    /// Appends a record and returns its number in the file, starting with 1.
    ///
    /// - Throws: `unsuitable` if the format does not support the record, or its interface was not added; `writeFailed`.
    @discardableResult
    public func write(_ record: CaptureRecord) throws(CaptureError) -> Int {
        guard format != .pcapng || record.interface < interfaces.count else {
            throw .unsuitable(path: path, reason: "interface \(record.interface) was not added")
        }
        var isWritten = false
        try sink.write { isWritten = encoder.append(record, to: &$0) }
        guard isWritten else { throw .unsuitable(path: path, reason: "\(format.rawValue) has no place for this record") }
        count += 1
        return count
    }

    /// Flushes buffered packets to the file.
    public func flush() throws(CaptureError) { try sink.flush() }

    /// Flushes and closes the file; nothing can be written afterwards.
    public func finish() throws(CaptureError) { try sink.finish() }
}
