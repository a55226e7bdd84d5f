/// A rule of a credit-based channel that the peer has violated, for which this side disconnects it. Core Vol 3, Part A, 3.4.3, 4.24, 10.1.
public enum ChannelFault: Sendable, Equatable {
    /// A K-frame without a credit.
    case noCredit
    /// A K-frame whose payload exceeds this side's MPS.
    case frameTooLong(octets: Int, limit: Int)
    /// An SDU length that exceeds this side's MTU.
    case sduTooLong(octets: Int, limit: Int)
    /// K-frames with more octets than the SDU length.
    case lengthExceeded
    /// A first K-frame that is too short for the SDU length.
    case noLength
    /// Credits beyond 65,535 in total.
    case tooManyCredits(Int)
    /// A response with a CID, MTU or MPS out of range, or with a CID in use.
    case illegalResponse
}

extension ChannelFault: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noCredit: "a K-frame without a credit"
        case .frameTooLong(let octets, let limit): "a K-frame of \(octets) octets, over the MPS of \(limit)"
        case .sduTooLong(let octets, let limit): "an SDU of \(octets) octets, over the MTU of \(limit)"
        case .lengthExceeded: "K-frames with more octets than the SDU length says"
        case .noLength: "a first K-frame without a whole SDU length"
        case .tooManyCredits(let total): "credits for \(total) K-frames, over 65535"
        case .illegalResponse: "a response with a CID, MTU or MPS that is not legal"
        }
    }
}
