extension HCICommands.LESetEventMaskV2 {
    /// The first 64 bits of the mask; no event has a later one. Core Vol 4, Part E, 7.8.1.
    public var firstBits: LEEventMask {
        LEEventMask(rawValue: leEventMask.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
