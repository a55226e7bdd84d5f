import BBPackets

/// Finds the frames in a stream of octets, in whatever pieces it arrives.
public struct BTPFramer: Sendable {
    /// A frame that is too long; the stream cannot be followed any more.
    public struct TooLong: Error, Equatable {
        public var length: Int
        public var limit: Int

        public init(length: Int, limit: Int) { (self.length, self.limit) = (length, limit) }
    }

    /// Maximum data octets of a frame.
    public let limit: Int
    private var rest: [UInt8] = []

    public init(limit: Int = 65_535) { self.limit = limit }

    /// True in the middle of a frame.
    public var isInside: Bool { !rest.isEmpty }

    /// Takes octets and returns the frames that are complete.
    public mutating func receive(_ octets: some Sequence<UInt8>) throws(TooLong) -> [BTPFrame] {
        rest += octets
        var frames: [BTPFrame] = []
        var start = 0
        while rest.count - start >= BTPFrame.headerLength {
            let length = Int(rest[start + 3]) | Int(rest[start + 4]) << 8
            guard length <= limit else { throw TooLong(length: length, limit: limit) }
            let end = start + BTPFrame.headerLength + length
            guard end <= rest.count else { break }
            frames.append(
                BTPFrame(
                    BTPService(rawValue: rest[start]), rest[start + 1], index: rest[start + 2],
                    data: Array(rest[(start + BTPFrame.headerLength)..<end])))
            start = end
        }
        rest.removeFirst(start)
        return frames
    }
}
