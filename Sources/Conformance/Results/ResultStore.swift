import Foundation

/// Results as they come, one JSON line per case, so that nothing is lost when a run is stopped; a later run can continue from it.
public struct ResultStore {
    private let handle: FileHandle?
    public private(set) var known: [String: CaseResult] = [:]

    /// The first line of the file: what the results depend on.
    public struct Header: Codable, Equatable, Sendable {
        public var seed: UInt64
        public var tester: String
        public var subject: String

        public init(seed: UInt64, tester: String, subject: String) {
            self.seed = seed
            self.tester = tester
            self.subject = subject
        }
    }

    /// - Parameter isResumed: keep what the file holds if it belongs to the same kind of run, instead of starting it anew.
    /// - Throws: `StoreError` when the file cannot be written or belongs to another run.
    public init(path: String, header: Header, isResumed: Bool) throws(StoreError) {
        var lines: [Data] = []
        if isResumed, let data = FileManager.default.contents(atPath: path) {
            let old = data.split(separator: UInt8(ascii: "\n")).map { Data($0) }
            if let first = old.first, let found = try? JSONDecoder().decode(Header.self, from: first), found != header {
                throw StoreError(text: "\(path) is from a run with another seed or another device; remove it or run without --resume")
            }
            for line in old.dropFirst() {
                guard let result = try? JSONDecoder().decode(CaseResult.self, from: line) else { continue }
                known[result.id] = result
                lines.append(line)
            }
        }
        guard let head = try? Self.line(header) else { throw StoreError(text: "the results cannot be encoded") }
        let text = lines.reduce(into: head) { $0 += $1 + [UInt8(ascii: "\n")] }
        guard FileManager.default.createFile(atPath: path, contents: text), let handle = FileHandle(forWritingAtPath: path) else {
            throw StoreError(text: "cannot write \(path)")
        }
        _ = try? handle.seekToEnd()
        self.handle = handle
    }

    private static func line(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value) + [UInt8(ascii: "\n")]
    }

    public mutating func add(_ result: CaseResult) throws(StoreError) {
        known[result.id] = result
        do {
            try handle?.write(contentsOf: Self.line(result))
        } catch {
            throw StoreError(text: "the results cannot be written: \(error)")
        }
    }
}

/// The results could not be kept.
public struct StoreError: Error, CustomStringConvertible, Sendable {
    public var text: String
    public var description: String { text }
}
