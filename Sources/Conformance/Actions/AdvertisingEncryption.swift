import BBBluetoothCrypto
import BBCases
import BBHost

/// Arguments that the actions about encrypted advertising data share.
private enum KeyArguments {
    static let key = TypedArgument.octets("key", "the session key, 16 octets, most significant first")
    static let iv = TypedArgument.octets("iv", "the initialization vector, 8 octets, least significant first")

    static func material(_ context: ActionContext) throws -> AdvertisingKeyMaterial {
        guard let material = AdvertisingKeyMaterial(octets: try context(key) + context(iv)) else {
            throw StepFailure(.bench, "key and iv have 16 and 8 octets")
        }
        return material
    }
}

/// Encrypts advertising data as a device with that key material would. Core Supplement, Part A, 1.23.
enum EncryptAdvertising: NamedAction {
    static let name = "encrypt advertising"
    static let about = "encrypts AD structures and makes an Encrypted Data structure of them"
    static let data = TypedArgument.octets("data", "the AD structures")
    static let randomizer = TypedArgument.octets("randomizer", default: [1, 2, 3, 4, 5], "five octets, least significant first")
    static let isSpoiled = TypedArgument.flag("spoiled", default: false, "1 for a wrong MIC")
    static var arguments: [ActionArgument] {
        [
            KeyArguments.key.declaration, KeyArguments.iv.declaration, data.declaration, randomizer.declaration, isSpoiled.declaration,
        ]
    }
    /// The AD data with its size, and the whole AD structure with its length.
    static let results = ["encrypted", "size", "structure", "length"]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        var sealed = AdvertisingCipher(try KeyArguments.material(context)).seal(try context(data), randomizer: try context(randomizer))
        if try context(isSpoiled) { sealed[sealed.count - 1] ^= 1 }
        let structure = AdvertisingElement.other(type: ADType.encryptedData, sealed).octets
        return CaseRecord([
            ("encrypted", .octets(sealed)), ("size", .number(sealed.count)), ("structure", .octets(structure)),
            ("length", .number(structure.count)),
        ])
    }
}

/// Decrypts the Encrypted Data structures of advertising data. Core Supplement, Part A, 1.23.
enum DecryptAdvertising: NamedAction {
    static let name = "decrypt advertising"
    static let about = "finds the one Encrypted Data structure of advertising data and decrypts it"
    static let data = TypedArgument.octets("data", "advertising data")
    static var arguments: [ActionArgument] { [KeyArguments.key.declaration, KeyArguments.iv.declaration, data.declaration] }
    /// The number of such structures; of the first the randomizer, the encrypted payload, the MIC, 1 if that is right, the AD structures in
    /// it, the number of zeros after them, and what follows instead of zeros.
    static let results = ["count", "randomizer", "cipher", "mic", "right", "payload", "zeros", "rest"]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let found = AdvertisingData(octets: try context(data)).encrypted
        let sealed = found.first ?? []
        let (head, tail) = (AdvertisingCipher.randomizerLength, LinkCipher.micLength)
        let opened = AdvertisingCipher(try KeyArguments.material(context)).open(sealed)
        let significant = AdvertisingData(octets: opened ?? []).octets
        let rest = [UInt8]((opened ?? []).dropFirst(significant.count))
        let isPadding = rest.allSatisfy { $0 == 0 }
        return CaseRecord([
            ("count", .number(found.count)), ("randomizer", .octets([UInt8](sealed.prefix(head)))),
            ("cipher", .octets([UInt8](sealed.dropFirst(head).dropLast(tail)))), ("mic", .octets([UInt8](sealed.suffix(tail)))),
            ("right", .number(opened == nil ? 0 : 1)), ("payload", .octets(significant)), ("zeros", .number(isPadding ? rest.count : 0)),
            ("rest", .octets(isPadding ? [] : rest)),
        ])
    }
}

/// A field of advertising data as an upper tester takes it.
enum MakeAdvertisingField: NamedAction {
    static let name = "make advertising field"
    static let about = "makes a field for BTP_GAP_Start_Advertising: type, length, octets"
    static let type = TypedArgument.number("type", 0...255, "the AD type")
    static let data = TypedArgument.octets("data", "its octets")
    static var arguments: [ActionArgument] { [type.declaration, data.declaration] }
    static let results = ["field", "length"]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let octets = [UInt8](try context(data).prefix(254))
        let field = [UInt8(truncatingIfNeeded: try context(type)), UInt8(octets.count)] + octets
        return CaseRecord([("field", .octets(field)), ("length", .number(field.count))])
    }
}
