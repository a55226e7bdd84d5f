/// The data whitener: x^7 + x^4 + 1, started from the channel index. Core Vol 6, Part B, 3.2.
struct Whitening {
    private var register: UInt8

    init(channel: ChannelIndex) {
        // Position 0 holds a one, positions 1...6 the channel index from its most significant bit on; bit n here is position n.
        var value: UInt8 = 1
        for position in 1...6 where channel.rawValue >> UInt8(6 - position) & 1 == 1 { value |= 1 << UInt8(position) }
        register = value
    }

    /// The next octet of the whitening sequence, first bit in the least significant place.
    mutating func next() -> UInt8 {
        var octet: UInt8 = 0
        for bit in 0..<8 {
            let output = register >> 6 & 1
            octet |= output << UInt8(bit)
            register = (register << 1 & 0x7F) | output
            if output == 1 { register ^= 1 << 4 }
        }
        return octet
    }

    /// Whitens, or restores, a PDU with its CRC.
    mutating func apply(to octets: inout [UInt8]) {
        for index in octets.indices { octets[index] ^= next() }
    }
}
