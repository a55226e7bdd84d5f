import BBPackets

/// The E0 key stream of a packet: four linear feedback shift registers and a summation combiner. Core Vol 2, Part H, 4.4 to 4.6.
///
/// Octet 0 of key and address is the least significant, as in LMP and HCI. Encryption and decryption are identical.
public struct E0: Sendable {
    private var registers: Registers
    private var combiner: Combiner

    /// - Parameters:
    ///   - key: Kc', the reduced encryption key.
    ///   - central: the central's address.
    ///   - clock: CLK at the start of the packet, 28 bits that count half slots; CLK26-1 is used.
    public init(key: UInt128, central: BDADDR, clock: UInt32) {
        var state = Registers()
        var combiner = Combiner()
        var before = combiner
        var symbols: UInt128 = 0
        let inputs = Self.inputs(key: key, address: central.rawValue, clock: clock >> 1 & 0x3FF_FFFF)
        for tick in 0..<Self.setupTicks {
            // All registers are filled now; the combiner is reset.
            if tick == 39 { combiner = Combiner() }
            before = combiner
            symbols = symbols >> 1 | UInt128(combiner.next(state)) << 127
            state.advance(tick: tick, inputs)
        }
        registers = Registers(loading: symbols)
        // The combiner keeps its state over the parallel load, and the first bit of the stream replaces the last symbol.
        self.combiner = before
    }

    /// The next octet of the stream; its first bit is the least significant.
    public mutating func next() -> UInt8 {
        var octet: UInt8 = 0
        for bit in 0..<8 as Range<UInt8> {
            octet |= combiner.next(registers) << bit
            registers.advance()
        }
        return octet
    }

    /// Encrypts or decrypts transmitted octets: payload header, data and CRC.
    public mutating func apply(to octets: inout [UInt8]) {
        for index in octets.indices { octets[index] ^= next() }
    }

    // MARK: Initialization

    /// Number of clock ticks before the registers are reloaded with their own output.
    private static let setupTicks = 240

    /// Bits shifted into each register, the first bit in the least significant position.
    private static func inputs(key: UInt128, address: UInt64, clock: UInt32) -> [UInt64] {
        let clock = UInt64(clock)
        func addressOctet(_ index: Int) -> UInt64 { address >> UInt64(8 * index) & 0xFF }
        /// Every fourth octet of the key.
        func keyOctets(_ first: Int) -> UInt64 {
            (0..<4).reduce(0) { $0 | UInt64(key >> UInt128(8 * (first + 4 * $1)) & 0xFF) << UInt64(8 * $1) }
        }
        return [
            clock >> 24 & 1 | keyOctets(0) << 1 | (clock >> 8 & 0xFF) << 33 | addressOctet(2) << 41,
            0b001 | (clock & 0xF) << 3 | keyOctets(1) << 7 | addressOctet(0) << 39 | addressOctet(3) << 47,
            clock >> 25 & 1 | keyOctets(2) << 1 | (clock >> 16 & 0xFF) << 33 | addressOctet(4) << 41,
            0b111 | (clock >> 4 & 0xF) << 3 | keyOctets(3) << 7 | addressOctet(1) << 39 | addressOctet(5) << 47,
        ]
    }
}

/// The four registers; the bit shifted in last is the least significant.
private struct Registers {
    private var first: UInt64 = 0
    private var second: UInt64 = 0
    private var third: UInt64 = 0
    private var fourth: UInt64 = 0

    init() {}

    /// Loads the last 128 symbols of the initialization; the oldest is the least significant.
    init(loading symbols: UInt128) {
        func octet(_ index: Int) -> UInt64 { UInt64(symbols >> UInt128(8 * index) & 0xFF) }
        first = octet(0) | octet(4) << 8 | octet(8) << 16 | (octet(12) & 1) << 24
        second = octet(1) | octet(5) << 8 | octet(9) << 16 | (octet(12) >> 1) << 24
        third = octet(2) | octet(6) << 8 | octet(10) << 16 | octet(13) << 24 | (octet(15) & 1) << 32
        fourth = octet(3) | octet(7) << 8 | octet(11) << 16 | octet(14) << 24 | (octet(15) >> 1) << 32
    }

    /// x1 + x2 + x3 + x4: output bits at positions 24, 24, 32 and 32.
    var sum: UInt8 { UInt8(truncatingIfNeeded: (first >> 23 & 1) + (second >> 23 & 1) + (third >> 31 & 1) + (fourth >> 31 & 1)) }

    /// t^25 + t^20 + t^12 + t^8 + 1, t^31 + t^24 + t^16 + t^12 + 1, t^33 + t^28 + t^24 + t^4 + 1 and t^39 + t^36 + t^28 + t^4 + 1.
    private var feedback: (UInt64, UInt64, UInt64, UInt64) {
        (
            (first >> 24 ^ first >> 19 ^ first >> 11 ^ first >> 7) & 1,
            (second >> 30 ^ second >> 23 ^ second >> 15 ^ second >> 11) & 1,
            (third >> 32 ^ third >> 27 ^ third >> 23 ^ third >> 3) & 1,
            (fourth >> 38 ^ fourth >> 35 ^ fourth >> 27 ^ fourth >> 3) & 1
        )
    }

    mutating func advance() {
        let feedback = feedback
        shift(feedback.0, feedback.1, feedback.2, feedback.3)
    }

    /// During initialization, a register feeds back only once it is full.
    mutating func advance(tick: Int, _ inputs: [UInt64]) {
        let feedback = feedback
        func entering(_ index: Int, _ length: Int, _ feedback: UInt64) -> UInt64 {
            (tick < UInt64.bitWidth ? inputs[index] >> UInt64(tick) & 1 : 0) ^ (tick < length ? 0 : feedback)
        }
        shift(entering(0, 25, feedback.0), entering(1, 31, feedback.1), entering(2, 33, feedback.2), entering(3, 39, feedback.3))
    }

    private mutating func shift(_ one: UInt64, _ two: UInt64, _ three: UInt64, _ four: UInt64) {
        first = (first << 1 | one) & (1 << 25 - 1)
        second = (second << 1 | two) & (1 << 31 - 1)
        third = (third << 1 | three) & (1 << 33 - 1)
        fourth = (fourth << 1 | four) & (1 << 39 - 1)
    }
}

/// The summation combiner with two 2-bit memories.
private struct Combiner {
    /// c of this tick and of the previous one.
    private var current: UInt8 = 0
    private var previous: UInt8 = 0

    /// z of this tick.
    mutating func next(_ registers: Registers) -> UInt8 {
        let sum = registers.sum + current
        // T2 maps (x1, x0) to (x0, x1 + x0); T1 is the identity.
        let crossed = (previous & 1) << 1 | (previous >> 1 ^ previous & 1)
        (current, previous) = (sum >> 1 ^ current ^ crossed, current)
        return sum & 1
    }
}
