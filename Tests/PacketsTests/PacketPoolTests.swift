import BBPackets
import Testing

@Suite struct PacketPoolTests {
    @Test func aBufferIsUsedAgainOnceItsPacketIsGone() {
        var pool = PacketPool(2)
        func address(_ octet: UInt8) -> UInt { pool.make { $0.u8(octet) }.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }
        let first = address(1)
        let second = address(2)
        #expect(first != second)
        #expect([address(3), address(4), address(5)] == [first, second, first])
    }

    @Test func aPacketThatIsStillHeldStaysAsItIs() {
        var pool = PacketPool(2)
        let held = (0..<5).map { number in pool.make { $0.bytes([UInt8](repeating: UInt8(number), count: 10 + number)) } }
        for (number, packet) in held.enumerated() { #expect(packet == [UInt8](repeating: UInt8(number), count: 10 + number)) }
    }
}
