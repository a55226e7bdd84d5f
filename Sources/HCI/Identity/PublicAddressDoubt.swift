import Packets
import Transport

/// Why a device should not go by its public address.
public enum PublicAddressDoubt: Sendable, Hashable {
    /// All zeros: it has none. Core Vol 4, Part E, 7.4.6.
    case missing
    /// Many units have it; the text says where it comes from.
    case known(origin: String)
    /// Another device of the run has it, or a whole batch.
    case shared

    /// Nil for an address that is as good as any.
    ///
    /// - Parameters:
    ///   - others: addresses of other devices in the run.
    ///   - origin: what the address is known from, where it does not tell one unit from another.
    ///   - isKnownShared: the make is known for addresses that its units share.
    public init?(_ address: BDADDR, others: Set<BDADDR> = [], origin: String? = nil, isKnownShared: Bool = false) {
        if address == 0 {
            self = .missing
        } else if let origin {
            self = .known(origin: origin)
        } else if others.contains(address) || isKnownShared {
            self = .shared
        } else {
            return nil
        }
    }

    public var kind: ObservedQuirk.Kind {
        switch self {
        case .missing: .addressMissing
        case .known: .addressIsDefault
        case .shared: .addressIsShared
        }
    }

    public func text(_ address: BDADDR) -> String {
        switch self {
        case .missing: "no public address"
        case .known(let origin): "the public address \(address) is no unit's own (\(origin))"
        case .shared: "the public address \(address) is another device's, too"
        }
    }
}
