import BBPackets

/// The optional features of an L2CAP entity. Core Vol 3, Part A, 4.12.
public struct ExtendedFeatures: OptionSet, Sendable, Hashable {
    public var rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let enhancedRetransmission = ExtendedFeatures(rawValue: 1 << 3)
    public static let streaming = ExtendedFeatures(rawValue: 1 << 4)
    public static let fcsOption = ExtendedFeatures(rawValue: 1 << 5)
    public static let extendedFlowSpecification = ExtendedFeatures(rawValue: 1 << 6)
    public static let fixedChannels = ExtendedFeatures(rawValue: 1 << 7)
    public static let extendedWindowSize = ExtendedFeatures(rawValue: 1 << 8)
    public static let enhancedCreditBased = ExtendedFeatures(rawValue: 1 << 10)
}

/// The InfoType of L2CAP_INFORMATION_REQ. Core Vol 3, Part A, 4.10.
public enum InformationType {
    public static let extendedFeatures: UInt16 = 2
    public static let fixedChannels: UInt16 = 3
}
