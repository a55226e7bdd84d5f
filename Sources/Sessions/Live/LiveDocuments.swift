import BBCapture
import BBDiagnosis
import BBPackets
import Foundation

/// The documents that the page asks for, as JSON.
enum LiveDocuments {
    /// The state of the capture, sent as an event.
    struct State: Encodable {
        struct Rate: Encodable {
            var name: String
            var out: [Double]
            var back: [Double]
        }

        var packets: Int
        /// Rows of the selection, and the part of the packets that is judged.
        var rows: Int
        var progress: Double
        var seconds: Double
        var omitted: Int
        var devices: [String]
        var marks: [String: Int]
        /// Changes with notes and marks, which change rows.
        var version: Int
        var rates: [Rate]
        var hasEnded: Bool
    }

    struct Row: Encodable {
        var number: Int
        var seconds: String
        var device: Int
        var way: String
        var kind: String
        var text: String
        var mark: String?
        var comment: String?
        var isFlagged: Bool?

        init(_ index: Int, _ store: LiveStore) {
            let record = store.noted(index)
            number = index + 1
            seconds = LiveDocuments.seconds(store.elapsed(index))
            device = record.interface
            way =
                switch record.content {
                case .hci(_, .controllerToHost?): "<"
                case .hci: ">"
                default: "~"
                }
            kind = store.kind(index).name
            text = String(decoding: store.line(index).prefix(LiveDocuments.longestText), as: UTF8.self)
            mark = store.marks[index + 1]?.rawValue
            comment = record.comment
            isFlagged = record.isFlagged ? true : nil
        }
    }

    struct Rows: Encodable {
        var first: Int
        var rows: Int
        var progress: Double
        var list: [Row]
    }

    struct Mark: Encodable {
        var packet: Int
        var severity: String
        var rule: String
        var message: String
        var section: String?
        var advice: String?
        var count: Int

        init(_ finding: Finding) {
            packet = finding.packets.first ?? 0
            (severity, rule, message) = (finding.rule.severity.rawValue, finding.rule.id, finding.message)
            (section, advice, count) = (finding.rule.section, finding.rule.advice, finding.count)
        }
    }

    struct Packet: Encodable {
        var row: Row
        var tree: [String]
        var marks: [Mark]

        init(_ index: Int, _ store: LiveStore) {
            row = Row(index, store)
            tree = store.decode(index).tree
            marks = store.findings.filter { $0.packets.contains(index + 1) }.map(Mark.init)
        }
    }

    /// A change of the notes on a packet.
    struct Note: Decodable {
        var number: Int
        var comment: String?
        var isFlagged: Bool?
    }

    private static let longestText = 600

    static func seconds(_ nanoseconds: Int64) -> String {
        TextBuffer.text { text in
            let time = max(0, nanoseconds / 1_000)
            text.write(decimal: Int(time / 1_000_000))
            text.write(".")
            text.write(decimal: UInt64(time % 1_000_000), digits: 6)
        }
    }

    static func json(_ document: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8]((try? encoder.encode(document)) ?? Data("null".utf8))
    }
}
