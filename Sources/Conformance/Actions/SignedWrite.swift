import BBBluetoothCrypto
import BBCases
import BBHost
import BBPackets

/// Signed Write Without Response. Core Vol 3, Part G, 4.9.2.
enum SignedWrite: NamedAction {
    static let name = "signed write"
    static let about = "the client finds a characteristic by its UUID and writes it with a signature"
    static let uuid = TypedArgument.uuid("uuid", "the characteristic's UUID")
    static let value = TypedArgument.octets("value", "the octets to write")
    static let counter = TypedArgument.number("counter", -1...0xFFFF_FFFE, default: -1, "the SignCounter; the key's own by default")
    static var arguments: [ActionArgument] {
        [TypedArgument.connection.declaration, uuid.declaration, value.declaration, counter.declaration]
    }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let characteristic = try await context.characteristic(try context(uuid))
        if let counter = UInt32(exactly: try context(counter)), let link = try? context.link(), var bond = link.bond {
            bond.localSigningKey?.counter = counter
            try context.driver().host.keys.add(bond)
        }
        try await context.link().gatt.signedWrite(characteristic.value, try context(value))
        return CaseRecord()
    }

    /// The octets that are signed: those of the PDU before the signature.
    static func message(_ handle: Int, _ value: [UInt8]) -> [UInt8] {
        let handle = UInt16(clamping: handle)
        return [ATT.SignedWriteCmd.opcode, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)] + value
    }
}

/// Makes the signature of an ATT_SIGNED_WRITE_CMD, for a bearer that the case serves. Core Vol 3, Part H, 2.4.5.
enum SignData: NamedAction {
    static let name = "sign data"
    static let about = "makes the signature of a signed write with the tester's own signing key"
    static var arguments: [ActionArgument] {
        [TypedArgument.connection.declaration, CheckSignature.handle.declaration, SignedWrite.value.declaration]
    }
    static let results = ["signature"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        guard var bond = try context.link().bond, let key = bond.localSigningKey else {
            throw StepFailure(.precondition, "the tester has given no signing key on this connection")
        }
        let message = SignedWrite.message(try context(CheckSignature.handle), try context(SignedWrite.value))
        let signature = AttributeHashes.signature(csrk: UInt128(littleEndianOctets: key.value), message: message, counter: key.counter)
        bond.localSigningKey?.counter += 1
        try context.driver().host.keys.add(bond)
        return CaseRecord([("signature", .octets(signature))])
    }
}

/// Checks the signature of an ATT_SIGNED_WRITE_CMD with the peer's CSRK. Core Vol 3, Part H, 2.4.5.
enum CheckSignature: NamedAction {
    static let name = "check signature"
    static let about = "compares the signature of a signed write with the peer's signing key"
    static let handle = TypedArgument.number("handle", 0...0xFFFF, "the attribute's handle")
    static let signature = TypedArgument.octets("signature", "the counter and the MAC, 12 octets")
    static var arguments: [ActionArgument] {
        [TypedArgument.connection.declaration, handle.declaration, SignedWrite.value.declaration, signature.declaration]
    }
    static let results = ["right", "counter"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        guard let key = try context.link().bond?.peerSigningKey else {
            return CaseRecord([("right", .number(0)), ("counter", .number(0))])
        }
        let received = try context(signature)
        let number = received.prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let message = SignedWrite.message(try context(handle), try context(SignedWrite.value))
        let expected = AttributeHashes.signature(csrk: UInt128(littleEndianOctets: key.value), message: message, counter: number)
        return CaseRecord([("right", .number(expected == received ? 1 : 0)), ("counter", .number(Int(number)))])
    }
}
