import Foundation
import GRDB

/// Results over time in an SQLite file, which several processes may read and extend concurrently.
public final class HistoryFile: Sendable {
    public let path: String
    let queue: DatabaseQueue

    /// Opens a history.
    ///
    /// - Parameters:
    ///   - makes: create a missing file instead of throwing an error.
    ///   - timeout: how long to wait for another writing process, in seconds.
    /// - Throws: `HistoryError`.
    public init(_ path: String, makes: Bool, timeout: Double = 30) throws(HistoryError) {
        self.path = path
        let exists = FileManager.default.fileExists(atPath: path)
        guard makes || exists else { throw HistoryError("there is no history \(path); `bluebench history add` makes one") }
        var configuration = Configuration()
        configuration.busyMode = .timeout(timeout)
        // The unfinished transaction of a killed writer is rolled back by the next process with write access, even if it only reads.
        configuration.readonly = exists && !FileManager.default.isWritableFile(atPath: path)
        guard !makes || !configuration.readonly else { throw HistoryError("\(path) may not be written") }
        do {
            queue = try DatabaseQueue(path: path, configuration: configuration)
            if configuration.readonly {
                try queue.read { try HistorySchema.settle($0, of: path) }
            } else {
                try Self.change(queue) { try HistorySchema.settle($0, of: path) }
            }
        } catch {
            throw HistoryError(path: path, error)
        }
    }

    func read<Value>(_ body: (Database) throws -> Value) throws(HistoryError) -> Value {
        do { return try queue.read(body) } catch { throw HistoryError(path: path, error) }
    }

    /// Runs `body` in an exclusive write transaction.
    func write<Value>(_ body: (Database) throws -> Value) throws(HistoryError) -> Value {
        do { return try Self.change(queue, body) } catch { throw HistoryError(path: path, error) }
    }

    private static func change<Value>(_ queue: DatabaseQueue, _ body: (Database) throws -> Value) throws -> Value {
        try queue.writeWithoutTransaction { database in
            var value: Value?
            try database.inTransaction(.immediate) {
                value = try body(database)
                return .commit
            }
            guard let value else { throw HistoryError("the transaction did not run") }
            return value
        }
    }
}

extension HistoryError {
    /// Description of a database error for the user.
    init(path: String, _ error: any Error) {
        guard let failure = error as? DatabaseError else {
            self = error as? HistoryError ?? HistoryError("\(path): \(error)")
            return
        }
        let text = failure.message ?? "error \(failure.resultCode.rawValue)"
        switch failure.resultCode {
        case .SQLITE_NOTADB: self.init("\(path) is no history: it is no SQLite file")
        case .SQLITE_CORRUPT: self.init("\(path) is damaged: \(text)")
        case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_READONLY, .SQLITE_AUTH: self.init("cannot open \(path): \(text)")
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init("\(path) is in use: another program has been writing it all the time", isEnvironment: true)
        default: self.init("\(path) is as it was, as it cannot be written: \(text)", isEnvironment: true)
        }
    }
}
