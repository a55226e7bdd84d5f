import BBCZlib

/// Octets expanded from a deflate stream. RFC 1950 to 1952.
final class Inflater: OctetStream {
    enum Wrapper: Int32 {
        case none = -15
        case zlib = 15
        case gzip = 31
    }

    /// Most octets of one stream: an archive that expands to more is refused.
    static let most = 8 << 30
    private static let pieceLength = 1 << 16

    private let source: FileSource
    private let wrapper: Wrapper
    private let most: Int
    private let state: UnsafeMutablePointer<z_stream>
    private var expanded = 0
    private var isAtEnd = false

    /// - Parameter most: error after this number of octets.
    init(_ source: FileSource, _ wrapper: Wrapper, most: Int = Inflater.most) {
        (self.source, self.wrapper, self.most) = (source, wrapper, most)
        state = .allocate(capacity: 1)
        state.initialize(to: z_stream())
        isAtEnd = inflateInit2_(state, wrapper.rawValue, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) != Z_OK
    }

    deinit {
        inflateEnd(state)
        state.deallocate()
    }

    func read(_ count: Int) throws(CaptureError) -> [UInt8] {
        while !isAtEnd {
            let input = try source.peek(Self.pieceLength)
            let (octets, used, code) = inflate(input, count)
            _ = try source.skip(used)
            expanded += octets.count
            if expanded > most { throw malformed("it expands to more than \(most >> 20) MB") }
            switch code {
            case Z_STREAM_END: try endMember()
            case Z_OK, Z_BUF_ERROR:
                if octets.isEmpty, used == 0 {
                    guard input.isEmpty else { throw malformed("its compressed data is invalid") }
                    // What was expanded before the end of a file that is cut off has been delivered.
                    throw .truncated(path: source.path, offset: source.offset, packetsBefore: 0)
                }
            default: throw malformed("its compressed data is invalid")
            }
            if !octets.isEmpty { return octets }
        }
        return []
    }

    /// A gzip file may have several members.
    private func endMember() throws(CaptureError) {
        guard wrapper == .gzip, try source.peek(2).elementsEqual(Archive.gzipMagic.prefix(2)), inflateReset(state) == Z_OK else {
            isAtEnd = true
            return
        }
    }

    private func inflate(_ input: ArraySlice<UInt8>, _ count: Int) -> (octets: [UInt8], used: Int, code: Int32) {
        var (used, code) = (0, Z_OK)
        let octets = [UInt8](unsafeUninitializedCapacity: count) { room, filled in
            input.withUnsafeBufferPointer { octets in
                state.pointee.next_in = UnsafeMutablePointer(mutating: octets.baseAddress)
                state.pointee.avail_in = UInt32(octets.count)
                state.pointee.next_out = room.baseAddress
                state.pointee.avail_out = UInt32(clamping: room.count)
                code = BBCZlib.inflate(state, Z_NO_FLUSH)
                used = octets.count - Int(state.pointee.avail_in)
                filled = count - Int(state.pointee.avail_out)
            }
        }
        return (octets, used, code)
    }

    private func malformed(_ reason: String) -> CaptureError { .malformed(path: source.path, offset: source.offset, reason: reason) }
}
