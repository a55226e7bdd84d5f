/// The inquiry hopping sequence. Core Vol 2, Part B, 2.6.4.
///
/// Inquirers and scanners alike derive the sequence from the general inquiry LAP, whatever LAP is in the access code. A response goes out on the channel
/// that belongs to the phase it answers.
enum InquiryHops {
    static let count = 32

    /// How often a train is sent before the other.
    static let trainRepetitions = 256

    /// The train in a tick of an inquiry, counted from its first.
    static func train(in tick: Int) -> HopTrain { tick / (TrainTurns.ticksPerTrain * trainRepetitions) % 2 == 0 ? .a : .b }

    /// Xir: where a scanner listens.
    ///
    /// - Parameter shift: N, what the responses sent so far have added.
    static func scanPhase(clock: UInt32, shift: Int) -> Int { (Int(clock >> 12 & 0x1F) + shift) & 31 }

    /// The RF channel of ID packets, by phase.
    static let idChannels = (0..<count).map { HopSelection.rfChannel(phase: $0, isResponse: false, address: InquiryLAP.general) }
    /// The RF channel of the answers, by phase.
    static let responseChannels = (0..<count).map { HopSelection.rfChannel(phase: $0, isResponse: true, address: InquiryLAP.general) }
}

/// The LAPs that inquiry access codes are made of. Assigned Numbers, 2.2.
enum InquiryLAP {
    static let general: UInt32 = 0x9E_8B33
    static let reserved: ClosedRange<UInt32> = 0x9E_8B00...0x9E_8B3F
}
