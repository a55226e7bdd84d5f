extension HCICommands.ReadLocalSupportedFeatures.Return {
    /// True if BR/EDR Not Supported, bit 37, is clear. Core Vol 2, Part C, 3.3.
    public var supportsClassic: Bool { lmpFeatures >> 37 & 1 == 0 }
    /// True if LE Supported (Controller), bit 38, is set.
    public var supportsLE: Bool { lmpFeatures >> 38 & 1 == 1 }
}
