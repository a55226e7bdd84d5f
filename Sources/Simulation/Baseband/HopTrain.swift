/// Half of the 32 channels of an inquiry or page sequence, which is sent over and over before the other half has its turn. Core Vol 2, Part B, 2.6.4.
public enum HopTrain: Sendable {
    case a
    case b

    /// k_offset.
    private var offset: Int { self == .a ? 24 : 8 }

    /// Xi or Xp: where the ID packet of a tick is sent.
    ///
    /// - Parameter clock: CLKN for an inquiry; CLKE, what the pager takes for the other's clock, for a page.
    public func phase(clock: UInt32) -> Int {
        let slow = Int(clock >> 12 & 0x1F)
        let fast = Int(clock >> 2 & 7) << 1 | Int(clock & 1)
        return (slow + offset + (fast - slow) & 15) & 31
    }
}

/// The page hopping sequences, which belong to the address of the device that is paged. Core Vol 2, Part B, 2.6.4.1 to 2.6.4.4.
public enum PageHops {
    /// Xps: where the device listens.
    ///
    /// - Parameter clock: its CLKN.
    public static func scanPhase(clock: UInt32) -> Int { Int(clock >> 12 & 0x1F) }

    /// Xprp: where the device is during the response.
    ///
    /// - Parameters:
    ///   - clock: its CLKN when it heard the page, which stands still.
    ///   - count: N: how often CLKN1 has become zero since.
    public static func peripheralResponsePhase(clock: UInt32, count: Int) -> Int { (scanPhase(clock: clock) + count) & 31 }

    /// Xprc: where the pager is during the response.
    ///
    /// - Parameters:
    ///   - clock: CLKE when it sent the page that was answered, which stands still.
    ///   - count: N: 1 with the first packet after the answer, and one more whenever CLKE1 has become zero since.
    public static func centralResponsePhase(clock: UInt32, train: HopTrain, count: Int) -> Int { (train.phase(clock: clock) + count) & 31 }
}
