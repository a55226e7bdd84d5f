/// The inquiry hopping sequence. Core Vol 2, Part B, 2.6.4.
///
/// Inquirers and scanners derive it from the general inquiry LAP, whatever LAP is in the access code. A response is sent on the channel of
/// the phase in which the ID packet was received.
enum InquiryHops {
    static let count = 32

    /// Repetitions of a train before the other train is sent.
    static let trainRepetitions = 256

    /// The train used in a tick, counted from the first tick of the inquiry.
    static func train(in tick: Int) -> HopTrain { tick / (TrainTurns.ticksPerTrain * trainRepetitions) % 2 == 0 ? .a : .b }

    /// Xir: inquiry scan phase.
    ///
    /// - Parameter shift: N, incremented by each response.
    static func scanPhase(clock: UInt32, shift: Int) -> Int { (Int(clock >> 12 & 0x1F) + shift) & 31 }

    /// RF channels of ID packets, by phase.
    static let idChannels = (0..<count).map { HopSelection.rfChannel(phase: $0, isResponse: false, address: InquiryLAP.general) }
    /// RF channels of responses, by phase.
    static let responseChannels = (0..<count).map { HopSelection.rfChannel(phase: $0, isResponse: true, address: InquiryLAP.general) }
}

/// LAPs of the inquiry access codes. Assigned Numbers, 2.2.
enum InquiryLAP {
    static let general: UInt32 = 0x9E_8B33
    static let reserved: ClosedRange<UInt32> = 0x9E_8B00...0x9E_8B3F
}
