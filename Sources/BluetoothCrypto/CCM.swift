import Crypto
import CryptoExtras
import Foundation

/// AES-CCM as the LE link layer uses it: a nonce of 13 octets, one octet of additional data, a MIC of four octets. Core Vol 6, Part E, 2.
public struct LinkCipher: Sendable {
    /// Octets that encryption adds.
    public static let micLength = 4

    private let key: SymmetricKey
    private let iv: [UInt8]

    /// - Parameters:
    ///   - sessionKey: e(LTK, SKD), SKD being the peripheral's half above the central's.
    ///   - iv: the eight octets in the order of the air: the central's four, then the peripheral's.
    public init(sessionKey: UInt128, iv: [UInt8]) {
        key = SymmetricKey(data: sessionKey.octets)
        self.iv = iv.count == 8 ? iv : [UInt8]((iv + [UInt8](repeating: 0, count: 8)).prefix(8))
    }

    /// Encrypts a payload and appends its MIC.
    ///
    /// - Parameters:
    ///   - counter: the packet counter of this direction, 39 bits.
    ///   - fromCentral: the direction bit.
    ///   - header: the first octet of the PDU's header; NESN, SN and MD do not count.
    public func seal(_ payload: [UInt8], counter: UInt64, fromCentral: Bool, header: UInt8) -> [UInt8] {
        let nonce = nonce(counter, fromCentral)
        let tag = authenticate(payload, nonce, header)
        let stream = crypt(tag + payload, nonce)
        return [UInt8](stream[16...] + stream[..<4])
    }

    /// Decrypts a payload with its MIC; nil when the MIC does not match.
    public func open(_ sealed: [UInt8], counter: UInt64, fromCentral: Bool, header: UInt8) -> [UInt8]? {
        guard sealed.count >= Self.micLength else { return nil }
        let nonce = nonce(counter, fromCentral)
        let mic = sealed.suffix(4)
        let stream = crypt(mic + [UInt8](repeating: 0, count: 12) + sealed.dropLast(4), nonce)
        let payload = [UInt8](stream[16...])
        let expected = authenticate(payload, nonce, header)
        let difference = zip(expected.prefix(4), stream).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) }
        return difference == 0 ? payload : nil
    }

    private func nonce(_ counter: UInt64, _ fromCentral: Bool) -> [UInt8] {
        var nonce = (0..<5).map { UInt8(truncatingIfNeeded: counter >> (8 * UInt64($0))) }
        nonce[4] = nonce[4] & 0x7F | (fromCentral ? 0x80 : 0)
        return nonce + iv
    }

    /// The CBC-MAC over B0, the additional data and the payload.
    private func authenticate(_ payload: [UInt8], _ nonce: [UInt8], _ header: UInt8) -> [UInt8] {
        var blocks: [UInt8] = [0x49]
        blocks.reserveCapacity(payload.count + 48)
        blocks += nonce
        blocks += [UInt8(truncatingIfNeeded: payload.count >> 8), UInt8(truncatingIfNeeded: payload.count)]
        blocks += [0, 1, header & 0xE3]
        blocks += repeatElement(0, count: 13)
        blocks += payload
        blocks += repeatElement(0, count: (16 - blocks.count % 16) % 16)
        guard let iv = try? AES._CBC.IV(ivBytes: [UInt8](repeating: 0, count: 16)),
            let chained = try? AES._CBC.encrypt(blocks, using: key, iv: iv, noPadding: true)
        else { return [] }
        return [UInt8](chained.suffix(16))
    }

    /// Counter mode from A0 on: the first block belongs to the MIC.
    private func crypt(_ text: [UInt8], _ nonce: [UInt8]) -> [UInt8] {
        guard let counter = try? AES._CTR.Nonce(nonceBytes: [0x01] + nonce + [0, 0]),
            let stream = try? AES._CTR.encrypt(text, using: key, nonce: counter)
        else { return text }
        return [UInt8](stream)
    }
}
