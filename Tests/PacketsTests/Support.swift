import Testing

@testable import Packets

/// A small generator with a state of 64 bits.
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

/// Reads and writes parameters by a struct whose type is known at run time only.
func recode<Struct: PDU>(_ type: Struct.Type, _ parameters: [UInt8]) throws -> [UInt8] {
    let pdu = try Struct(parameters: parameters)
    let encoded = pdu.parameters
    guard try Struct(parameters: encoded) == pdu else { throw Unequal() }
    return encoded
}

struct Unequal: Error {}

func returnType<Command: HCICommand>(_ type: Command.Type) -> any PDU.Type { Command.Return.self }

/// A declared PDU as an argument of a test.
struct Declared: Sendable, CustomTestStringConvertible {
    var declaration: PDUDeclaration
    var testDescription: String { declaration.layer + "/" + declaration.name }

    static let all = PDUCatalog.all.map { Declared(declaration: $0) }
    static let withReturns = all.filter { $0.declaration.returns != nil }

    /// The parameters of a random PDU, and those that its return would have.
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
