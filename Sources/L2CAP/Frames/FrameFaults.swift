/// Faults of a mutant in the frames that it sends, and in those that it takes. Core Vol 3, Part A, 3.3.
public struct FrameFaults: Sendable, Hashable {
    /// TxSeq stays 0.
    public var repeatsSequence = false
    /// TxSeq is one more than it should be.
    public var skipsSequence = false
    /// ReqSeq is one less than it should be.
    public var acknowledgesLess = false
    /// SAR of a continuation is that of an end.
    public var endsEarly = false
    /// Sets the reserved bits of S-frames.
    public var setsReservedBits = false
    /// Accepts frames with a wrong FCS.
    public var ignoresCheck = false

    public init() {}

    func change(_ control: FrameControl) -> FrameControl {
        let less: UInt16 = acknowledgesLess ? 1 : 0
        switch control {
        case .information(let kind, let txSeq, let reqSeq, let isFinal):
            let number = repeatsSequence ? 0 : txSeq &+ (skipsSequence ? 1 : 0)
            let changed = endsEarly && kind == .continuation ? .end : kind
            return .information(changed, txSeq: number, reqSeq: reqSeq &- less, isFinal: isFinal)
        case .supervisory(let function, let reqSeq, let isPoll, let isFinal):
            return .supervisory(function, reqSeq: reqSeq &- less, isPoll: isPoll, isFinal: isFinal)
        }
    }

    /// The reserved bits that a control field has set.
    func reserved(_ control: FrameControl, isExtended: Bool) -> UInt32 {
        guard setsReservedBits, control.isSupervisory else { return 0 }
        return isExtended ? 0xFFF8_0000 : 0xC060
    }
}
