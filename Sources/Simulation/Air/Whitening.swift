/// The data whitener: x^7 + x^4 + 1. LE seeds it with the channel index, BR/EDR with the clock. Core Vol 6, Part B, 3.2; Core Vol 2, Part
/// B, 7.2.
public struct Whitening {
    private var register: UInt8

    init(channel: ChannelIndex) {
        // Position 0 is set to 1; positions 1...6 hold the channel index, most significant bit first. Bit n of the register is position n.
        var value: UInt8 = 1
        for position in 1...6 where channel.rawValue >> UInt8(6 - position) & 1 == 1 { value |= 1 << UInt8(position) }
        register = value
    }

    /// - Parameter clock: CLK at the start of the packet; CLK6-1 enter with a 1 above them.
    public init(clock: UInt32) { register = 0x40 | UInt8(clock >> 1 & 0x3F) }

    /// Whitener for an FHS packet or an extended inquiry response, when the devices share no clock.
    ///
    /// - Parameter phase: five-bit X of the hop sequence; it enters with two 1s above it.
    init(phase: Int) { register = 0x60 | UInt8(truncatingIfNeeded: phase & 0x1F) }

    private init(register: UInt8) { self.register = register }

    /// Whitening sequence and next register for eight bits, for each register state.
    private static let octets: [(sequence: UInt8, register: UInt8)] = (0..<UInt8(128)).map {
        var whitening = Whitening(register: $0)
        return (UInt8(truncatingIfNeeded: whitening.next(bits: 8)), whitening.register)
    }

    /// The next octet of the whitening sequence, first bit in the least significant place.
    public mutating func next() -> UInt8 {
        let (sequence, following) = Self.octets[Int(register)]
        register = following
        return sequence
    }

    /// The next `count` bits of the whitening sequence (at most 32), first bit in the least significant position. A BR/EDR header takes 18.
    public mutating func next(bits count: Int) -> UInt32 {
        var word: UInt32 = 0
        for bit in 0..<count {
            let output = register >> 6 & 1
            word |= UInt32(output) << UInt32(bit)
            register = (register << 1 & 0x7F) | output
            if output == 1 { register ^= 1 << 4 }
        }
        return word
    }

    /// Whitens or de-whitens a PDU and its CRC in place.
    public mutating func apply(to octets: inout [UInt8]) {
        for index in octets.indices { octets[index] ^= next() }
    }
}
