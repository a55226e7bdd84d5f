import BBPackets
import BBTiming

@testable import BBConformance
@testable import BBProducts

extension FuzzTarget {
    /// The log of a product in any pieces: its lines are bounded and printable, and do not depend on the pieces.
    static let productLogs = FuzzTarget(
        name: "product-log", layer: nil, isText: true,
        seeds: {
            [
                "*** Booting Zephyr OS build 4.2 ***\r\n[00:00:00.1] \u{1B}[1;32mI: main\u{1B}[0m\nhalf", "rst:0x1 (POWERON)\n\n\n",
                String(repeating: "x", count: 450) + "\nU-Boot 2026\n", "\u{1B}[\u{1B}\u{0}\u{202E}\n",
            ].map { Array($0.utf8) }
        },
        run: { input in
            let whole = lines(of: input, inPiecesOf: max(1, input.count))
            try promise(whole.map(\.text) == lines(of: input, inPiecesOf: 1).map(\.text), "the pieces matter")
            // An octet becomes at most an escape of ten characters.
            try promise(whole.allSatisfy { $0.text.utf8.count <= 10 * LogBuffer.longestLine + 3 }, "a line is too long")
            try promise(whole.allSatisfy { !$0.text.utf8.contains { $0 < 0x20 || $0 == 0x7F } }, "a line has control characters")
            var excerpt = LogExcerpt()
            for line in whole { excerpt.add(.init(milliseconds: 1, text: line.text)) }
            try promise(excerpt.lines.count + excerpt.omitted == whole.count, "lines are missing")
        })

    private static func lines(of input: [UInt8], inPiecesOf size: Int) -> [LogBuffer.Line] {
        let buffer = LogBuffer()
        for start in stride(from: 0, to: input.count, by: size) { buffer.add(input[start..<min(input.count, start + size)], at: .zero) }
        buffer.finishLine(at: .zero)
        return buffer.take().lines
    }
}
