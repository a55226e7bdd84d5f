/// SAFER+ with 128-bit keys and blocks, as used by BR/EDR legacy authentication. Core Vol 2, Part H, 6.2.
///
/// Octet 0 of a key or block is printed first in the specification and sent first by LMP and HCI.
struct SAFERPlus {
    /// Round keys K1...K17.
    private let roundKeys: [[UInt8]]

    /// - Parameter key: 16 octets.
    init(key: [UInt8]) {
        var register = key + [key.reduce(0, ^)]
        roundKeys =
            [key]
            + (2...17).map { number in
                for index in register.indices { register[index] = register[index] << 3 | register[index] >> 5 }
                return (0..<16).map { register[(number - 1 + $0) % 17] &+ Self.bias(key: number, octet: $0) }
            }
    }

    /// Encrypts a block with SAFER+: the function Ar.
    func encrypt(_ block: [UInt8]) -> [UInt8] { rounds(block, repeatsInput: false) }

    /// A'r: adds the input again in the third round, which makes the function one-way.
    func encryptOneWay(_ block: [UInt8]) -> [UInt8] { rounds(block, repeatsInput: true) }

    // MARK: Rounds

    /// e: 45^i modulo 257, where 256 counts as zero; and its inverse, l.
    private static let exponential: [UInt8] = {
        var power = 1
        return (0..<256).map { _ in
            defer { power = power * 45 % 257 }
            return UInt8(truncatingIfNeeded: power)
        }
    }()
    private static let logarithm: [UInt8] = {
        var table = [UInt8](repeating: 0, count: 256)
        for (index, value) in exponential.enumerated() { table[Int(value)] = UInt8(index) }
        return table
    }()

    /// True for octets 0, 3, 4, 7 and so on. These are XORed where the others are added, and the reverse.
    private static func isOuter(_ index: Int) -> Bool { index % 4 == 0 || index % 4 == 3 }

    /// The Armenian shuffle between the layers of the pseudo-Hadamard transform: source index of each octet.
    private static let shuffle = [8, 11, 12, 15, 2, 1, 6, 5, 10, 9, 14, 13, 0, 7, 4, 3]

    /// An octet of the key schedule's bias: 45 to the power of a power of 45. An inner power of 256 is stored as zero, which has the same
    /// effect, since 45^256 is 1.
    private static func bias(key number: Int, octet: Int) -> UInt8 { exponential[Int(exponential[(17 * number + octet + 1) % 256])] }

    private func rounds(_ block: [UInt8], repeatsInput: Bool) -> [UInt8] {
        var state = block
        for round in 0..<8 {
            if repeatsInput, round == 2 { Self.combine(&state, block, xorsOuter: true) }
            Self.combine(&state, roundKeys[2 * round], xorsOuter: true)
            for index in state.indices {
                state[index] = (Self.isOuter(index) ? Self.exponential : Self.logarithm)[Int(state[index])]
            }
            Self.combine(&state, roundKeys[2 * round + 1], xorsOuter: false)
            Self.transform(&state)
        }
        Self.combine(&state, roundKeys[16], xorsOuter: true)
        return state
    }

    /// XORs octets at some positions and adds them modulo 256 at the others.
    private static func combine(_ state: inout [UInt8], _ other: [UInt8], xorsOuter: Bool) {
        for index in state.indices {
            if isOuter(index) == xorsOuter { state[index] ^= other[index] } else { state[index] &+= other[index] }
        }
    }

    private static func transform(_ state: inout [UInt8]) {
        for layer in 0..<4 {
            if layer > 0 {
                let before = state
                for (index, source) in shuffle.enumerated() { state[index] = before[source] }
            }
            for index in stride(from: 0, to: 16, by: 2) {
                let sum = state[index] &+ state[index + 1]
                state[index] &+= sum
                state[index + 1] = sum
            }
        }
    }
}
