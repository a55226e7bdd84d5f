import BBPackets

/// The mode of a channel. Core Vol 3, Part A, 5.4.
///
/// Retransmission mode and flow control mode are not supported: they have been withdrawn from the specification.
public enum ChannelMode: UInt8, Sendable, Comparable {
    case basic = 0
    case enhancedRetransmission = 3
    case streaming = 4

    /// The order of the modes for negotiation: a side falls back from streaming to enhanced retransmission mode, and from both to basic mode.
    public static func < (a: ChannelMode, b: ChannelMode) -> Bool { a.rawValue < b.rawValue }
}

/// The retransmission and flow control option. Core Vol 3, Part A, 5.4.
public struct RetransmissionOption: Sendable, Equatable {
    /// A `ChannelMode`, or an unknown mode of the peer.
    public var mode: UInt8
    public var transmitWindow: UInt8 = 0
    public var maxTransmit: UInt8 = 0
    /// Milliseconds.
    public var retransmissionTimeOut: UInt16 = 0
    public var monitorTimeOut: UInt16 = 0
    /// Maximum PDU payload size.
    public var mps: UInt16 = 0

    public init(
        mode: UInt8, transmitWindow: UInt8 = 0, maxTransmit: UInt8 = 0, retransmissionTimeOut: UInt16 = 0, monitorTimeOut: UInt16 = 0,
        mps: UInt16 = 0
    ) {
        (self.mode, self.transmitWindow, self.maxTransmit) = (mode, transmitWindow, maxTransmit)
        (self.retransmissionTimeOut, self.monitorTimeOut, self.mps) = (retransmissionTimeOut, monitorTimeOut, mps)
    }
}

/// A flow specification. Core Vol 3, Part A, 5.3.
public struct QualityOfService: Sendable, Equatable {
    public enum ServiceType {
        public static let bestEffort: UInt8 = 1
        public static let guaranteed: UInt8 = 2
    }

    public var serviceType: UInt8
    /// Token rate, token bucket size, peak bandwidth, latency, delay variation.
    public var numbers: [UInt32]

    public init(serviceType: UInt8 = ServiceType.bestEffort, numbers: [UInt32] = [0, 0, 0, 0xFFFF_FFFF, 0xFFFF_FFFF]) {
        (self.serviceType, self.numbers) = (serviceType, numbers)
    }
}

/// An extended flow specification. Core Vol 3, Part A, 5.6.
public struct ExtendedFlowSpecification: Sendable, Equatable {
    public var identifier: UInt8 = 1
    public var serviceType = QualityOfService.ServiceType.bestEffort
    public var maximumSDU: UInt16 = 0xFFFF
    /// Microseconds.
    public var interArrivalTime: UInt32 = 0xFFFF_FFFF
    public var accessLatency: UInt32 = 0xFFFF_FFFF
    public var flushTimeout: UInt32 = 0xFFFF_FFFF

    public init(
        identifier: UInt8 = 1, serviceType: UInt8 = QualityOfService.ServiceType.bestEffort, maximumSDU: UInt16 = 0xFFFF,
        interArrivalTime: UInt32 = 0xFFFF_FFFF, accessLatency: UInt32 = 0xFFFF_FFFF, flushTimeout: UInt32 = 0xFFFF_FFFF
    ) {
        (self.identifier, self.serviceType, self.maximumSDU) = (identifier, serviceType, maximumSDU)
        (self.interArrivalTime, self.accessLatency, self.flushTimeout) = (interArrivalTime, accessLatency, flushTimeout)
    }
}

/// The configuration options of one direction. Core Vol 3, Part A, 5.
public struct ConfigurationOptions: Sendable, Equatable {
    public enum Kind {
        public static let mtu: UInt8 = 1
        public static let flushTimeout: UInt8 = 2
        public static let qualityOfService: UInt8 = 3
        public static let retransmission: UInt8 = 4
        public static let frameCheckSequence: UInt8 = 5
        public static let extendedFlowSpecification: UInt8 = 6
        public static let extendedWindowSize: UInt8 = 7
        /// An unknown option with this bit is ignored.
        public static let hint: UInt8 = 0x80
    }

    public var mtu: UInt16?
    /// In milliseconds; 0xFFFF is infinite.
    public var flushTimeout: UInt16?
    public var qualityOfService: QualityOfService?
    public var retransmission: RetransmissionOption?
    /// 0 no FCS, 1 16-bit FCS.
    public var frameCheckSequence: UInt8?
    public var extendedFlowSpecification: ExtendedFlowSpecification?
    public var extendedWindowSize: UInt16?
    /// The unknown types that are not hints, each once.
    public var unknown: [UInt8] = []

    public init() {}

    /// Decodes options; a repeated option replaces the one before it.
    ///
    /// - Throws: if an option is longer than the remaining octets or has the wrong length for its type.
    public init(_ octets: [UInt8]) throws(PDUError) {
        var reader = ByteReader(octets.span.bytes)
        while reader.remaining > 0 {
            let type = try reader.u8("Type")
            let length = Int(try reader.u8("Length"))
            guard length > 0 else {
                // An option of a known type is never empty, and there is nothing to store.
                guard type & ~Kind.hint > Kind.extendedWindowSize || type & ~Kind.hint == 0 else {
                    throw PDUError(field: "Length", offset: reader.offset - 1, problem: .short(needed: 1, left: 0))
                }
                note(unknown: type)
                continue
            }
            let outer = try reader.enter(length, "Option")
            try read(type, length, &reader)
            try reader.leave(outer, "Option")
        }
    }

    private mutating func read(_ type: UInt8, _ length: Int, _ reader: inout ByteReader) throws(PDUError) {
        switch type & ~Kind.hint {
        case Kind.mtu: mtu = try reader.u16("MTU")
        case Kind.flushTimeout: flushTimeout = try reader.u16("Flush_Timeout")
        case Kind.qualityOfService: qualityOfService = try Self.qualityOfService(&reader)
        case Kind.retransmission: retransmission = try Self.retransmission(&reader)
        case Kind.frameCheckSequence: frameCheckSequence = try reader.u8("FCS_Type")
        case Kind.extendedFlowSpecification: extendedFlowSpecification = try Self.extendedFlowSpecification(&reader)
        case Kind.extendedWindowSize: extendedWindowSize = try reader.u16("Max_Window_Size")
        default:
            try reader.skip(length, "Option")
            note(unknown: type)
        }
    }

    private mutating func note(unknown type: UInt8) {
        if type & Kind.hint == 0, !unknown.contains(type) { unknown.append(type) }
    }

    private static func qualityOfService(_ reader: inout ByteReader) throws(PDUError) -> QualityOfService {
        try reader.skip(1, "Flags")
        var quality = QualityOfService(serviceType: try reader.u8("Service_Type"), numbers: [])
        for _ in 0..<5 { quality.numbers.append(try reader.u32("Flow_Specification")) }
        return quality
    }

    private static func retransmission(_ reader: inout ByteReader) throws(PDUError) -> RetransmissionOption {
        RetransmissionOption(
            mode: try reader.u8("Mode"), transmitWindow: try reader.u8("TxWindow"), maxTransmit: try reader.u8("MaxTransmit"),
            retransmissionTimeOut: try reader.u16("Retransmission_Time_Out"), monitorTimeOut: try reader.u16("Monitor_Time_Out"),
            mps: try reader.u16("MPS"))
    }

    private static func extendedFlowSpecification(_ reader: inout ByteReader) throws(PDUError) -> ExtendedFlowSpecification {
        ExtendedFlowSpecification(
            identifier: try reader.u8("Identifier"), serviceType: try reader.u8("Service_Type"), maximumSDU: try reader.u16("Maximum_SDU"),
            interArrivalTime: try reader.u32("SDU_Inter_Arrival_Time"), accessLatency: try reader.u32("Access_Latency"),
            flushTimeout: try reader.u32("Flush_Timeout"))
    }
}

extension ConfigurationOptions {
    /// The encoded options; an option is never divided between two commands. Core Vol 3, Part A, 7.1.
    public var encoded: [[UInt8]] {
        var list: [[UInt8]] = []
        func option(_ type: UInt8, _ write: (inout ByteWriter) -> Void) {
            var value = ByteWriter()
            write(&value)
            list.append([type, UInt8(value.bytes.count)] + value.bytes)
        }
        if let mtu { option(Kind.mtu) { $0.u16(mtu) } }
        if let flushTimeout { option(Kind.flushTimeout) { $0.u16(flushTimeout) } }
        if let quality = qualityOfService {
            option(Kind.qualityOfService) {
                $0.u8(0)
                $0.u8(quality.serviceType)
                for number in quality.numbers { $0.u32(number) }
            }
        }
        if let retransmission { option(Kind.retransmission) { retransmission.encode(into: &$0) } }
        if let frameCheckSequence { option(Kind.frameCheckSequence) { $0.u8(frameCheckSequence) } }
        if let flow = extendedFlowSpecification { option(Kind.extendedFlowSpecification) { flow.encode(into: &$0) } }
        if let extendedWindowSize { option(Kind.extendedWindowSize) { $0.u16(extendedWindowSize) } }
        return list
    }

    /// Divides the options into the fewest lists that each fit into a command of the minimum MTUsig.
    public func chunks(of room: Int) -> [[UInt8]] {
        var chunks: [[UInt8]] = [[]]
        for option in encoded {
            if let last = chunks.last, !last.isEmpty, last.count + option.count > room { chunks.append([]) }
            chunks[chunks.count - 1] += option
        }
        return chunks
    }
}

extension RetransmissionOption {
    public func encode(into writer: inout ByteWriter) {
        writer.u8(mode)
        writer.u8(transmitWindow)
        writer.u8(maxTransmit)
        writer.u16(retransmissionTimeOut)
        writer.u16(monitorTimeOut)
        writer.u16(mps)
    }
}

extension ExtendedFlowSpecification {
    public func encode(into writer: inout ByteWriter) {
        writer.u8(identifier)
        writer.u8(serviceType)
        writer.u16(maximumSDU)
        writer.u32(interArrivalTime)
        writer.u32(accessLatency)
        writer.u32(flushTimeout)
    }
}
