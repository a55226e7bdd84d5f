/// The rule that converts the specification's names to Swift's: `LE_Set_PHY` -> `LESetPHY`, `LL_PHY_UPDATE_IND` -> `PHYUpdateInd` in
/// `LLControl`, `Connection_Handle` -> `connectionHandle`.
///
/// A name is divided into words. A word in capitals is an abbreviation and remains (`CIS`, `RX`), unless the whole name is in capitals,
/// where only the listed words remain (`PHY_UPDATE_IND`), or the specification writes an ordinary word in capitals (`PATTERN`).
enum Naming {
    /// The abbreviations in names that are entirely in capitals.
    private static let abbreviations: Set<String> = [
        "LL", "PHY", "ADV", "AUX", "CIS", "BIS", "BIG", "CIG", "CTE", "MTU", "SCA", "LE", "ID", "IRK", "CSRK", "UUID", "RSSI", "CID", "PSM",
        "SPSM", "AFH", "IO", "AES", "OOB", "BD", "ADDR", "LT", "OTP", "IAC", "LAP", "CS", "TX", "RX", "PN", "FCON", "FCOFF", "MSC", "NSC",
        "RPN", "RLS", "ACP", "SEID",
    ]
    /// The Swift spelling of words that the specification writes in capitals.
    private static let spelled: [String: String] = [
        "PATTERN": "Pattern", "DIRECT": "Direct", "SCAN": "Scan", "NONCONN": "Nonconn", "SYNC": "Sync", "IND": "Ind", "REQ": "Req",
        "RSP": "Rsp", "DHKEY": "DHKey", "ACCEPTED": "Accepted", "DETACH": "Detach", "HOLD": "Hold",
        "PHYS": "PHYs",
    ]
    private static let reservedWords: Set<String> = [
        "default", "public", "private", "in", "is", "as", "for", "internal", "init", "self", "protocol", "repeat", "none",
    ]

    /// Returns the words with their capitals inside a name.
    private static func words(_ name: String) -> [String] {
        var words = name.split { !$0.isLetter && !$0.isNumber }.map(String.init)
        // 802 is an IEEE standard.
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
            // T_FCS is one symbol: a letter with an index.
            let isIndex = index == 1 && words[0] == "T"
            if isIndex || (isShouting && !abbreviations.contains(word)) { return isCapital(word) ? capitalised(word) : word }
            return word.prefix(1).uppercased() + word.dropFirst()
        }
    }

    private static func isCapital(_ word: String) -> Bool { !word.contains { $0.isLowercase } }
    /// Capitalizes a word unless it starts with a digit: 2M.
    private static func capitalised(_ word: String) -> String {
        word.first?.isNumber == true ? word : word.prefix(1) + word.dropFirst().lowercased()
    }

    /// Returns the singular: `Replies` -> `Reply`, `CISes` -> `CIS`, `Reports` -> `Report`.
    static func singular(_ name: String) -> String {
        if name.hasSuffix("ies") { return name.dropLast(3) + "y" }
        if name.hasSuffix("Ses") { return String(name.dropLast(2)) }
        return name.hasSuffix("s") ? String(name.dropLast()) : name
    }

    /// Returns the name of a type.
    static func type(_ name: String) -> String { words(name).joined() }

    /// Returns the name of a property, parameter or case.
    static func property(_ name: String) -> String {
        let parts = words(name)
        guard let first = parts.first else { return name }
        return head(
            name.hasPrefix(first) ? first : name.first?.isLowercase == true ? first.prefix(1).lowercased() + first.dropFirst() : first)
            + parts.dropFirst().joined()
    }

    /// Returns the first word of a name in lower case: `CRCInit` -> `crcInit`, `PHYs` -> `phys`, `CISes` -> `cises`.
    private static func head(_ word: String) -> String {
        if word == "QoS" { return "qos" }
        let upper = word.prefix { $0.isUppercase || $0.isNumber }
        let rest = word.dropFirst(upper.count)
        if upper.count > 1, rest.isEmpty || rest == "s" || rest == "es" { return word.lowercased() }
        let small = upper.count > 1 ? upper.count - 1 : 1
        return word.prefix(small).lowercased() + word.dropFirst(small)
    }

    /// Returns the property name, in backticks if it is a Swift keyword.
    static func escaped(_ name: String) -> String {
        let result = property(name)
        return reservedWords.contains(result) ? "`\(result)`" : result
    }

    static func caseName(_ typeName: String) -> String { head(typeName) }
}
