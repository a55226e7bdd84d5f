// The standard library's conversions of a Double, which trap on what does not fit, are out of use in this package: these declarations come
// before them, and the compiler rejects each call.

extension Int {
    @available(*, deprecated, message: "traps on a number that does not fit: use init(saturating:)")
    @inlinable package init(_ source: Double) { self.init(saturating: source) }
}

extension Int8 {
    @available(*, deprecated, message: "traps on a number that does not fit: use init(saturating:)")
    @inlinable package init(_ source: Double) { self.init(saturating: source) }
}

extension Int16 {
    @available(*, deprecated, message: "traps on a number that does not fit: use init(saturating:)")
    @inlinable package init(_ source: Double) { self.init(saturating: source) }
}

extension Int32 {
    @available(*, deprecated, message: "traps on a number that does not fit: use init(saturating:)")
    @inlinable package init(_ source: Double) { self.init(saturating: source) }
}

extension Int64 {
    @available(*, deprecated, message: "traps on a number that does not fit: use init(saturating:)")
    @inlinable package init(_ source: Double) { self.init(saturating: source) }
}

extension UInt {
    @available(*, deprecated, message: "traps on a number that does not fit: use init(saturating:)")
    @inlinable package init(_ source: Double) { self.init(saturating: source) }
}

extension UInt8 {
    @available(*, deprecated, message: "traps on a number that does not fit: use init(saturating:)")
    @inlinable package init(_ source: Double) { self.init(saturating: source) }
}

extension UInt16 {
    @available(*, deprecated, message: "traps on a number that does not fit: use init(saturating:)")
    @inlinable package init(_ source: Double) { self.init(saturating: source) }
}

extension UInt32 {
    @available(*, deprecated, message: "traps on a number that does not fit: use init(saturating:)")
    @inlinable package init(_ source: Double) { self.init(saturating: source) }
}

extension UInt64 {
    @available(*, deprecated, message: "traps on a number that does not fit: use init(saturating:)")
    @inlinable package init(_ source: Double) { self.init(saturating: source) }
}
