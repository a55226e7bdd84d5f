/// A PHY of the LE radio, numbered as in HCI. Core Vol 6, Part B, 1.1.2 and Vol 4, Part E, 7.8.47.
public enum PHY: UInt8, Sendable, Hashable, CaseIterable {
    case le1M = 1
    case le2M = 2
    case leCoded = 3

    /// The PHY's bit in a mask of PHYs.
    @inlinable public var flag: PHYs { PHYs(rawValue: 1 << (rawValue - 1)) }
}

extension PHYs {
    /// The known PHYs in the mask, in ascending order.
    public var all: [PHY] { PHY.allCases.filter { contains($0.flag) } }
}
