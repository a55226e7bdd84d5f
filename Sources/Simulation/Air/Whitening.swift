/// The data whitener: x^7 + x^4 + 1. LE starts it from the channel index, BR/EDR from the clock. Core Vol 6, Part B, 3.2; Core Vol 2, Part B, 7.2.
public struct Whitening {
    private var register: UInt8

    init(channel: ChannelIndex) {
        // Position 0 holds a one, positions 1...6 the channel index from its most significant bit on; bit n here is position n.
        var value: UInt8 = 1
        for position in 1...6 where channel.rawValue >> UInt8(6 - position) & 1 == 1 { value |= 1 << UInt8(position) }
        register = value
    }

    /// - Parameter clock: CLK at the packet's start, of which CLK6-1 enters below a one.
    public init(clock: UInt32) { register = 0x40 | UInt8(clock >> 1 & 0x3F) }

    /// Of an FHS packet or an extended inquiry response, while two devices have no clock in common.
    ///
    /// - Parameter phase: X of the hop sequence, five bits, which enter below two ones.
    init(phase: Int) { register = 0x60 | UInt8(truncatingIfNeeded: phase & 0x1F) }

    private init(register: UInt8) { self.register = register }

    /// What eight bits make of each state of the register.
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

    /// The next bits of the whitening sequence, 32 at most, the first in the least significant place: a header of BR/EDR has 18.
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

    /// Whitens, or restores, a PDU with its CRC.
    public mutating func apply(to octets: inout [UInt8]) {
        for index in octets.indices { octets[index] ^= next() }
    }
}
