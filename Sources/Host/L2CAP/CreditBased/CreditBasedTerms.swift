import BBL2CAP
import BBPackets

/// This side's settings of a credit-based channel. Core Vol 3, Part A, 4.22 and 4.25.
public struct CreditBasedChannelSettings: Sendable, Hashable {
    /// The longest SDU that this side accepts: 23...65535 octets, for enhanced channels 64...65535.
    public var mtu: UInt16
    /// The longest payload of a K-frame that this side accepts: 23...65533 octets, for enhanced channels 64...65533.
    public var mps: UInt16
    /// The number of K-frames that the peer may send initially.
    public var initialCredits: UInt16
    /// Returns credits as frames arrive; if false the peer receives only the credits from `grant`.
    public var grantsCredits = true
    /// Returns the credits of an SDU when it is complete and taken, not before. The initial credits are then those of the longest SDU.
    var grantsForWholeSDUs = false
    /// Gives the initial credits when the channel is open, not with the request or response.
    var grantsFirstCreditsLater = false
    /// The link security that the peer's requests need.
    public var minimumSecurity = LinkSecurity.none
    public var minimumKeySize = 0

    public init(mtu: UInt16 = 512, mps: UInt16 = 247, initialCredits: UInt16 = 10) {
        self.mtu = mtu
        self.mps = mps
        self.initialCredits = initialCredits
    }

    static let largestMPS: UInt16 = 65533

    /// The credits in the request or response.
    var offeredCredits: UInt16 { grantsFirstCreditsLater ? 0 : initialCredits }
    /// The number of K-frames of the longest SDU.
    var framesOfLongestSDU: UInt16 { UInt16(clamping: (Int(mtu) + KFrameReassembly.lengthOctets + Int(mps) - 1) / Int(max(1, mps))) }
}

/// The two types of credit-based channel, with their limits.
enum CreditBasedKind: Equatable {
    /// LE credit-based flow control mode. Core Vol 3, Part A, 4.22.
    case lowEnergy
    /// Enhanced credit-based flow control mode: up to five channels in one request. Core Vol 3, Part A, 4.25.
    case enhanced

    /// The minimum MTU and MPS.
    var minimum: UInt16 { self == .lowEnergy ? 23 : 64 }

    func isLegal(mtu: UInt16, mps: UInt16) -> Bool {
        mtu >= minimum && (minimum...CreditBasedChannelSettings.largestMPS).contains(mps)
    }
}

/// The agreed terms of a credit-based channel.
struct CreditBasedTerms: Equatable {
    var localCID: UInt16
    var remoteCID: UInt16
    var spsm: UInt16
    var sendMTU: UInt16
    var sendMPS: UInt16
    /// The number of K-frames that this side may send.
    var sendCredits: UInt16
    var settings: CreditBasedChannelSettings
}
