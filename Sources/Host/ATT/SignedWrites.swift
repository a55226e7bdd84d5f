import BBBluetoothCrypto
import BBPackets

/// Signatures of ATT_SIGNED_WRITE_CMD on an unencrypted link. Core Vol 3, Part C, 10.4 and Part H, 2.4.5.
extension SigningKey {
    /// Signature length in octets: counter and half of a MAC.
    static let signatureLength = 12

    /// The message with its signature; increments the counter. Nil if the counter is exhausted.
    mutating func sign(_ message: [UInt8]) -> [UInt8]? {
        guard counter < .max else { return nil }
        let signature = AttributeHashes.signature(csrk: UInt128(littleEndianOctets: value), message: message, counter: counter)
        counter += 1
        return message + signature
    }

    /// True if the PDU ends with a valid signature whose counter has not been used before; marks the counter as used.
    mutating func verify(_ pdu: [UInt8], _ quirks: HostQuirks) -> Bool {
        guard pdu.count >= Self.signatureLength else { return false }
        let message = [UInt8](pdu.dropLast(Self.signatureLength))
        let used = pdu.span.bytes.extracting(message.count...).unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self)
        guard used < .max, used >= counter || quirks.ignoresSignCounter else { return false }
        let expected = AttributeHashes.signature(csrk: UInt128(littleEndianOctets: value), message: message, counter: used)
        guard expected == [UInt8](pdu.suffix(Self.signatureLength)) || quirks.ignoresSignature else { return false }
        counter = used + 1
        return true
    }
}

extension GATTServerSession {
    /// Security level proven by a signed PDU; nil if the signature is invalid.
    func verify(_ pdu: [UInt8], _ quirks: HostQuirks) -> LinkSecurity? {
        guard let connection = link as? Connection else { return nil }
        connection.context.keys.refresh()
        guard var bond = connection.bond, var key = bond.peerSigningKey, key.verify(pdu, quirks) else { return nil }
        bond.peerSigningKey = key
        connection.context.keys.update(bond)
        return bond.isAuthenticated ? .authenticated : .encrypted
    }
}

extension GATTClient {
    /// Writes without response; signed with the bond's key if the link is not encrypted. Core Vol 3, Part G, 4.9.2 and Part C, 10.4.
    ///
    /// - Throws: `HostError.misuse(.noKey)` if there is no signing key or its counter is exhausted.
    public func signedWrite(_ handle: UInt16, _ value: [UInt8]) async throws {
        guard let connection = bearer.client.link as? Connection, connection.isConnected else { throw HostError.misuse(.notConnected) }
        if connection.security > .none { return try await writeCommand(handle, value) }
        try await bearer.waitForRoom()
        // Read after the wait: another write may have used the counter, or another program with the same bond file, unless both sign at
        // the same moment.
        connection.context.keys.refresh()
        guard var bond = connection.bond, var key = bond.localSigningKey else { throw HostError.misuse(.noKey) }
        let message = [ATT.SignedWriteCmd.opcode, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)] + value
        try bearer.checkSigned(value)
        guard let pdu = key.sign(message) else { throw HostError.misuse(.noKey) }
        bond.localSigningKey = key
        connection.context.keys.update(bond)
        bearer.transmit(pdu)
    }
}

extension ATTBearer {
    /// - Throws: `HostError.misuse(.tooLong)` for a value that does not fit into a signed write.
    func checkSigned(_ value: [UInt8]) throws {
        let limit = AttributeValueLength.longest(inMTU: mtu, overhead: AttributeValueLength.header + SigningKey.signatureLength)
        guard value.count <= limit else { throw HostError.misuse(.tooLong(octets: value.count, limit: limit)) }
    }
}
