/// The one rule from the specification's names to Swift's. STYLE: `LE_Set_PHY` -> `LESetPHY`, `LL_PHY_UPDATE_IND` -> `PHYUpdateInd` in `LLControl`, `Connection_Handle` -> `connectionHandle`.
///
/// A name is cut into words. A word in capitals is an abbreviation and stays (`CIS`, `RX`), unless the whole name is in capitals, where only those of the list
/// are (`PHY_UPDATE_IND`), or the specification writes an ordinary word in capitals (`PATTERN`).
enum Naming {
    /// What is an abbreviation even in a name that is in capitals throughout.
    private static let abbreviations: Set<String> = [
        "LL", "PHY", "ADV", "AUX", "CIS", "BIS", "BIG", "CIG", "CTE", "MTU", "SCA", "LE", "ID", "IRK", "CSRK", "UUID", "RSSI", "CID", "PSM",
        "SPSM", "AFH", "IO", "AES", "OOB", "BD", "ADDR", "LT", "OTP", "IAC", "LAP", "CS", "TX", "RX",
    ]
    /// Words that the specification writes in capitals, in Swift's way.
    private static let spelled: [String: String] = [
        "PATTERN": "Pattern", "DIRECT": "Direct", "SCAN": "Scan", "NONCONN": "Nonconn", "SYNC": "Sync", "IND": "Ind", "REQ": "Req",
        "RSP": "Rsp", "DHKEY": "DHKey", "ACCEPTED": "Accepted", "DETACH": "Detach", "HOLD": "Hold",
        "PHYS": "PHYs",
    ]
    private static let reservedWords: Set<String> = [
        "default", "public", "private", "in", "is", "as", "for", "internal", "init", "self", "protocol", "repeat", "none",
    ]

    /// The words, each in the capitals that it has inside a name.
    private static func words(_ name: String) -> [String] {
        var words = name.split { !$0.isLetter && !$0.isNumber }.map(String.init)
        // Numbers of other standards: 802 is IEEE's.
        if words.first == "802" { words[0] = "IEEE802" }
        // The keys and times of one side: SKD_C is the central's.
        if words.count > 1, words[words.count - 2] != "To", words[words.count - 2] != "TO",
            let side = ["C": "Central", "P": "Peripheral"][words[words.count - 1]]
        {
            words[words.count - 1] = side
        }
        let isShouting = words.count > 1 && words.allSatisfy { isCapital($0) || $0 == "Central" || $0 == "Peripheral" }
        return words.enumerated().map { index, word in
            if let spelled = spelled[word] { return spelled }
            // T_FCS is one symbol: a letter and its index.
            let isIndex = index == 1 && words[0] == "T"
            if isIndex || (isShouting && !abbreviations.contains(word)) { return isCapital(word) ? capitalised(word) : word }
            return word.prefix(1).uppercased() + word.dropFirst()
        }
    }

    private static func isCapital(_ word: String) -> Bool { !word.contains { $0.isLowercase } }
    /// What begins with a number is no word: 2M.
    private static func capitalised(_ word: String) -> String {
        word.first?.isNumber == true ? word : word.prefix(1) + word.dropFirst().lowercased()
    }

    /// One of several: `Replies` -> `Reply`, `CISes` -> `CIS`, `Reports` -> `Report`.
    static func singular(_ name: String) -> String {
        if name.hasSuffix("ies") { return name.dropLast(3) + "y" }
        if name.hasSuffix("Ses") { return String(name.dropLast(2)) }
        return name.hasSuffix("s") ? String(name.dropLast()) : name
    }

    /// A type's name.
    static func type(_ name: String) -> String { words(name).joined() }

    /// A property's, parameter's or case's name.
    static func property(_ name: String) -> String {
        let parts = words(name)
        guard let first = parts.first else { return name }
        return head(
            name.hasPrefix(first) ? first : name.first?.isLowercase == true ? first.prefix(1).lowercased() + first.dropFirst() : first)
            + parts.dropFirst().joined()
    }

    /// A name's first word in small letters: `CRCInit` -> `crcInit`, `PHYs` -> `phys`, `CISes` -> `cises`.
    private static func head(_ word: String) -> String {
        if word == "QoS" { return "qos" }
        let upper = word.prefix { $0.isUppercase || $0.isNumber }
        let rest = word.dropFirst(upper.count)
        if upper.count > 1, rest.isEmpty || rest == "s" || rest == "es" { return word.lowercased() }
        let small = upper.count > 1 ? upper.count - 1 : 1
        return word.prefix(small).lowercased() + word.dropFirst(small)
    }

    /// As `property`, in backticks where Swift has the word for itself.
    static func escaped(_ name: String) -> String {
        let result = property(name)
        return reservedWords.contains(result) ? "`\(result)`" : result
    }

    static func caseName(_ typeName: String) -> String { head(typeName) }
}
