import BBPackets

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
        /// The SDU length exceeds the MTU.
        case tooLong
        /// The frames have more octets than the SDU length says.
        case lengthExceeded
    }

    /// Octets of the SDU length before an SDU.
    public static let lengthOctets = 2

    /// The effect of a K-frame, without the SDU.
    public enum Step: Sendable, Equatable {
        case part
        /// The frame is the whole SDU: its octets after the SDU length.
        case whole
        /// The last frame of an SDU, which `takeSDU` returns.
        case completed
        case fault(Fault)
    }

    private var sdu: [UInt8] = []
    private var length: Int?

    public init() {}

    /// True if the next frame begins an SDU.
    public var isBetweenSDUs: Bool { length == nil }

    /// Processes a received K-frame.
    ///
    /// - Parameter mtu: the longest SDU that may come.
    public mutating func take(_ frame: borrowing RawSpan, mtu: Int = 0xFFFF) -> Outcome {
        switch step(frame, mtu: mtu) {
        case .part: return .part
        case .completed: return .sdu(takeSDU())
        case .fault(let fault): return .fault(fault)
        case .whole:
            var octets: [UInt8] = []
            frame.extracting(Self.lengthOctets...).withUnsafeBytes { octets.append(contentsOf: $0) }
            return .sdu(octets)
        }
    }

    /// Processes a received K-frame without an array for an SDU of one frame.
    ///
    /// - Parameter mtu: the longest SDU that may come.
    public mutating func step(_ frame: borrowing RawSpan, mtu: Int = 0xFFFF) -> Step {
        var start = 0
        if length == nil {
            guard frame.byteCount >= Self.lengthOctets else { return .fault(.noLength) }
            let announced = Int(frame.u16(at: 0))
            guard announced <= mtu else { return .fault(.tooLong) }
            if frame.byteCount == announced + Self.lengthOctets { return .whole }
            (length, start) = (announced, Self.lengthOctets)
        }
        guard let length, sdu.count + frame.byteCount - start <= length else {
            discard()
            return .fault(.lengthExceeded)
        }
        frame.extracting(start...).withUnsafeBytes { sdu.append(contentsOf: $0) }
        return sdu.count == length ? .completed : .part
    }

    /// Returns the complete SDU; the next frame begins another.
    public mutating func takeSDU() -> [UInt8] {
        defer { discard() }
        return sdu
    }

    /// Keeps the memory of an SDU for the next one.
    public mutating func reuse(_ taken: consuming [UInt8]) {
        guard sdu.isEmpty, length == nil else { return }
        sdu = taken
        sdu.removeAll(keepingCapacity: true)
    }

    /// Drops the SDU under way.
    public mutating func discard() { (sdu, length) = ([], nil) }
}
