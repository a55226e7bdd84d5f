/// One of the two trains of an inquiry or page sequence: 16 of its 32 channels, repeated before the other train is sent. Core Vol 2, Part
/// B, 2.6.4.
public enum HopTrain: Sendable {
    case a
    case b

    /// Value k_offset of the page and inquiry trains. Core Vol 2, Part B, 2.6.4.
    private var offset: Int { self == .a ? 24 : 8 }

    /// Xi or Xp: phase of the ID packet in a tick.
    ///
    /// - Parameter clock: CLKN for inquiry; CLKE, the estimated clock of the paged device, for page.
    public func phase(clock: UInt32) -> Int {
        let slow = Int(clock >> 12 & 0x1F)
        let fast = Int(clock >> 2 & 7) << 1 | Int(clock & 1)
        return (slow + offset + (fast - slow) & 15) & 31
    }
}

/// The page hopping sequences, derived from the address of the paged device. Core Vol 2, Part B, 2.6.4.1 to 2.6.4.4.
public enum PageHops {
    /// Xps: page scan phase.
    ///
    /// - Parameter clock: CLKN of the scanning device.
    public static func scanPhase(clock: UInt32) -> Int { Int(clock >> 12 & 0x1F) }

    /// Xprp: peripheral page response phase.
    ///
    /// - Parameters:
    ///   - clock: CLKN when the page was received, frozen during the response.
    ///   - count: N: number of times that CLKN1 has become 0 since.
    public static func peripheralResponsePhase(clock: UInt32, count: Int) -> Int { (scanPhase(clock: clock) + count) & 31 }

    /// Xprc: central page response phase.
    ///
    /// - Parameters:
    ///   - clock: CLKE when the answered page was sent, frozen during the response.
    ///   - count: N: 1 for the first packet after the response, incremented each time CLKE1 becomes 0.
    public static func centralResponsePhase(clock: UInt32, train: HopTrain, count: Int) -> Int { (train.phase(clock: clock) + count) & 31 }
}
