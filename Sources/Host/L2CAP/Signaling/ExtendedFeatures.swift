import Packets

/// The optional features of an L2CAP entity. Core Vol 3, Part A, 4.12.
struct ExtendedFeatures: OptionSet, Hashable {
    var rawValue: UInt32

    static let enhancedRetransmission = ExtendedFeatures(rawValue: 1 << 3)
    static let streaming = ExtendedFeatures(rawValue: 1 << 4)
    static let fcsOption = ExtendedFeatures(rawValue: 1 << 5)
    static let extendedFlowSpecification = ExtendedFeatures(rawValue: 1 << 6)
    static let fixedChannels = ExtendedFeatures(rawValue: 1 << 7)
    static let extendedWindowSize = ExtendedFeatures(rawValue: 1 << 8)
}

/// The InfoType of L2CAP_INFORMATION_REQ. Core Vol 3, Part A, 4.10.
enum InformationType {
    static let extendedFeatures: UInt16 = 2
    static let fixedChannels: UInt16 = 3
}
