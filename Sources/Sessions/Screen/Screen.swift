import BBPackets
import BBTiming

/// The user's side of a session: lines, messages, questions, and what is waited for.
package protocol Screen: AnyObject {
    /// Shows a line; control characters are escaped.
    func line(_ text: String)
    /// Writes text as it is.
    func write(_ text: String)
    /// Shows a message apart from the output.
    func complain(_ text: String)
    /// Replaces the last message about progress; empty to remove it.
    func progress(_ text: String)
    /// True if messages about progress are seen.
    var showsProgress: Bool { get }
    /// Asks for a line; nil after the end of the input. A new question replaces an open one.
    func ask(_ answer: @escaping (String?) -> Void)
    /// Cancels the open question.
    func forgetQuestion()
    /// Shows what is waited for, until `endWait`.
    func wait(for text: String, until deadline: Microseconds)
    func endWait()
}

/// Numbers of things in messages.
package enum Plural {
    /// `1 case`, `2 cases`.
    package static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
