import BBPackets

/// Functions of BR/EDR legacy authentication and pairing, based on SAFER+. Core Vol 2, Part H, 6.
///
/// Octet 0, which the specification prints first and LMP and HCI send first, is the least significant octet of a number here. Octet 0 of an
/// address is the lowest octet of its LAP.
public enum AuthenticationFunctions {
    /// Results of E1: the response to a challenge, and the input of the encryption key.
    public struct Response: Sendable, Hashable {
        /// The response as sent in LMP_sres.
        public var sres: UInt32
        /// The Authenticated Ciphering Offset (ACO): 96 bits.
        public var aco: UInt128
    }

    /// The authentication function E1, 6.1.
    ///
    /// - Parameter claimant: address of the challenged device.
    public static func e1(key: UInt128, rand: UInt128, claimant: BDADDR) -> Response {
        let hash = hash(key: key, rand: rand, offset: claimant.octets)
        return Response(sres: UInt32(truncatingIfNeeded: hash), aco: hash >> 32)
    }

    /// E2 in mode 1, 6.3: a unit key, or one device's contribution to a combination key.
    public static func e21(rand: UInt128, address: BDADDR) -> UInt128 {
        let key = rand ^ 6 << 120
        return UInt128(littleEndianOctets: SAFERPlus(key: key.littleEndianOctets).encryptOneWay(repeated(address.octets)))
    }

    /// E2 in mode 2, 6.3: the initialization key, or the overlay of a temporary key.
    ///
    /// - Parameters:
    ///   - pin: 1...16 octets; the result is nil for other lengths.
    ///   - address: extends a PIN of less than 16 octets.
    public static func e22(rand: UInt128, pin: [UInt8], address: BDADDR) -> UInt128? {
        guard (1...16).contains(pin.count) else { return nil }
        let augmented = Array((pin + address.octets).prefix(16))
        let block = rand ^ UInt128(augmented.count) << 120
        return UInt128(littleEndianOctets: SAFERPlus(key: repeated(augmented)).encryptOneWay(block.littleEndianOctets))
    }

    /// The encryption key Kc by E3, 6.4.
    ///
    /// - Parameter cof: the Ciphering Offset, 96 bits: the ACO of the last authentication, or the central's address twice for broadcasts.
    public static func e3(key: UInt128, rand: UInt128, cof: UInt128) -> UInt128 {
        hash(key: key, rand: rand, offset: Array(cof.littleEndianOctets.prefix(12)))
    }

    /// The function Hash of E1 and E3, 6.1.
    private static func hash(key: UInt128, rand: UInt128, offset: [UInt8]) -> UInt128 {
        let rand = rand.littleEndianOctets
        let first = SAFERPlus(key: key.littleEndianOctets).encrypt(rand)
        let block = zip(zip(first, rand), repeated(offset)).map { ($0.0 ^ $0.1) &+ $1 }
        return UInt128(littleEndianOctets: SAFERPlus(key: shifted(key.littleEndianOctets)).encryptOneWay(block))
    }

    /// The largest primes below 257 of which 10 is a primitive root.
    private static let primes: [UInt8] = [233, 229, 223, 193, 179, 167, 149, 131]

    /// The key for the second half of Hash: a prime is alternately added to or XORed with each octet, in the opposite order in the upper
    /// half.
    private static func shifted(_ key: [UInt8]) -> [UInt8] {
        key.enumerated().map { index, octet in
            let prime = primes[index % 8]
            return index % 2 == index / 8 ? octet &+ prime : octet ^ prime
        }
    }

    /// Repeats octets up to 16.
    private static func repeated(_ octets: [UInt8]) -> [UInt8] { (0..<16).map { octets[$0 % octets.count] } }
}

extension BDADDR {
    /// The six octets, least significant first.
    var octets: [UInt8] { (0..<6).map { UInt8(truncatingIfNeeded: rawValue >> (8 * UInt64($0))) } }
}
