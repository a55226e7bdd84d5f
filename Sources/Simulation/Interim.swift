/// A PHY of the LE radio, numbered as in HCI. Stands in until Packets brings its own.
public enum PHY: UInt8, Sendable, Hashable, CaseIterable {
    case le1M = 1
    case le2M = 2
    case leCoded = 3
}

/// A status or reason code. Stands in until Packets brings its own.
public struct ErrorCode: RawRepresentable, Sendable, Hashable {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let success = ErrorCode(rawValue: 0)
}
