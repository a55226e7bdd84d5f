import BBPackets
import BBTransport

/// Reason not to use a device's public address.
public enum PublicAddressDoubt: Sendable, Hashable {
    /// All zeros: there is no public address. Core Vol 4, Part E, 7.4.6.
    case missing
    /// Many units share it; the text gives its origin.
    case known(origin: String)
    /// Another device of the run, or a whole batch, has the same address.
    case shared

    /// Returns nil for an address without doubt.
    ///
    /// - Parameters:
    ///   - others: addresses of other devices in the run.
    ///   - origin: origin of an address that many units share.
    ///   - isKnownShared: the device type is known for shared addresses.
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
        case .known(let origin): "the public address \(address) is shared by many units (\(origin))"
        case .shared: "the public address \(address) is another device's, too"
        }
    }
}
