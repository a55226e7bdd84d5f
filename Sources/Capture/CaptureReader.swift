/// Reads a capture file of any known format, packet by packet, with bounded memory.
public final class CaptureReader {
    public let path: String
    public let format: CaptureFormat
    /// The interfaces found so far.
    public var interfaces: [CaptureInterface] { input.interfaces }
    /// Number of records read.
    public var count: Int { input.packets }

    /// A sentence about the file that was chosen in an archive; nil without an archive.
    public let remark: String?

    private let input: RecordInput
    private var decoder: any RecordDecoder
    /// True if the format has packets without a direction.
    private let isWithoutDirections: Bool
    private var directions = DirectionFinder()

    /// Opens a file and detects its format. A file in an archive is named after it, as `bugreport.zip/FS/data/btsnoop_hci.log`; without a
    /// name the likeliest is taken.
    ///
    /// - Parameter onEnd: called at the end of the file, where it may wait; true to read on, because the file may have grown.
    /// - Throws: `cannotOpen`, `unknownFormat`, `withoutPackets`, or `truncated` or `malformed` if its header is invalid.
    public init(path: String, onEnd: (() -> Bool)? = nil) throws(CaptureError) {
        let opened = try OpenedCapture(path: path, onEnd: onEnd)
        (self.path, format, remark, input, decoder) = (path, opened.format, opened.remark, opened.input, opened.decoder)
        isWithoutDirections = [.pcap, .pcapng, .log].contains(format)
    }

    /// True if there is a regular file at the path, or an archive that the path begins with.
    public static func isFile(_ path: String) -> Bool { OpenedCapture.file(of: path) != nil }

    /// The next record; nil at the end of the file.
    ///
    /// - Throws: `truncated` if the file ends within a packet, `malformed` if it cannot be parsed. All earlier records have been returned.
    public func next() throws(CaptureError) -> CaptureRecord? {
        guard var record = try decoder.next() else { return nil }
        input.packets += 1
        if isWithoutDirections, input.interfaces.indices.contains(record.interface), interfaces[record.interface].linkType == .h4 {
            directions.complete(&record.content)
        }
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
