import Packets

/// K-frames of one direction of a credit-based channel, put together to SDUs. Core Vol 3, Part A, 3.4.3.
public struct KFrameReassembly: Sendable {
    public enum Outcome: Sendable, Equatable {
        /// Octets of the frame that belong to an SDU that is not complete.
        case part
        case sdu([UInt8])
        case fault(Fault)
    }

    public enum Fault: Sendable, Equatable {
        /// Too short for the SDU length that it begins with.
        case noLength
        case tooLong
    }

    /// Octets of the SDU length before an SDU.
    public static let lengthOctets = 2

    private var sdu: [UInt8] = []
    private var length: Int?

    public init() {}

    /// True if the next frame begins an SDU.
    public var isBetweenSDUs: Bool { length == nil }

    /// Processes a received K-frame.
    ///
    /// - Parameter mtu: the longest SDU that may come.
    public mutating func take(_ frame: borrowing RawSpan, mtu: Int = 0xFFFF) -> Outcome {
        var start = 0
        if length == nil {
            guard frame.byteCount >= Self.lengthOctets else { return .fault(.noLength) }
            let announced = Int(frame.u16(at: 0))
            guard announced <= mtu else { return .fault(.tooLong) }
            (length, start) = (announced, Self.lengthOctets)
        }
        guard let length, sdu.count + frame.byteCount - start <= length else {
            discard()
            return .fault(.tooLong)
        }
        frame.extracting(start...).withUnsafeBytes { sdu.append(contentsOf: $0) }
        guard sdu.count == length else { return .part }
        defer { discard() }
        return .sdu(sdu)
    }

    /// Drops the SDU under way.
    public mutating func discard() { (sdu, length) = ([], nil) }
}
