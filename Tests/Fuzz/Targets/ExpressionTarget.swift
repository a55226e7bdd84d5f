import BBPackets
import BBProducts
import BBSessions

extension FuzzTarget {
    /// A regular expression of `--grep` and of `--boot-line`: it is refused with a reason, or searches any line in bounded time and memory.
    static let expressions = FuzzTarget(
        name: "expressions", layer: nil, isText: true,
        seeds: {
            [
                "LE_.*Complete", "^HCI (Reset|Read)", "[[:digit:]]{2,3}", "(a|b)*c?$", "a{1,250}", "((a{1,9}){1,9}){1,9}", "[^]a-z]+",
                "(a+)+$",
                #"\*\*\* Booting "#, #"^ets [A-Z][a-z]{2} +\d"#, #"\bLinux version \d"#, "(?i)u-boot", "a\\", "[", "a{2", ")",
            ].map { Array($0.utf8) }
        },
        run: { input in
            let text = String(decoding: input.prefix(1_000), as: UTF8.self)
            do {
                var wanted = SelectionText()
                wanted.pattern = text
                let selection = try PacketSelection(wanted)
                for line in lines { _ = selection.includes(line: line[...]) }
            } catch { try promise(!"\(error)".isEmpty, "refused without a reason") }
            do { _ = try ProductLog(bootLine: text) } catch { try promise(!"\(error)".isEmpty, "refused without a reason") }
        })

    private static let lines = [
        "", "120 0.003500 > HCI_Reset", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "*** Booting Zephyr OS build v4.2 ***",
        "é\u{1F600}\u{301}z",
        String(repeating: "ab", count: 500),
    ].map { Array($0.utf8) }
}
