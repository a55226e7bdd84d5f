import BBBluetoothCrypto
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// A sniffer cannot compute secrets from captured PDUs.
struct SecretsTests {
    /// PDUs of ten pairings with association models that send many random numbers.
    private static func pairings(_ secrets: (Int, PairingLab.Side) -> SecretSource) -> [[[UInt8]]] {
        (0..<10).map { number in
            var (central, peripheral) = (PairingSettings(), PairingSettings())
            for side in [PairingLab.Side.central, .peripheral] {
                var settings = side == .central ? central : peripheral
                settings.asksForMITM = true
                settings.ioCapability = side == .central ? .keyboardOnly : .displayOnly
                settings.supportsSecureConnections = number % 2 == 0
                (settings.localKeys, settings.peerKeys) = ([.encKey, .signKey], [.encKey, .signKey])
                if side == .central { central = settings } else { peripheral = settings }
            }
            var lab = PairingLab(central, peripheral)
            for side in [PairingLab.Side.central, .peripheral] { lab[side].setup.secrets = secrets(number, side) }
            let sniffer = Sniffer()
            lab.onTheWay = { side, pdu in
                sniffer.heard[side, default: []].append(pdu)
                return [pdu]
            }
            lab.pair()
            #expect(lab[.central].result != nil && lab[.peripheral].result != nil)
            return [sniffer.heard[.central] ?? [], sniffer.heard[.peripheral] ?? []]
        }.flatMap { $0 }
    }

    private final class Sniffer { var heard: [PairingLab.Side: [[UInt8]]] = [:] }

    /// 64-bit random numbers that one device sends: nonces, random values, LTK, Rand, CSRK.
    private static func words(of pdus: [[UInt8]]) -> [UInt64] {
        let drawn: Set<UInt8> = [
            SMP.PairingRandom.opcode, SMP.EncryptionInformation.opcode, SMP.CentralIdentification.opcode, SMP.SigningInformation.opcode,
        ]
        return pdus.filter { drawn.contains($0[0]) }.flatMap { pdu -> [UInt64] in
            let value = pdu.dropFirst(pdu[0] == SMP.CentralIdentification.opcode ? 3 : 1).reversed()
            return stride(from: 0, to: value.count, by: 8).map { at in
                value.dropFirst(at).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            }
        }
    }

    // MARK: The attack

    /// Four successive outputs of xoshiro256** are its state.
    private static func state(of outputs: ArraySlice<UInt64>) -> [UInt64]? {
        guard outputs.count == 4 else { return nil }
        // The inverses of 9 and 5 modulo 2^64.
        let second = outputs.map { output -> UInt64 in
            let product = output &* 0x8E38_E38E_38E3_8E39
            return (product >> 7 | product << 57) &* 0xCCCC_CCCC_CCCC_CCCD
        }
        let sums = (0..<3).map { second[$0] ^ second[$0 + 1] }
        let third = (0..<2).map { sums[$0] ^ second[$0] << 17 }
        let first = (0..<2).map { sums[$0 + 1] ^ third[$0] }
        return [first[0], second[1], third[0], first[0] ^ first[1] ^ second[1]]
    }

    private static func predictions(_ state: [UInt64], _ count: Int) -> [UInt64] {
        var state = state
        return (0..<count).map { _ in
            let product = state[1] &* 5
            let output = (product << 7 | product >> 57) &* 9
            let shifted = state[1] << 17
            state[2] ^= state[0]
            state[3] ^= state[1]
            state[1] ^= state[2]
            state[0] ^= state[3]
            state[2] ^= shifted
            state[3] = state[3] << 45 | state[3] >> 19
            return output
        }
    }

    /// Number of one device's random numbers that follow from four others.
    private static func predicted(_ sides: [[[UInt8]]]) -> Int {
        sides.map { pdus in
            let words = words(of: pdus)
            let later = Set(words)
            return words.indices.dropLast(3).count { start in
                guard let state = state(of: words[start..<start + 4]) else { return false }
                // The next outputs of the state, except the three from which it was computed.
                return predictions(state, 64).dropFirst(3).contains { later.contains($0) }
            }
        }.reduce(0, +)
    }

    @Test func numbersOfTheSystemFollowFromNoOthers() {
        let reproducible = Self.pairings { number, side in SecretSource(seed: UInt64(number), label: "\(side)", on: RunLoop(mode: .virtual))
        }
        #expect(Self.predicted(reproducible) > 0, "the attack finds what a seed has made")
        let sides = Self.pairings { _, _ in .system }
        #expect(Self.predicted(sides) == 0)
        let words = sides.flatMap { Self.words(of: $0) }
        #expect(Set(words).count == words.count)
        let halves = words.flatMap { [$0 >> 32, $0 & 0xFFFF_FFFF] }
        // Allows one coincidence among about a thousand 32-bit numbers.
        #expect(halves.count - Set(halves).count <= 1)
        // Six standard deviations around one half.
        let (ones, bits) = (words.reduce(0) { $0 + $1.nonzeroBitCount }, 64 * words.count)
        #expect((2 * ones - bits) * (2 * ones - bits) < 36 * bits)
    }

    /// On a loop in wall time the seed has no effect; in virtual time runs are reproducible.
    @Test(arguments: [RunLoop.Mode.wall, .virtual]) func onlyVirtualTimeRepeatsSecrets(_ mode: RunLoop.Mode) {
        let loop = RunLoop(mode: mode)
        var sources = (0..<2).map { _ in SecretSource(seed: 1, label: "host", on: loop) }
        sources += sources.map { $0.stream("key pair") }
        let drawn = sources.indices.map { sources[$0].octets(24) }
        #expect((drawn[0] == drawn[1]) == (mode == .virtual) && (drawn[2] == drawn[3]) == (mode == .virtual))
        #expect(drawn[0] != drawn[2])
    }

    /// A static address contains 46 bits of a random number. With a 64-bit generator, 2^18 seeds would remain, one of which would give the
    /// IRK.
    @Test func anAddressGivesNoKeyAway() {
        var seeded = RandomSource(seed: 0x0123_4567_89AB_CDEF)
        let address = seeded.next() & 0x3FFF_FFFF_FFFF
        let key = (0..<2).map { _ in seeded.next() }
        #expect(Self.follows(key, from: address), "the attack finds what a seed has made")
        let loop = RunLoop(mode: .wall)
        var (addresses, keys) = (SecretSource(seed: 1, label: "host", on: loop), SecretSource(seed: 1, label: "host", on: loop))
        let shown = addresses.next() & 0x3FFF_FFFF_FFFF
        #expect(
            !Self.follows([keys.next(), keys.next()], from: shown) && !Self.follows([addresses.next(), addresses.next()], from: shown))
    }

    private static func follows(_ key: [UInt64], from address: UInt64) -> Bool {
        for top in 0..<UInt64(1 << 18) {
            // From the output to the second word of the state, and from there to the seed.
            let product = (top << 46 | address) &* 0x8E38_E38E_38E3_8E39
            var word = (product >> 7 | product << 57) &* 0xCCCC_CCCC_CCCC_CCCD
            word = (word ^ word >> 31 ^ word >> 62) &* 0x3196_42B2_D24D_8EC3
            word = (word ^ word >> 27 ^ word >> 54) &* 0x96DE_1B17_3F11_9089
            word = word ^ word >> 30 ^ word >> 60
            var source = RandomSource(seed: word &- 2 &* 0x9E37_79B9_7F4A_7C15)
            _ = source.next()
            if source.next() == key[0], source.next() == key[1] { return true }
        }
        return false
    }
}
