// swift-crypto's own API allocates each result, which is too slow per packet. The version of swift-crypto is pinned in the package.
internal import CCryptoBoringSSL

/// AES-CCM of the LE link layer: 13-octet nonce, one octet of additional data, 4-octet MIC. Core Vol 6, Part E, 2.
public final class LinkCipher: Sendable {
    /// Octets added by encryption.
    public static let micLength = 4
    private static let block = 16

    private let key: AES_KEY
    private let iv: [UInt8]

    /// - Parameters:
    ///   - sessionKey: e(LTK, SKD), with the peripheral's half of SKD as the upper half.
    ///   - iv: eight octets in transmission order: the central's four, then the peripheral's.
    public init(sessionKey: UInt128, iv: [UInt8]) {
        var key = AES_KEY()
        _ = CCryptoBoringSSL_AES_set_encrypt_key(sessionKey.octets, 128, &key)
        self.key = key
        self.iv = iv.count == 8 ? iv : [UInt8]((iv + [UInt8](repeating: 0, count: 8)).prefix(8))
    }

    /// Encrypts a payload and appends it with its MIC.
    ///
    /// - Parameters:
    ///   - counter: packet counter of this direction, 39 bits.
    ///   - fromCentral: the direction bit.
    ///   - header: first octet of the PDU header; NESN, SN and MD are masked.
    public func seal(_ payload: RawSpan, counter: UInt64, fromCentral: Bool, header: UInt8, into sealed: inout [UInt8]) {
        withScratch(payload.byteCount) { blocks, stream in
            let text = UnsafeMutableRawBufferPointer(rebasing: stream[Self.block...])
            payload.withUnsafeBytes { text.copyMemory(from: $0) }
            stream.copyMemory(from: authenticate(UnsafeRawBufferPointer(text), blocks, counter, fromCentral, header))
            crypt(stream, counter, fromCentral)
            sealed.append(contentsOf: text)
            sealed.append(contentsOf: stream.prefix(Self.micLength))
        }
    }

    /// Decrypts a payload with its MIC and appends it; false if the MIC is wrong.
    public func open(_ sealed: RawSpan, counter: UInt64, fromCentral: Bool, header: UInt8, into payload: inout [UInt8]) -> Bool {
        let length = sealed.byteCount - Self.micLength
        guard length >= 0 else { return false }
        return withScratch(length) { blocks, stream in
            let text = UnsafeMutableRawBufferPointer(rebasing: stream[Self.block...])
            sealed.withUnsafeBytes {
                text.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(length)))
                stream.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.suffix(Self.micLength)))
            }
            crypt(stream, counter, fromCentral)
            payload.append(contentsOf: text)
            let expected = authenticate(UnsafeRawBufferPointer(text), blocks, counter, fromCentral, header)
            return zip(expected.prefix(Self.micLength), stream).allSatisfy { $0 == $1 }
        }
    }

    /// Encrypts or decrypts octets without a MIC, as for eSCO.
    public func apply(to octets: inout [UInt8], counter: UInt64, fromCentral: Bool) {
        var stream = [UInt8](repeating: 0, count: Self.block) + octets
        stream.withUnsafeMutableBytes { crypt($0, counter, fromCentral) }
        octets = Array(stream.dropFirst(Self.block))
    }

    /// Provides scratch memory for the authenticated blocks, and for the MIC block followed by the payload.
    private func withScratch<Result>(
        _ length: Int, _ body: (_ blocks: UnsafeMutableRawBufferPointer, _ stream: UnsafeMutableRawBufferPointer) -> Result
    ) -> Result {
        let authenticated = (length + 3 * Self.block - 1) / Self.block * Self.block
        return withUnsafeTemporaryAllocation(byteCount: authenticated + Self.block + length, alignment: Self.block) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            return body(
                UnsafeMutableRawBufferPointer(rebasing: memory[..<authenticated]),
                UnsafeMutableRawBufferPointer(rebasing: memory[authenticated...]))
        }
    }

    private func writeNonce(_ counter: UInt64, _ fromCentral: Bool, to block: UnsafeMutableRawBufferPointer) {
        for index in 0..<5 { block[1 + index] = UInt8(truncatingIfNeeded: counter >> UInt64(8 * index)) }
        block[5] = block[5] & 0x7F | (fromCentral ? 0x80 : 0)
        for index in 0..<8 { block[6 + index] = iv[index] }
    }

    /// CBC-MAC over B0, the additional data and the payload: the last encrypted block.
    private func authenticate(
        _ payload: UnsafeRawBufferPointer, _ blocks: UnsafeMutableRawBufferPointer, _ counter: UInt64, _ fromCentral: Bool, _ header: UInt8
    ) -> UnsafeRawBufferPointer {
        blocks[0] = 0x49
        writeNonce(counter, fromCentral, to: blocks)
        blocks[14] = UInt8(truncatingIfNeeded: payload.count >> 8)
        blocks[15] = UInt8(truncatingIfNeeded: payload.count)
        blocks[17] = 1
        blocks[18] = header & 0xE3
        UnsafeMutableRawBufferPointer(rebasing: blocks[(2 * Self.block)...]).copyMemory(from: payload)
        withUnsafeTemporaryAllocation(byteCount: Self.block, alignment: Self.block) { chain in
            chain.initializeMemory(as: UInt8.self, repeating: 0)
            withKey(blocks, chain) { CCryptoBoringSSL_AES_cbc_encrypt($0, $0, blocks.count, $2, $1, AES_ENCRYPT) }
        }
        return UnsafeRawBufferPointer(rebasing: blocks.suffix(Self.block))
    }

    /// Counter mode from A0 on; the first block is used for the MIC.
    private func crypt(_ stream: UnsafeMutableRawBufferPointer, _ counter: UInt64, _ fromCentral: Bool) {
        withUnsafeTemporaryAllocation(byteCount: 2 * Self.block, alignment: Self.block) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            memory[0] = 0x01
            writeNonce(counter, fromCentral, to: memory)
            var used: UInt32 = 0
            withKey(stream, memory) {
                CCryptoBoringSSL_AES_ctr128_encrypt($0, $0, stream.count, $2, $1, $1 + Self.block, &used)
            }
        }
    }

    private func withKey(
        _ first: UnsafeMutableRawBufferPointer, _ second: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt8>, UnsafePointer<AES_KEY>) -> Void
    ) {
        guard let first = first.baseAddress, let second = second.baseAddress else { return }
        withUnsafePointer(to: key) { body(first.assumingMemoryBound(to: UInt8.self), second.assumingMemoryBound(to: UInt8.self), $0) }
    }
}

extension LinkCipher {
    /// The encrypted payload with its MIC.
    public func seal(_ payload: [UInt8], counter: UInt64, fromCentral: Bool, header: UInt8) -> [UInt8] {
        var sealed: [UInt8] = []
        seal(payload.span.bytes, counter: counter, fromCentral: fromCentral, header: header, into: &sealed)
        return sealed
    }

    /// The decrypted payload; nil if the MIC is wrong.
    public func open(_ sealed: [UInt8], counter: UInt64, fromCentral: Bool, header: UInt8) -> [UInt8]? {
        var payload: [UInt8] = []
        let isRight = open(sealed.span.bytes, counter: counter, fromCentral: fromCentral, header: header, into: &payload)
        return isRight ? payload : nil
    }
}
