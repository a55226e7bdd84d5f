/// The one rule from the specification's names to Swift's. STYLE: `LE_Set_PHY` -> `LESetPHY`, `LL_PHY_UPDATE_IND` -> `PHYUpdateInd` in `LLControl`, `Connection_Handle` -> `connectionHandle`.
enum Naming {
    /// Words that stay upper-case where a name is written in capitals throughout.
    private static let abbreviations: Set<String> = [
        "LL", "PHY", "ADV", "AUX", "CIS", "BIS", "BIG", "CIG", "CTE", "MTU", "SCA", "LE", "ID", "IRK", "CSRK", "UUID", "RSSI", "CID", "PSM",
        "SPSM",
    ]
    private static let reservedWords: Set<String> = [
        "default", "public", "private", "in", "is", "as", "for", "internal", "init", "self", "protocol", "repeat", "none",
    ]

    private static func words(_ name: String) -> [String] {
        var result: [String] = []
        var word = ""
        for character in name {
            if character.isLetter || character.isNumber {
                word.append(character)
            } else if !word.isEmpty {
                result.append(word)
                word = ""
            }
        }
        if !word.isEmpty { result.append(word) }
        return result
    }

    /// A type's name.
    static func type(_ name: String) -> String {
        let parts = words(name)
        let shouting = parts.allSatisfy { !$0.contains { $0.isLowercase } } && parts.count > 1
        return parts.map { word in
            if shouting, !abbreviations.contains(word) { return word.prefix(1) + word.dropFirst().lowercased() }
            return word.prefix(1).uppercased() + word.dropFirst()
        }.joined()
    }

    /// A property's, parameter's or case's name.
    static func property(_ name: String) -> String {
        let parts = words(name)
        guard let first = parts.first else { return name }
        let head: String
        let upper = first.prefix { $0.isUppercase || $0.isNumber }
        if upper.count == first.count || (upper.count > 1 && first.dropFirst(upper.count) == "s") {
            head = first.lowercased()
        } else {
            head = first.prefix(1).lowercased() + first.dropFirst()
        }
        let rest = parts.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        let result = head + rest
        if result.first?.isNumber == true { return "_" + result }
        return result
    }

    /// As `property`, in backticks where Swift has the word for itself.
    static func escaped(_ name: String) -> String {
        let result = property(name)
        return reservedWords.contains(result) ? "`\(result)`" : result
    }

    static func caseName(_ typeName: String) -> String {
        let upper = typeName.prefix { $0.isUppercase || $0.isNumber }
        if upper.count == typeName.count { return typeName.lowercased() }
        let keep = upper.count > 1 ? upper.count - 1 : 1
        return typeName.prefix(keep).lowercased() + typeName.dropFirst(keep)
    }
}
