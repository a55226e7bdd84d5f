extension FixedWidthInteger {
    /// Converts a number without its fraction. A number outside of the type's range becomes the nearest limit, and NaN becomes 0.
    ///
    /// The standard library's conversion ends the program instead: one number in another's file, such as `1e300`, would be enough.
    @inlinable public init(saturating source: Double) {
        if let exact = Self(exactly: source.rounded(.towardZero)) {
            self = exact
        } else {
            self = source.isNaN ? 0 : source < 0 ? .min : .max
        }
    }
}
