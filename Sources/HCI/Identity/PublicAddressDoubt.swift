import Packets
import Transport

/// Why a device should not go by its public address.
public enum PublicAddressDoubt: Sendable, Hashable {
    /// All zeros: it has none. Core Vol 4, Part E, 7.4.6.
    case missing
    /// What its maker's chips have until somebody gives them one.
    case factoryDefault
    /// Another device of the run has it, or a whole batch.
    case shared

    /// The addresses of chips that nobody has given one.
    private static let defaults: Set<UInt64> = [
        0x0020_7002_A000, 0x2070_02A0_0000, 0x2076_A000_5679, 0x4324_B300_0000, 0x4330_B100_0000, 0x4334_B000_0000, 0x4343_A012_1FAC,
        0x4345_C500_1FAC, 0x4334_1B00_1FAC, 0xAAAA_AAAA_AAAA, 0x008B_9E19_0300, 0x00E0_4C23_9987,
    ]

    /// Nil for an address that is as good as any.
    public init?(_ address: BDADDR, others: Set<BDADDR> = [], isKnownShared: Bool = false) {
        if address == 0 {
            self = .missing
        } else if Self.defaults.contains(address.rawValue) {
            self = .factoryDefault
        } else if others.contains(address) || isKnownShared {
            self = .shared
        } else {
            return nil
        }
    }

    public var kind: LearnedConduct.Kind {
        switch self {
        case .missing: .addressMissing
        case .factoryDefault: .addressIsDefault
        case .shared: .addressIsShared
        }
    }

    public func text(_ address: BDADDR) -> String {
        switch self {
        case .missing: "no public address"
        case .factoryDefault: "the public address \(address) is its maker's default"
        case .shared: "the public address \(address) is another device's, too"
        }
    }
}
