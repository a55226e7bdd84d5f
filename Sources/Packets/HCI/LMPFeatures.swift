extension HCICommands.ReadLocalSupportedFeatures.Return {
    /// BR/EDR Not Supported is bit 37. Core Vol 2, Part C, 3.3.
    public var supportsClassic: Bool { lmpFeatures >> 37 & 1 == 0 }
    /// LE Supported (Controller) is bit 38.
    public var supportsLE: Bool { lmpFeatures >> 38 & 1 == 1 }
}
