import BBBluetoothCrypto
import BBPackets
import Testing

@testable import BBSimulation

/// The sample data of Core Vol 2, Part G for what is around a packet's data.
@Suite struct BasebandSampleDataTests {
    /// Splits a text into rows of words.
    static func rows(_ columns: Int, _ text: String) -> [[String]] {
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        return stride(from: 0, to: words.count, by: columns).map { Array(words[$0..<$0 + columns]) }
    }

    static func number(_ text: String, radix: Int = 16) throws -> UInt128 { try #require(UInt128(text, radix: radix)) }

    /// Bits as text, in transmission order.
    static func bits(_ value: UInt128, _ count: Int) -> String { (0..<count).map { value >> UInt128($0) & 1 == 1 ? "1" : "0" }.joined() }
    static func bits(_ octets: [UInt8], _ count: Int) -> String {
        (0..<count).map { octets[$0 / 8] >> UInt8($0 % 8) & 1 == 1 ? "1" : "0" }.joined()
    }

    /// LAP, and the access code in transmission order.
    static let accessCodes = rows(
        2,
        """
        000000 57e7041e34000000d5  ffffff ae758b5227ffffff2a  9e8b33 5475c58cc73345e72a  9e8b34 528ed3c34cb345e72a
        9e8b36 562337b641b345e72a  9e8b39 ac05747b9e7345e72a  9e8b3d 57084eab02f345e72a  9e8b42 564c86d2b90b45e72a
        9e8b48 ae3c3725e04b45e72a  9e8b4f a8c7216a6bcb45e72a  9e8b57 ab2f16c30fab45e72a  9e8b60 557bd3b22c1b45e72a
        9e8b6a ad0b6245755b45e72a  9e8b75 a81843a39abb45e72a  9e8b81 50ca96681e0745e72a  9e8b8e aaecd5a5c1c745e72a
        9e8b9c 517453fbfce745e72a  9e8bab af20968adf5745e72a  9e8bbb 5015f4a1ef7745e72a  9e8bcc ad8c695a00cf45e72a
        9e8bde 5614ef043def45e72a  9e8bf1 aba81ddc7a3f45e72a  9e8c05 564a7dc4f680c5e72a  9e8c1a 53595c221960c5e72a
        9e8c30 acb35cc0d830c5e72a  9e8c47 512ac13b3788c5e72a  9e8c5f 52c2f69253e8c5e72a  9e8c78 53a351c84078c5e72a
        9e8c92 57396d0f3124c5e72a  9e8cad 55b0fdfc46d4c5e72a  9e8cc9 aaea2eb38e4cc5e72a  9e8ce6 5756dc6bc99cc5e72a
        9e8d04 5214cf934882c5e72a  9e8d23 537568c95b12c5e72a  9e8d43 572281560f0ac5e72a  9e8d64 5643260c1c9ac5e72a
        9e8d86 ae044f493986c5e72a  9e8da9 53b8bd917e56c5e72a  9e8dcd ace26edeb6cec5e72a  9e8df2 ae6bfe2dc13ec5e72a
        616cec 5586a491f0dcda18d5  616ceb 537db2de7b5cda18d5  616ce9 57d056ab765cda18d5  616ce6 adf61566a99cda18d5
        616ce2 56fb2fb6351cda18d5  616cdd 5472bf4542ecda18d5  616cd7 ac020eb21bacda18d5  616cd0 aaf918fd902cda18d5
        616cc8 a9112f54f44cda18d5  616cbf 5488b2af1bf4da18d5
        """)

    @Test(arguments: accessCodes) func accessCode(_ row: [String]) throws {
        let code = AccessCode.of(lap: UInt32(try Self.number(row[0])))
        #expect(Self.bits(code, 72) == Self.binary(row[1]))
    }

    private static func binary(_ digits: String) -> String {
        digits.map { digit in
            let bits = String(digit.hexDigitValue ?? 0, radix: 2)
            return String(repeating: "0", count: 4 - bits.count) + bits
        }.joined()
    }

    /// UAP, the ten header bits, HEC.
    static let checks = rows(
        3,
        """
        00 123 e1  47 123 06  00 124 32  47 124 d5  00 125 5a  47 125 bd  00 126 e2  47 126 05
        00 127 8a  47 127 6d  00 11b 9e  47 11b 79  00 11c 4d  47 11c aa  00 11d 25  47 11d c2
        00 11e 9d  47 11e 7a  00 11f f5  47 11f 12
        """)

    @Test(arguments: checks) func headerErrorCheck(_ row: [String]) throws {
        let (uap, fields) = (UInt8(try Self.number(row[0])), UInt32(try Self.number(row[1])))
        #expect(HeaderErrorCheck.of(fields, uap: uap) == UInt8(try Self.number(row[2])))
        let bits = fields | UInt32(try Self.number(row[2])) << 10
        #expect(BREDRHeader(bits: bits, uap: uap)?.bits(uap: uap) == bits)
        #expect(BREDRHeader(bits: bits ^ 1, uap: uap) == nil)
    }

    /// UAP, the ten header bits, and the 54 transmitted bits: octal digits, each one bit sent three times.
    static let headers = rows(
        3,
        """
        47 123 770007007007700000  00 123 770007007070000777  47 11f 777770007007007000
        """)

    @Test(arguments: headers) func header(_ row: [String]) throws {
        let uap = UInt8(try Self.number(row[0]))
        let fields = UInt32(try Self.number(row[1]))
        let header = BREDRHeader(
            ltAddr: UInt8(fields & 7), type: UInt8(fields >> 3 & 15), flow: fields >> 7 & 1 == 1, arqn: fields >> 8 & 1 == 1,
            seqn: fields >> 9 & 1 == 1
        ).bits(uap: uap)
        let coded = OneThirdCode.encode(header, count: 18)
        #expect(Self.bits(UInt128(coded), 54) == Self.octal(row[2]))
        // One wrong bit of three is corrected.
        #expect((0..<54).allSatisfy { OneThirdCode.decode(coded ^ 1 << UInt64($0), count: 18) == header })
    }

    private static func octal(_ digits: String) -> String { digits.map { $0 == "7" ? "111" : "000" }.joined() }

    /// CLK6-1 and 32 bits of the whitening sequence.
    static let whitenings = rows(
        2,
        """
        00 10010011010011110111000011111110  01 10010001000000100100110100111101  02 10010111110101010000101101111001
        15 10111100111001010110011000001101  20 11011010111010001100100010000001  2a 11001100000110110101110100011001
        3f 11100011101100010100101111101010
        """)

    @Test(arguments: whitenings) func whitening(_ row: [String]) throws {
        let clock = UInt32(try Self.number(row[0])) << 1
        // CLK0 and the bits above CLK6 have no effect.
        for rest in [0, 1, 0x80, 0xFFF_FF81] as [UInt32] {
            var whitening = Whitening(clock: clock | rest)
            #expect(Self.bits(UInt128(whitening.next(bits: 32)), 32) == row[1])
        }
    }

    /// Ten data bits as a number, and the parity bits in transmission order.
    static let parities = rows(
        2,
        """
        001 11010  002 01101  004 11100  008 01110  010 00111
        020 11001  040 10110  080 01011  100 11111  200 10101
        """)

    @Test(arguments: parities) func twoThirds(_ row: [String]) throws {
        let data = UInt16(try Self.number(row[0]))
        #expect(Self.bits(UInt128(TwoThirdsCode.parity(data)), 5) == row[1])
        let block = TwoThirdsCode.encode(data ^ 0x2A5)
        for bit in 0..<15 as Range<UInt16> {
            #expect(TwoThirdsCode.decode(block ^ 1 << bit) == data ^ 0x2A5)
            for other in 0..<bit { #expect(TwoThirdsCode.decode(block ^ 1 << bit ^ 1 << other) == nil) }
        }
    }

    /// Type, HEC, and the payload bits in transmission order: header 2e, five octets, CRC.
    static let frames: [(BREDRPacketType, UInt32, String)] = [
        (.dh1, 0x06, "0111010010000000010000001100000000100000101000001110110000110110"),
        (
            .dm1, 0x79,
            "011101001011001000000010001011000011000011110000010000000111101000001101100101100001100010011000000010001"
        ),
    ]

    @Test(arguments: frames) func frame(_ type: BREDRPacketType, _ check: UInt32, _ bits: String) {
        let header = BREDRHeader(ltAddr: 3, type: type.code, arqn: true)
        let payload = BREDRPayloadHeader(.start, flow: true, length: 5).octets(count: 1) + [1, 2, 3, 4, 5]
        let clear = BREDRFrame(type, header, payload: payload, uap: 0x47, clock: nil)
        #expect(OneThirdCode.decode(clear.header, count: 18) >> 10 == check)
        #expect(Self.bits(clear.payload, clear.payloadBits) == bits)
        // Whitening continues from the header into the payload, before the payload is coded.
        let whitened = BREDRFrame(.dh1, header, payload: payload, uap: 0x47, clock: 0x54)
        let plain = BREDRFrame(.dh1, header, payload: payload, uap: 0x47, clock: nil)
        var sequence = Whitening(clock: 0x54)
        #expect(OneThirdCode.decode(whitened.header ^ plain.header, count: 18) == sequence.next(bits: 18))
        #expect(zip(whitened.payload, plain.payload).allSatisfy { $0 ^ $1 == sequence.next() })
        // E0 also encrypts payload header and CRC, before whitening.
        var keyStream = E0(key: 0x1234_5678, central: 0x1122_3344_5566, clock: 0x54)
        let encrypted = BREDRFrame(.dh1, header, payload: payload, uap: 0x47, clock: 0x54, keyStream: keyStream)
        #expect(encrypted.header == whitened.header)
        #expect(zip(encrypted.payload, whitened.payload).allSatisfy { $0 ^ $1 == keyStream.next() })
    }
}
