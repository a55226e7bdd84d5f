/// A position in a case file; lines and columns start at 1.
public struct Position: Sendable, Hashable, CustomStringConvertible {
    public var file: String
    public var line: Int
    public var column: Int

    public init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }

    public var description: String { "\(file):\(line):\(column)" }
}

/// A mistake in a case file, reported before any case runs.
public struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
    public var position: Position
    public var text: String
    /// True if the file can be used nevertheless.
    public var isWarning: Bool
    /// True if a number is written for a value that has a name.
    package var isUnnamedNumber = false

    public init(_ position: Position, _ text: String, isWarning: Bool = false) {
        self.position = position
        self.text = text
        self.isWarning = isWarning
    }

    public var description: String { "\(position): \(isWarning ? "warning: " : "")\(text)" }
}

/// The mistakes in a set of case files.
public struct Problems: Error, Sendable, CustomStringConvertible {
    public var list: [Problem]

    public init(_ list: [Problem]) { self.list = list }

    public var description: String { list.map(\.description).joined(separator: "\n") }
}
