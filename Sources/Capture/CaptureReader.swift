/// Reads a capture file of any known format, packet by packet, with bounded memory.
public final class CaptureReader {
    public let path: String
    public let format: CaptureFormat
    /// The interfaces found so far.
    public var interfaces: [CaptureInterface] { input.interfaces }
    /// Number of records read.
    public var count: Int { input.packets }

    private let input: RecordInput
    private var decoder: any RecordDecoder

    /// Opens a file and detects its format.
    ///
    /// - Parameter onEnd: called at the end of the file, where it may wait; true to read on, because the file may have grown.
    /// - Throws: `cannotOpen`, `unknownFormat`, or `truncated` or `malformed` if its header is invalid.
    public init(path: String, onEnd: (() -> Bool)? = nil) throws(CaptureError) {
        self.path = path
        let source = try FileSource(path: path)
        input = RecordInput(source)
        if let onEnd {
            // The header and a record may not be written yet.
            source.onEnd = onEnd
            _ = try source.peek(Self.shortestFile)
            source.onEnd = nil
        }
        let prefix = try source.peek(Self.recognitionLength)
        let isWhole = prefix.count < Self.recognitionLength && onEnd == nil
        if prefix.starts(with: BTSnoop.magic) {
            format = .btsnoop
            decoder = try BTSnoopDecoder(input)
        } else if prefix.number(UInt32.self, at: 0, big: true) == PcapNG.Block.sectionHeader {
            format = .pcapng
            decoder = PcapNGDecoder(input)
        } else if let (big, nanoseconds) = PcapDecoder.recognise(prefix) {
            format = .pcap
            decoder = try PcapDecoder(input, big: big, nanoseconds: nanoseconds)
        } else if PacketLogger.recognises(prefix, isWhole: isWhole, big: true) {
            format = .packetLogger
            decoder = PacketLoggerDecoder(input, big: true)
        } else if HCIDumpDecoder.recognises(prefix, isWhole: isWhole) {
            format = .hcidump
            decoder = HCIDumpDecoder(input)
        } else if PacketLogger.recognises(prefix, isWhole: isWhole, big: false) {
            format = .packetLogger
            decoder = PacketLoggerDecoder(input, big: false)
        } else {
            throw .unknownFormat(path: path)
        }
        if let onEnd { source.onEnd = onEnd }
    }

    private static let recognitionLength = 4096
    /// No format has a longer file header.
    private static let shortestFile = 32

    /// The next record; nil at the end of the file.
    ///
    /// - Throws: `truncated` if the file ends within a packet, `malformed` if it cannot be parsed. All earlier records have been returned.
    public func next() throws(CaptureError) -> CaptureRecord? {
        guard let record = try decoder.next() else { return nil }
        input.packets += 1
        return record
    }

    /// All records of a file, and the error that ended it early, if any.
    public static func readAll(_ path: String) throws(CaptureError) -> (records: [CaptureRecord], failure: CaptureError?) {
        let reader = try CaptureReader(path: path)
        var records: [CaptureRecord] = []
        do {
            while let record = try reader.next() { records.append(record) }
        } catch {
            return (records, error)
        }
        return (records, nil)
    }
}
