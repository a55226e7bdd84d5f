/// A duration, or a time since the start of a run: in microseconds, with a resolution of one half because a BR/EDR half slot is 312.5 us.
public struct Microseconds: Sendable, Hashable, Comparable, AdditiveArithmetic, ExpressibleByIntegerLiteral {
    /// The number of half microseconds.
    public var halfMicroseconds: Int64

    @inlinable public init(halfMicroseconds: Int64) { self.halfMicroseconds = halfMicroseconds }
    /// Creates a number of microseconds; values that are too large saturate.
    @inlinable public init(_ microseconds: Int64) {
        let (ticks, isTooLarge) = microseconds.multipliedReportingOverflow(by: 2)
        halfMicroseconds = isTooLarge ? (microseconds < 0 ? .min : .max) : ticks
    }
    @inlinable public init(_ microseconds: Int) { self.init(Int64(microseconds)) }
    @inlinable init(_ count: Int64, times unit: Int64) {
        let (product, isTooLarge) = count.multipliedReportingOverflow(by: unit)
        self.init(isTooLarge ? (count < 0 ? .min : .max) : product)
    }
    @inlinable public init(integerLiteral value: Int64) { self.init(value) }

    @inlinable public static var zero: Microseconds { Microseconds(halfMicroseconds: 0) }
    /// The latest time, after every deadline.
    @inlinable public static var never: Microseconds { Microseconds(halfMicroseconds: .max) }

    @inlinable public static func milliseconds(_ value: Int) -> Microseconds { Microseconds(Int64(value), times: 1_000) }
    @inlinable public static func seconds(_ value: Int) -> Microseconds { Microseconds(Int64(value), times: 1_000_000) }
    /// Connection intervals, in their unit of 1.25 ms. Core Vol 4, Part E, 7.8.12.
    @inlinable public static func connectionIntervals(_ units: some BinaryInteger) -> Microseconds {
        Microseconds(Int64(clamping: units), times: 1_250)
    }
    /// Converts seconds, rounded to the nearest microsecond; values that are too large saturate.
    @inlinable public static func seconds(_ value: Double) -> Microseconds {
        Microseconds(Int64(saturating: value * 1_000_000 + (value < 0 ? -0.5 : 0.5)))
    }

    /// The whole microseconds, rounded down.
    @inlinable public var rawValue: Int64 { halfMicroseconds >> 1 }
    @inlinable public var seconds: Double { Double(halfMicroseconds) / 2_000_000 }
    @inlinable public var milliseconds: Double { Double(halfMicroseconds) / 2_000 }

    @inlinable public static func < (a: Microseconds, b: Microseconds) -> Bool { a.halfMicroseconds < b.halfMicroseconds }
    @inlinable public static func + (a: Microseconds, b: Microseconds) -> Microseconds {
        Microseconds(halfMicroseconds: a.halfMicroseconds &+ b.halfMicroseconds)
    }
    @inlinable public static func - (a: Microseconds, b: Microseconds) -> Microseconds {
        Microseconds(halfMicroseconds: a.halfMicroseconds &- b.halfMicroseconds)
    }
    @inlinable public static func * (a: Microseconds, b: Int) -> Microseconds {
        Microseconds(halfMicroseconds: a.halfMicroseconds &* Int64(b))
    }
    /// Divides with a resolution of half a microsecond.
    @inlinable public static func / (a: Microseconds, b: Int) -> Microseconds {
        Microseconds(halfMicroseconds: a.halfMicroseconds / Int64(b))
    }
    /// Returns the integer quotient of two durations.
    @inlinable public static func / (a: Microseconds, b: Microseconds) -> Int { Int(a.halfMicroseconds / b.halfMicroseconds) }
    @inlinable public static func % (a: Microseconds, b: Microseconds) -> Microseconds {
        Microseconds(halfMicroseconds: a.halfMicroseconds % b.halfMicroseconds)
    }
}

/// A connection handle: 12 bits, 0x0000...0x0EFF. Core Vol 4, Part E, 5.4.2.
public struct ConnectionHandle: Sendable, Hashable, Comparable, RawRepresentable, ExpressibleByIntegerLiteral {
    public var rawValue: UInt16
    @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }
    @inlinable public init(_ rawValue: UInt16) { self.rawValue = rawValue }
    @inlinable public init(integerLiteral value: UInt16) { rawValue = value }
    @inlinable public static func < (a: ConnectionHandle, b: ConnectionHandle) -> Bool { a.rawValue < b.rawValue }
}
