internal import BBCLibCrypto

/// AES-CCM of the LE link layer: 13-octet nonce, one octet of additional data, 4-octet MIC. Core Vol 6, Part E, 2.
public final class LinkCipher {
    /// Octets added by encryption.
    public static let micLength = 4
    private static let nonceLength = 13
    /// Bits of the header that are authenticated: not NESN, SN and MD.
    private static let headerMask: UInt8 = 0xE3

    private let sealing = CipherContext()
    private let opening = CipherContext()
    /// Packet counter and direction bit, set for each packet, and the IV.
    private var nonce: [UInt8]

    /// - Parameters:
    ///   - sessionKey: e(LTK, SKD), with the peripheral's half of SKD as the upper half.
    ///   - iv: eight octets in transmission order: the central's four, then the peripheral's.
    public init(sessionKey: UInt128, iv: [UInt8]) {
        nonce = [UInt8](repeating: 0, count: 5) + iv.prefix(8) + [UInt8](repeating: 0, count: max(0, 8 - iv.count))
        for (context, encrypts) in [(sealing.pointer, Int32(1)), (opening.pointer, 0)] {
            let isReady =
                EVP_CipherInit_ex(context, EVP_aes_128_ccm(), nil, nil, nil, encrypts) == 1
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(Self.nonceLength), nil) == 1
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.micLength), nil) == 1
                && EVP_CipherInit_ex(context, nil, nil, sessionKey.octets, nil, encrypts) == 1
            precondition(isReady, "libcrypto does not provide AES-CCM")
        }
    }

    /// Encrypts a payload and appends it with its MIC.
    ///
    /// - Parameters:
    ///   - counter: packet counter of this direction, 39 bits.
    ///   - fromCentral: the direction bit.
    ///   - header: first octet of the PDU header; NESN, SN and MD are masked.
    public func seal(_ payload: RawSpan, counter: UInt64, fromCentral: Bool, header: UInt8, into sealed: inout [UInt8]) {
        seal(payload, counter: counter, fromCentral: fromCentral, additional: header & Self.headerMask, into: &sealed)
    }

    /// - Parameter additional: the authenticated octet that is not encrypted.
    func seal(_ payload: RawSpan, counter: UInt64, fromCentral: Bool, additional: UInt8, into sealed: inout [UInt8]) {
        let start = sealed.count
        payload.withUnsafeBytes { sealed.append(contentsOf: $0) }
        for _ in 0..<Self.micLength { sealed.append(0) }
        sealed.withUnsafeMutableBytes {
            let text = UnsafeMutableRawBufferPointer(rebasing: $0[start..<$0.count - Self.micLength])
            let isSealed =
                crypt(text, sealing, counter, fromCentral, additional)
                && EVP_CIPHER_CTX_ctrl(
                    sealing.pointer, EVP_CTRL_AEAD_GET_TAG, Int32(Self.micLength), $0.baseAddress.map { $0 + start + text.count }) == 1
            precondition(isSealed, "libcrypto has encrypted nothing")
        }
    }

    /// Decrypts a payload with its MIC and appends it; false if the MIC is wrong. The octets appended then are undefined.
    public func open(_ sealed: RawSpan, counter: UInt64, fromCentral: Bool, header: UInt8, into payload: inout [UInt8]) -> Bool {
        open(sealed, counter: counter, fromCentral: fromCentral, additional: header & Self.headerMask, into: &payload)
    }

    func open(_ sealed: RawSpan, counter: UInt64, fromCentral: Bool, additional: UInt8, into payload: inout [UInt8]) -> Bool {
        let length = sealed.byteCount - Self.micLength
        guard length >= 0 else { return false }
        let start = payload.count
        // The MIC follows the payload while that is decrypted.
        sealed.withUnsafeBytes { payload.append(contentsOf: $0) }
        defer { payload.removeLast(Self.micLength) }
        return payload.withUnsafeMutableBytes {
            let text = UnsafeMutableRawBufferPointer(rebasing: $0[start..<start + length])
            let mic = $0.baseAddress.map { $0 + start + length }
            return EVP_CIPHER_CTX_ctrl(opening.pointer, EVP_CTRL_AEAD_SET_TAG, Int32(Self.micLength), mic) == 1
                && crypt(text, opening, counter, fromCentral, additional)
        }
    }

    /// Encrypts or decrypts octets without a MIC, as for eSCO.
    public func apply(to octets: inout [UInt8], counter: UInt64, fromCentral: Bool) {
        // In counter mode both are the same operation.
        octets = seal(octets, counter: counter, fromCentral: fromCentral, header: 0).dropLast(Self.micLength)
    }

    /// Encrypts or decrypts a text in place; false if the MIC to decrypt with is wrong.
    private func crypt(
        _ text: UnsafeMutableRawBufferPointer, _ context: borrowing CipherContext, _ counter: UInt64, _ fromCentral: Bool,
        _ additional: UInt8
    ) -> Bool {
        for index in 0..<5 { nonce[index] = UInt8(truncatingIfNeeded: counter >> UInt64(8 * index)) }
        nonce[4] = nonce[4] & 0x7F | (fromCentral ? 0x80 : 0)
        let octets = text.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let context = context.pointer
        var additional = additional
        var done: Int32 = 0
        return EVP_CipherInit_ex(context, nil, nil, nil, nonce, -1) == 1
            && EVP_CipherUpdate(context, nil, &done, nil, Int32(text.count)) == 1
            && EVP_CipherUpdate(context, nil, &done, &additional, 1) == 1
            && EVP_CipherUpdate(context, octets, &done, octets, Int32(text.count)) == 1
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
