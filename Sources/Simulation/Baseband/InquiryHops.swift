/// The inquiry hopping sequence, by phase. Core Vol 2, Part B, 2.6.4.
///
/// Inquirers and scanners alike derive the sequence from the general inquiry LAP, whatever LAP is in the access code. Each of its 32 phases is then a
/// frequency of its own, and a response goes out on the frequency that belongs to the phase it answers: whether two radios meet is decided by the
/// phase alone.
enum InquiryHops {
    static let count = 32

    /// Half of the sequence, which is sent over and over before the other half has its turn.
    enum Train: Int {
        case a
        case b

        /// k_offset.
        fileprivate var offset: Int { self == .a ? 24 : 8 }
    }

    /// How long a train is sent before the other: 256 times 16 slots, in ticks.
    static let ticksPerTrain = 256 * 16 * 2

    /// The train in a tick of an inquiry, counted from its first.
    static func train(in tick: Int) -> Train { tick / ticksPerTrain % 2 == 0 ? .a : .b }

    /// Xi: where the ID packet of a tick is sent.
    static func inquiryPhase(clock: UInt32, train: Train) -> Int {
        let slow = Int(clock >> 12 & 0x1F)
        let fast = Int(clock >> 2 & 7) << 1 | Int(clock & 1)
        return (slow + train.offset + (fast - slow) & 15) & 31
    }

    /// Xir: where a scanner listens.
    ///
    /// - Parameter shift: N, what the responses sent so far have added.
    static func scanPhase(clock: UInt32, shift: Int) -> Int { (Int(clock >> 12 & 0x1F) + shift) & 31 }
}

/// The LAPs that inquiry access codes are made of. Assigned Numbers, 2.2.
enum InquiryLAP {
    static let general: UInt32 = 0x9E_8B33
    static let reserved: ClosedRange<UInt32> = 0x9E_8B00...0x9E_8B3F
}
