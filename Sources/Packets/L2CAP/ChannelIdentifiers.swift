/// Channel identifiers of L2CAP. Core Vol 3, Part A, 2.1.
public enum CID {
    /// Signalling on a BR/EDR link.
    public static let signaling: UInt16 = 0x0001
    public static let att: UInt16 = 0x0004
    /// Signalling on an LE link.
    public static let leSignaling: UInt16 = 0x0005
    public static let smp: UInt16 = 0x0006
    /// SMP on a BR/EDR link.
    public static let bredrSMP: UInt16 = 0x0007
    /// Dynamically allocated, on a BR/EDR and on an LE link.
    public static let dynamic: ClosedRange<UInt16> = 0x0040...0xFFFF
    public static let leDynamic: ClosedRange<UInt16> = 0x0040...0x007F
}

/// Protocol and service multiplexers. Assigned Numbers, 2.7.
public enum PSM {
    public static let sdp: UInt16 = 0x0001
    public static let rfcomm: UInt16 = 0x0003
    public static let avctp: UInt16 = 0x0017
    public static let avdtp: UInt16 = 0x0019
    public static let avctpBrowsing: UInt16 = 0x001B
    public static let att: UInt16 = 0x001F
    public static let eatt: UInt16 = 0x0027
}

extension Layer {
    /// The layer of a fixed channel, of LE or of BR/EDR: no two share an identifier.
    public init?(channel: UInt16) {
        switch channel {
        case CID.signaling, CID.leSignaling: self = .l2capSignaling
        case CID.att: self = .att
        case CID.smp, CID.bredrSMP: self = .smp
        default: return nil
        }
    }

    /// The layer on a channel of a BR/EDR link with this PSM.
    public init?(psm: UInt16) {
        switch psm {
        case PSM.sdp: self = .sdp
        case PSM.rfcomm: self = .rfcommFrames
        case PSM.avctp: self = .avctp
        case PSM.avdtp: self = .avdtp
        case PSM.att, PSM.eatt: self = .att
        default: return nil
        }
    }

    /// The fixed channel of an LE link.
    public var leChannel: UInt16? {
        switch self {
        case .l2capSignaling: CID.leSignaling
        case .att: CID.att
        case .smp: CID.smp
        default: nil
        }
    }

    /// The fixed channel of a BR/EDR link.
    public var bredrChannel: UInt16? {
        switch self {
        case .l2capSignaling: CID.signaling
        case .smp: CID.bredrSMP
        default: nil
        }
    }
}
