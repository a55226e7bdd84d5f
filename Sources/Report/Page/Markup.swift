import BBConformance
import BBPackets

/// HTML fragments.
enum Markup {
    /// Escapes text from outside: control characters and markup.
    static func text(_ text: String) -> String { JUnit.escape(PlainText.escaped(text)) }

    /// Text with line breaks.
    static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { Self.text(String($0)) }.joined(separator: "<br>")
    }

    /// Text for a `pre` element.
    static func output(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { Self.text(String($0)) }.joined(separator: "\n")
    }

    static func badge(_ verdict: Verdict) -> String {
        #"<span class="badge \#(cssClass(verdict))">\#(verdict.rawValue)</span>"#
    }

    static func milliseconds(_ value: Double) -> String { JUnit.decimal(value, places: 1) }

    /// Fragment identifier of a case.
    static func link(_ id: String) -> String {
        var link = ""
        for octet in id.utf8 {
            let isPlain =
                (0x30...0x39).contains(octet) || (0x41...0x5A).contains(octet) || (0x61...0x7A).contains(octet)
                || "-._~/=,".utf8.contains(octet)
            let digits = String(octet, radix: 16, uppercase: true)
            link += isPlain ? String(UnicodeScalar(octet)) : "%" + (digits.count < 2 ? "0" : "") + digits
        }
        return link
    }

    static func cssClass(_ verdict: Verdict) -> String {
        switch verdict {
        case .pass: "pass"
        case .fail: "fail"
        case .inconclusive: "inconc"
        case .notApplicable: "na"
        case .error: "error"
        }
    }

    /// A command line argument, quoted if the shell requires it.
    static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { octet in
                (0x30...0x39).contains(octet) || (0x41...0x5A).contains(octet) || (0x61...0x7A).contains(octet)
                    || "-._/:=,@%+".utf8.contains(octet)
            }
        return isPlain ? word : "'" + word.replacing("'", with: #"'\''"#) + "'"
    }
}
