import BBPackets

/// Takes HCI packets, each after an indicator octet, from the transfers of the bulk pipe in Bulk Serialization mode. Core Vol 4, Part B, 7.
///
/// A packet is one transfer (2.1.1). A packet in several transfers, which end with a full USB packet, and several packets in one transfer are
/// tolerated and counted. Octets that cannot start a packet, and a packet that a short USB packet cuts off, are a fault: they are dropped and
/// counted, and the next transfer is taken as a start.
public struct SerialisedFramer: Sendable {
    /// The end of the pipe that sends the packets.
    public enum Sender: Sendable {
        case host
        case controller
    }

    /// Octets that are not a packet.
    public struct Fault: Sendable, Equatable {
        public enum Cause: Sendable, Equatable {
            /// The indicator is reserved.
            case unknownIndicator(UInt8)
            /// The other end sends packets with this indicator.
            case wrongDirection(HCIPacket.Kind)
            case tooLong(HCIPacket.Kind, length: Int)
            /// The transfer ended before the packet; the number of missing octets, or nil if the header is incomplete.
            case cut(HCIPacket.Kind, missing: Int?)
        }

        public var cause: Cause
        /// The first octets, 16 at most.
        public var octets: [UInt8]
    }

    /// Number of consecutive faults after which the pipe is not expected to recover.
    public static let mostConsecutiveFaults = 8
    private static let mostOctetsShown = 16

    private let sender: Sender
    /// wMaxPacketSize of the endpoint; a transfer of another length has ended with a short USB packet.
    private let packetSize: Int
    /// Maximum packet length, header included.
    private let longest: Int
    private var pending: [UInt8] = []
    /// The transfer of the last fault continues in the next read.
    private var isSkipping = false
    /// The incomplete packet began in a transfer that has ended before its read was full.
    private var isSplit = false

    /// Number of faults, and of faults since the last packet.
    public private(set) var faults = 0
    public private(set) var consecutiveFaults = 0
    public private(set) var firstFault: Fault?
    /// Number of packets that shared a transfer with the one before. A packet after a full USB packet is not counted: without a zero-length
    /// packet, which nothing demands, a read does not end there.
    public private(set) var joined = 0
    /// Number of packets that took several transfers. A packet longer than a read is not counted.
    public private(set) var split = 0

    public init(from sender: Sender, packetSize: Int, longest: Int = 4 + 0xFFFF) {
        self.sender = sender
        self.packetSize = max(1, packetSize)
        self.longest = longest
    }

    /// Octets of an incomplete packet, with its indicator.
    public var pendingCount: Int { pending.count }
    /// True after `mostConsecutiveFaults` without a packet in between.
    public var isLost: Bool { consecutiveFaults >= Self.mostConsecutiveFaults }

    /// Adds the octets of a read and delivers the packets that are complete.
    ///
    /// - Parameter capacity: size of the read's buffer; a transfer that fills it may continue in the next read.
    public mutating func append(_ read: UnsafeRawBufferPointer, capacity: Int = .max, _ deliver: (HCIPacket) -> Void) {
        let mayContinue = read.count >= capacity
        if isSkipping {
            isSkipping = mayContinue
            return
        }
        let before = pending.count
        pending.append(contentsOf: read)
        var start = 0
        while start < pending.count {
            switch beginning(at: start) {
            case .success(let (kind, length?)) where pending.count - start >= 1 + length:
                deliver(HCIPacket(kind, Array(pending[start + 1..<start + 1 + length])))
                consecutiveFaults = 0
                if start > 0 { if !(start - before).isMultiple(of: packetSize) { joined += 1 } } else if isSplit { split += 1 }
                isSplit = false
                start += 1 + length
                continue
            case .success(let (kind, length)):
                if read.count.isMultiple(of: packetSize), !read.isEmpty { break }
                return fail(.cut(kind, missing: length.map { $0 + 1 - (pending.count - start) }), at: start)
            case .failure(let unfit):
                fail(unfit.cause, at: start)
                isSkipping = mayContinue
                return
            }
            break
        }
        pending.removeFirst(start)
        if !pending.isEmpty, !mayContinue { isSplit = true }
    }

    /// Drops an incomplete packet, after an error on the pipe or a change of its setting.
    public mutating func restart() {
        pending = []
        (isSkipping, isSplit, consecutiveFaults) = (false, false, 0)
    }

    private struct Unfit: Error { var cause: Fault.Cause }

    /// Kind and length of the packet that starts with an indicator; the length is nil while its header is incomplete.
    private func beginning(at start: Int) -> Result<(HCIPacket.Kind, Int?), Unfit> {
        guard let kind = HCIPacket.Kind(rawValue: pending[start]) else { return .failure(Unfit(cause: .unknownIndicator(pending[start]))) }
        guard kind != (sender == .host ? .event : .command) else { return .failure(Unfit(cause: .wrongDirection(kind))) }
        let length = kind.packetLength(in: pending.span.bytes.extracting(droppingFirst: start + 1))
        guard let length, length > longest else { return .success((kind, length)) }
        return .failure(Unfit(cause: .tooLong(kind, length: length)))
    }

    private mutating func fail(_ cause: Fault.Cause, at start: Int) {
        if firstFault == nil { firstFault = Fault(cause: cause, octets: Array(pending[start...].prefix(Self.mostOctetsShown))) }
        (pending, isSplit) = ([], false)
        faults += 1
        consecutiveFaults += 1
    }
}

extension HCIPacket {
    /// The packet as a transfer of Bulk Serialization mode, which begins with the indicator octet. Core Vol 4, Part B, 7.
    public var serialised: [UInt8] { h4 }
}

extension SerialisedFramer.Fault: CustomStringConvertible {
    public var description: String {
        let shown = octets.map(hexadecimal).joined(separator: " ")
        let text =
            switch cause {
            case .unknownIndicator(let octet): "packet indicator 0x\(hexadecimal(octet)) is reserved"
            case .wrongDirection(let kind): "a packet with the indicator of a packet of the other end (\(kind))"
            case .tooLong(let kind, let length): "\(kind) packet of \(length) octets is too long"
            case .cut(let kind, let missing?): "\(kind) packet ends \(missing) octet\(missing == 1 ? "" : "s") too early"
            case .cut(let kind, nil): "\(kind) packet ends within its header"
            }
        return "\(text): \(shown)"
    }
}
