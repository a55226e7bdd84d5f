/// Removes addresses and keys from text: a second line of defence behind commands that print none.
enum SecretFilter {
    static let mark = "(hidden)"

    /// Replaces six octets with colons, and runs of exactly 12 or of 32 and more hexadecimal digits, which are serial numbers made of an
    /// address, and keys.
    static func hide(_ text: String) -> String {
        var result: [UInt8] = []
        let all = Array(text.utf8)
        result.reserveCapacity(all.count)
        var index = 0
        while index < all.count {
            guard isWord(all[index]) else {
                result.append(all[index])
                index += 1
                continue
            }
            var end = index
            while end < all.count, isWord(all[end]) || (all[end] == colon && end + 1 < all.count && isWord(all[end + 1])) { end += 1 }
            let run = all[index..<end]
            if isSecret(run) { result += Array(mark.utf8) } else { result += run }
            index = end
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static let colon = UInt8(ascii: ":")

    private static func isWord(_ octet: UInt8) -> Bool {
        isDigit(octet) || (UInt8(ascii: "g")...UInt8(ascii: "z")).contains(octet | 0x20) || octet == UInt8(ascii: "_")
    }

    private static func isDigit(_ octet: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(octet | 0x20)
    }

    private static func isSecret(_ run: ArraySlice<UInt8>) -> Bool {
        let parts = run.split(separator: colon)
        // An address may follow other words with a colon, as in `usb:0A12:0001/...`.
        for start in parts.indices where parts.count - start >= 6 {
            if parts[start..<start + 6].allSatisfy({ $0.count == 2 && $0.allSatisfy(isDigit) }) { return true }
        }
        return parts.contains { part in
            let digits = part.starts(with: Array("0x".utf8)) ? part.dropFirst(2) : part
            return (digits.count == 12 || digits.count >= 32) && digits.allSatisfy(isDigit)
        }
    }
}
