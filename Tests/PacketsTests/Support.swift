import Testing

@testable import BBPackets

/// A small random number generator with 64 bits of state.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

/// Decodes and encodes parameters with a struct type known only at run time.
func recode<Struct: PDU>(_ type: Struct.Type, _ parameters: [UInt8]) throws -> [UInt8] {
    let pdu = try Struct(parameters: parameters)
    let encoded = pdu.parameters
    guard try Struct(parameters: encoded) == pdu else { throw Unequal() }
    return encoded
}

struct Unequal: Error {}

func returnType<Command: HCICommand>(_ type: Command.Type) -> any PDU.Type { Command.Return.self }

/// A declared PDU as a test argument.
struct Declared: Sendable, CustomTestStringConvertible {
    var declaration: PDUDeclaration
    var testDescription: String { declaration.layer.rawValue + "/" + declaration.name }

    static let all = PDUCatalog.all.map { Declared(declaration: $0) }
    static let withReturns = all.filter { $0.declaration.returns != nil }
    static let withStructs = all.filter(\.declaration.hasStruct)

    /// Parameters of a random PDU, and its return parameters.
    func random(_ seed: UInt64) throws -> (DynamicPDU, [UInt8]) {
        var generator = SplitMix(state: seed)
        let pdu = declaration.random(using: &generator)
        return (pdu, try pdu.parameters())
    }

    func randomReturns(_ seed: UInt64) throws -> [UInt8] {
        var generator = SplitMix(state: seed)
        var encoder = DynamicEncoder(pdu: declaration.name)
        _ = try encoder.fields(declaration.returns ?? [], declaration.randomReturns(using: &generator))
        return encoder.bytes
    }
}
