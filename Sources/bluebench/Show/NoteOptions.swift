import ArgumentParser
import BBCapture
import BBPackets
import BBSessions

/// The options for comments and flags, which are kept in a file beside the capture.
struct NoteOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Comment on a packet: '12=late'. An empty text deletes the comment. May be repeated.", valueName: "packet=text"))
    var comment: [CommentOnPacket] = []
    @Option(help: ArgumentHelp("Flag a packet; may be repeated.", valueName: "packet"), transform: Arguments.whole(1...Int.max))
    var flag: [Int] = []
    @Option(
        help: ArgumentHelp("Remove the flag of a packet; may be repeated.", valueName: "packet"), transform: Arguments.whole(1...Int.max))
    var unflag: [Int] = []

    @Flag(help: "Only flagged packets.") var flagged = false

    struct CommentOnPacket: ExpressibleByArgument {
        var packet: Int
        var text: String

        init?(argument: String) {
            guard let sign = argument.firstIndex(of: "="), let packet = Int(argument[..<sign]), packet > 0 else { return nil }
            (self.packet, text) = (packet, String(argument[argument.index(after: sign)...]))
        }
    }

    /// The packets whose notes change; nil if there are none.
    var packets: Set<Int>? {
        let packets = Set(comment.map(\.packet) + flag + unflag)
        return packets.isEmpty ? nil : packets
    }

    func validate() throws {
        if let both = Set(flag).intersection(unflag).min() { throw ValidationError("--flag and --unflag exclude each other: \(both)") }
        guard comment.allSatisfy({ $0.text.count <= CaptureNotes.longestComment }) else {
            throw ValidationError("--comment: a comment has at most \(CaptureNotes.longestComment) characters")
        }
    }

    /// Changes the notes on a packet.
    func change(_ notes: inout CaptureNotes, _ packet: Int, at time: CaptureTime) {
        let text = comment.last { $0.packet == packet }?.text
        notes.set(packet, at: time, comment: text, isFlagged: flag.contains(packet) ? true : unflag.contains(packet) ? false : nil)
    }
}
