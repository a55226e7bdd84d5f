/// A time span, or a point in time counted from the start of a run, in whole microseconds.
public struct Microseconds: Sendable, Hashable, Comparable, AdditiveArithmetic, ExpressibleByIntegerLiteral {
    public var rawValue: Int64

    @inlinable public init(_ rawValue: Int64) { self.rawValue = rawValue }
    @inlinable public init(_ rawValue: Int) { self.rawValue = Int64(rawValue) }
    @inlinable public init(integerLiteral value: Int64) { rawValue = value }

    @inlinable public static var zero: Microseconds { Microseconds(Int64(0)) }
    /// The end of time: later than every deadline.
    @inlinable public static var never: Microseconds { Microseconds(Int64.max) }

    @inlinable public static func milliseconds(_ value: Int) -> Microseconds { Microseconds(Int64(value) * 1_000) }
    @inlinable public static func seconds(_ value: Int) -> Microseconds { Microseconds(Int64(value) * 1_000_000) }
    /// The nearest whole microsecond of a length in seconds.
    @inlinable public static func seconds(_ value: Double) -> Microseconds {
        Microseconds(Int64(value * 1_000_000 + (value < 0 ? -0.5 : 0.5)))
    }

    @inlinable public var seconds: Double { Double(rawValue) / 1_000_000 }
    @inlinable public var milliseconds: Double { Double(rawValue) / 1_000 }

    @inlinable public static func < (a: Microseconds, b: Microseconds) -> Bool { a.rawValue < b.rawValue }
    @inlinable public static func + (a: Microseconds, b: Microseconds) -> Microseconds { Microseconds(a.rawValue &+ b.rawValue) }
    @inlinable public static func - (a: Microseconds, b: Microseconds) -> Microseconds { Microseconds(a.rawValue &- b.rawValue) }
    @inlinable public static func * (a: Microseconds, b: Int) -> Microseconds { Microseconds(a.rawValue &* Int64(b)) }
    @inlinable public static func / (a: Microseconds, b: Int) -> Microseconds { Microseconds(a.rawValue / Int64(b)) }
    /// How many whole times `b` fits into `a`.
    @inlinable public static func / (a: Microseconds, b: Microseconds) -> Int { Int(a.rawValue / b.rawValue) }
    @inlinable public static func % (a: Microseconds, b: Microseconds) -> Microseconds { Microseconds(a.rawValue % b.rawValue) }
}

/// A connection handle: 12 bits, 0x0000...0x0EFF. Core Vol 4, Part E, 5.4.2.
public struct ConnectionHandle: Sendable, Hashable, Comparable, RawRepresentable, ExpressibleByIntegerLiteral {
    public var rawValue: UInt16
    @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }
    @inlinable public init(_ rawValue: UInt16) { self.rawValue = rawValue }
    @inlinable public init(integerLiteral value: UInt16) { rawValue = value }
    @inlinable public static func < (a: ConnectionHandle, b: ConnectionHandle) -> Bool { a.rawValue < b.rawValue }
}
