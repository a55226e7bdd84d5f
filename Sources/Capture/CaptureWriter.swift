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
    public convenience init(path: String, format: CaptureFormat? = nil, isSecret: Bool = false) throws(CaptureError) {
        guard let format = format ?? CaptureFormat(extensionOf: path) else { throw .unknownExtension(path: path) }
        let encoder = try Self.encoder(format, path)
        try self.init(path, format, encoder, try FileSink(path: path, isSecret: isSecret))
    }

    /// Creates a capture whose octets are handed on instead of written to a file.
    ///
    /// - Throws: `unsuitable` for a read-only format.
    public convenience init(_ format: CaptureFormat, into take: @escaping ([UInt8]) -> Void) throws(CaptureError) {
        let name = "a capture"
        try self.init(name, format, try Self.encoder(format, name), FileSink(name, take))
    }

    private init(_ path: String, _ format: CaptureFormat, _ encoder: any RecordEncoder, _ sink: FileSink) throws(CaptureError) {
        (self.path, self.format, self.encoder, self.sink) = (path, format, encoder, sink)
        let preamble = encoder.preamble
        try sink.write { $0.append(contentsOf: preamble) }
        try sink.flush()
    }

    private static func encoder(_ format: CaptureFormat, _ path: String) throws(CaptureError) -> any RecordEncoder {
        switch format {
        case .btsnoop: BTSnoopEncoder()
        case .pcapng: PcapNGEncoder()
        case .packetLogger: PacketLoggerEncoder()
        case .pcap, .hcidump, .log: throw .unsuitable(path: path, reason: "\(format.rawValue) is only read, never written")
        }
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
