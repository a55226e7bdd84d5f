import Packets

/// The mode of a channel. Core Vol 3, Part A, 5.4.
///
/// Retransmission mode and flow control mode are not supported: they have been withdrawn from the specification.
enum ChannelMode: UInt8, Comparable {
    case basic = 0
    case enhancedRetransmission = 3
    case streaming = 4

    /// The order of the modes for negotiation; the mode with the lower demand is chosen.
    private var demand: Int {
        switch self {
        case .basic: 0
        case .streaming: 1
        case .enhancedRetransmission: 2
        }
    }

    static func < (a: ChannelMode, b: ChannelMode) -> Bool { a.demand < b.demand }
}

/// The retransmission and flow control option. Core Vol 3, Part A, 5.4.
struct RetransmissionOption: Equatable {
    /// A `ChannelMode`, or an unknown mode of the peer.
    var mode: UInt8
    var transmitWindow: UInt8 = 0
    var maxTransmit: UInt8 = 0
    /// Milliseconds.
    var retransmissionTimeOut: UInt16 = 0
    var monitorTimeOut: UInt16 = 0
    /// Maximum PDU payload size.
    var mps: UInt16 = 0
}

/// A flow specification. Core Vol 3, Part A, 5.3.
struct QualityOfService: Equatable {
    enum ServiceType {
        static let bestEffort: UInt8 = 1
        static let guaranteed: UInt8 = 2
    }

    var serviceType = ServiceType.bestEffort
    /// Token rate, token bucket size, peak bandwidth, latency, delay variation.
    var numbers: [UInt32] = [0, 0, 0, 0xFFFF_FFFF, 0xFFFF_FFFF]
}

/// An extended flow specification. Core Vol 3, Part A, 5.6.
struct ExtendedFlowSpecification: Equatable {
    var identifier: UInt8 = 1
    var serviceType = QualityOfService.ServiceType.bestEffort
    var maximumSDU: UInt16 = 0xFFFF
    /// Microseconds.
    var interArrivalTime: UInt32 = 0xFFFF_FFFF
    var accessLatency: UInt32 = 0xFFFF_FFFF
    var flushTimeout: UInt32 = 0xFFFF_FFFF
}

/// The configuration options of one direction. Core Vol 3, Part A, 5.
struct ConfigurationOptions: Equatable {
    enum Kind {
        static let mtu: UInt8 = 1
        static let flushTimeout: UInt8 = 2
        static let qualityOfService: UInt8 = 3
        static let retransmission: UInt8 = 4
        static let frameCheckSequence: UInt8 = 5
        static let extendedFlowSpecification: UInt8 = 6
        static let extendedWindowSize: UInt8 = 7
        /// An unknown option with this bit is ignored.
        static let hint: UInt8 = 0x80
    }

    var mtu: UInt16?
    /// In milliseconds; 0xFFFF is infinite.
    var flushTimeout: UInt16?
    var qualityOfService: QualityOfService?
    var retransmission: RetransmissionOption?
    /// 0 no FCS, 1 16-bit FCS.
    var frameCheckSequence: UInt8?
    var extendedFlowSpecification: ExtendedFlowSpecification?
    var extendedWindowSize: UInt16?
    /// The unknown types that are not hints, each once.
    var unknown: [UInt8] = []

    init() {}

    /// Decodes options; a repeated option replaces the one before it.
    ///
    /// - Throws: if an option is longer than the remaining octets or has the wrong length for its type.
    init(_ octets: [UInt8]) throws(PDUError) {
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
    var encoded: [[UInt8]] {
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
    func chunks(of room: Int) -> [[UInt8]] {
        var chunks: [[UInt8]] = [[]]
        for option in encoded {
            if let last = chunks.last, !last.isEmpty, last.count + option.count > room { chunks.append([]) }
            chunks[chunks.count - 1] += option
        }
        return chunks
    }
}

extension RetransmissionOption {
    func encode(into writer: inout ByteWriter) {
        writer.u8(mode)
        writer.u8(transmitWindow)
        writer.u8(maxTransmit)
        writer.u16(retransmissionTimeOut)
        writer.u16(monitorTimeOut)
        writer.u16(mps)
    }
}

extension ExtendedFlowSpecification {
    func encode(into writer: inout ByteWriter) {
        writer.u8(identifier)
        writer.u8(serviceType)
        writer.u16(maximumSDU)
        writer.u32(interArrivalTime)
        writer.u32(accessLatency)
        writer.u32(flushTimeout)
    }
}
