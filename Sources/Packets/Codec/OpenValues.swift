/// Names for some values of a number; all other values are kept unchanged.
public protocol OpenEnum: RawRepresentable, Sendable, Hashable, ExpressibleByIntegerLiteral
where RawValue: FixedWidthInteger & Sendable & _ExpressibleByBuiltinIntegerLiteral {
    init(rawValue: RawValue)
}

extension OpenEnum {
    @inlinable public init(integerLiteral value: RawValue) { self.init(rawValue: value) }
    @inlinable public init(_ rawValue: RawValue) { self.init(rawValue: rawValue) }
}

/// Named bits of a number; unnamed bits are kept.
public protocol OpenFlags: OptionSet, Sendable, Hashable, ExpressibleByIntegerLiteral
where RawValue: FixedWidthInteger & Sendable & _ExpressibleByBuiltinIntegerLiteral {}

extension OpenFlags {
    @inlinable public init(integerLiteral value: RawValue) { self.init(rawValue: value) }
}
