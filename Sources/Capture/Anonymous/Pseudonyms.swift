import BBBluetoothCrypto
import BBPackets

/// Replacements of the same length for what identifies people and devices. Equal values have equal replacements, and nobody can compute
/// one from the other without the secret of the run.
struct Pseudonyms {
    enum Kind: UInt8, CaseIterable {
        case address
        case name
        case key
        case value
        case number
        case data
    }

    private let secret: AESKey
    private var addresses: [UInt64: UInt64] = [:]
    /// Replacements of identity resolving keys, by key.
    private var resolvingKeys: [UInt128: UInt128] = [:]
    /// Number of replaced values of each kind; each value counts once, while there are not too many.
    private var seen: [Kind: Set<UInt128>] = [:]

    private static let most = 200_000
    private static let addressLength = 6
    private static let keyLength = 16
    /// Values up to this one switch notifications or select a mode, and identify nobody.
    private static let smallest: UInt16 = 3

    init(secret: UInt128) { self.secret = AESKey(secret) }

    func count(_ kind: Kind) -> Int { seen[kind]?.count ?? 0 }

    /// Notes an identity resolving key, so that the addresses of that identity resolve with its replacement.
    mutating func learn(resolvingKey octets: [UInt8]) {
        guard octets.count == Self.keyLength, !Self.isPlain(octets), resolvingKeys.count < 1_000 else { return }
        resolvingKeys[UInt128(littleEndianOctets: octets)] = UInt128(littleEndianOctets: self.octets(octets, .key))
    }

    /// Notes an address, so that it is also replaced where it is not a declared field.
    mutating func learn(address octets: [UInt8]) {
        guard octets.count == Self.addressLength, !Self.isPlain(octets), addresses.count < Self.most else { return }
        _ = address(octets)
    }

    /// Octets of an address in transmission order. Keeps the two bits that tell the kind of a random address.
    mutating func address(_ octets: [UInt8]) -> [UInt8] {
        guard octets.count == Self.addressLength, !Self.isPlain(octets) else { return octets }
        note(octets, .address)
        let value = octets.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let replacement = addresses[value] ?? newAddress(value)
        if addresses.count < Self.most { addresses[value] = replacement }
        return (0..<Self.addressLength).map { UInt8(truncatingIfNeeded: replacement >> (8 * UInt64($0))) }
    }

    private func newAddress(_ value: UInt64) -> UInt64 {
        let random = UInt64(truncatingIfNeeded: digest([UInt8](value.littleOctets), .address))
        let address = DeviceAddress(value: value, kind: .random)
        for (key, replacement) in resolvingKeys where address.resolves(with: key) {
            return DeviceAddress.resolvable(irk: replacement, prand: UInt32(truncatingIfNeeded: random)).value
        }
        return value & 0xC000_0000_0000 | random & 0x3FFF_FFFF_FFFF
    }

    /// Octets of a key, a value or data. All zeros and all ones stay.
    mutating func octets(_ octets: [UInt8], _ kind: Kind) -> [UInt8] {
        guard !Self.isPlain(octets) else { return octets }
        note(octets, kind)
        let start = digest(octets, kind)
        var replaced: [UInt8] = []
        replaced.reserveCapacity(octets.count + Self.keyLength)
        var block: UInt128 = 0
        while replaced.count < octets.count {
            withUnsafeBytes(of: secret.encrypt(start ^ block)) { replaced += $0 }
            block += 1
        }
        return Array(replaced.prefix(octets.count))
    }

    /// The value of an attribute: small numbers stay, text is replaced by text.
    mutating func value(_ octets: [UInt8]) -> [UInt8] {
        if octets.count <= 2, octets.reversed().reduce(UInt16(0), { $0 << 8 | UInt16($1) }) <= Self.smallest { return octets }
        let isText = octets.count >= 4 && octets.allSatisfy { (0x20...0x7E).contains($0) }
        return isText ? text(octets) : self.octets(octets, .value)
    }

    /// Letters in the place of a text; zeros that fill it stay.
    mutating func text(_ octets: [UInt8]) -> [UInt8] {
        let length = octets.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
        let letters = self.octets(Array(octets[..<length]), .name).map { UInt8(ascii: "a") + $0 % 26 }
        return letters + octets[length...]
    }

    /// A number below a million, as the passkey of a pairing.
    mutating func passkey(_ octets: [UInt8]) -> [UInt8] {
        guard !Self.isPlain(octets) else { return octets }
        note(octets, .number)
        let number = UInt32(digest(octets, .number) % 1_000_000)
        return Array(number.littleOctets.prefix(octets.count))
    }

    /// Replaces known addresses anywhere in octets, in both orders.
    mutating func replaceAddresses(in octets: inout [UInt8]) {
        guard octets.count >= Self.addressLength, !addresses.isEmpty else { return }
        var at = 0
        while at + Self.addressLength <= octets.count {
            let piece = Array(octets[at..<at + Self.addressLength])
            let value = piece.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let mirrored = piece.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            if Self.isDistinct(piece), let new = addresses[value] ?? addresses[mirrored] {
                let replaced = Array(new.littleOctets.prefix(Self.addressLength))
                octets.replaceSubrange(at..<at + Self.addressLength, with: addresses[value] != nil ? replaced : replaced.reversed())
                at += Self.addressLength
            } else {
                at += 1
            }
        }
    }

    private mutating func note(_ octets: [UInt8], _ kind: Kind) {
        guard kind != .data, count(kind) < Self.most else { return }
        seen[kind, default: []].insert(digest(octets, kind))
    }

    private func digest(_ octets: [UInt8], _ kind: Kind) -> UInt128 { secret.cmac([kind.rawValue] + octets) }

    /// All zeros or all ones: no value, or a blanked one.
    private static func isPlain(_ octets: [UInt8]) -> Bool { octets.allSatisfy { $0 == 0 } || octets.allSatisfy { $0 == 0xFF } }

    /// An address with few different octets may occur by chance.
    private static func isDistinct(_ octets: [UInt8]) -> Bool { Set(octets).count >= 4 }
}

extension FixedWidthInteger {
    fileprivate var littleOctets: [UInt8] {
        stride(from: 0, to: Self.bitWidth, by: 8).map { UInt8(truncatingIfNeeded: self >> Self($0)) }
    }
}
