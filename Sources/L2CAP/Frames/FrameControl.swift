import BBPackets

/// The part of an SDU that an I-frame carries. Core Vol 3, Part A, 3.3.2.
public enum SegmentKind: UInt8, Sendable {
    case unsegmented = 0
    /// The first segment, with the length of the SDU.
    case start = 1
    case end = 2
    case continuation = 3
}

/// The function of an S-frame. Core Vol 3, Part A, 3.3.2.
public enum SupervisoryFunction: UInt8, Sendable {
    case receiverReady = 0
    case reject = 1
    case receiverNotReady = 2
    case selectiveReject = 3
}

/// The control field of an I-frame or S-frame. Core Vol 3, Part A, 3.3.2.
public enum FrameControl: Sendable, Equatable {
    case information(SegmentKind, txSeq: UInt16, reqSeq: UInt16, isFinal: Bool = false)
    case supervisory(SupervisoryFunction, reqSeq: UInt16, isPoll: Bool = false, isFinal: Bool = false)

    /// The enhanced control field.
    public var standard: UInt16 {
        switch self {
        case .information(let kind, let txSeq, let reqSeq, let isFinal):
            (txSeq & 0x3F) << 1 | Self.bit(isFinal, 7) | (reqSeq & 0x3F) << 8 | UInt16(kind.rawValue) << 14
        case .supervisory(let function, let reqSeq, let isPoll, let isFinal):
            1 | UInt16(function.rawValue) << 2 | Self.bit(isPoll, 4) | Self.bit(isFinal, 7) | (reqSeq & 0x3F) << 8
        }
    }

    public init(standard field: UInt16) {
        let isFinal = field & 1 << 7 != 0
        let reqSeq = field >> 8 & 0x3F
        if field & 1 == 0 {
            self = .information(SegmentKind(bits: field >> 14), txSeq: field >> 1 & 0x3F, reqSeq: reqSeq, isFinal: isFinal)
        } else {
            self = .supervisory(SupervisoryFunction(bits: field >> 2), reqSeq: reqSeq, isPoll: field & 1 << 4 != 0, isFinal: isFinal)
        }
    }

    public var isSupervisory: Bool {
        switch self {
        case .information: false
        case .supervisory: true
        }
    }

    /// The extended control field.
    public var extended: UInt32 {
        switch self {
        case .information(let kind, let txSeq, let reqSeq, let isFinal):
            UInt32(Self.bit(isFinal, 1)) | UInt32(reqSeq & 0x3FFF) << 2 | UInt32(kind.rawValue) << 16 | UInt32(txSeq & 0x3FFF) << 18
        case .supervisory(let function, let reqSeq, let isPoll, let isFinal):
            1 | UInt32(Self.bit(isFinal, 1)) | UInt32(reqSeq & 0x3FFF) << 2 | UInt32(function.rawValue) << 16
                | UInt32(Self.bit(isPoll, 0)) << 18
        }
    }

    public init(extended field: UInt32) {
        let isFinal = field & 1 << 1 != 0
        let reqSeq = UInt16(field >> 2 & 0x3FFF)
        let bits = UInt16(field >> 16 & 3)
        if field & 1 == 0 {
            self = .information(SegmentKind(bits: bits), txSeq: UInt16(field >> 18), reqSeq: reqSeq, isFinal: isFinal)
        } else {
            self = .supervisory(SupervisoryFunction(bits: bits), reqSeq: reqSeq, isPoll: field & 1 << 18 != 0, isFinal: isFinal)
        }
    }

    private static func bit(_ isSet: Bool, _ position: UInt16) -> UInt16 { isSet ? 1 << position : 0 }
}

extension SegmentKind {
    fileprivate init(bits: UInt16) { self = Self(rawValue: UInt8(bits & 3)) ?? .unsegmented }
}

extension SupervisoryFunction {
    fileprivate init(bits: UInt16) { self = Self(rawValue: UInt8(bits & 3)) ?? .receiverReady }
}
