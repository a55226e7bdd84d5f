import BBCSQLite
import Foundation
import Synchronization

/// Results over time in an SQLite file, which several processes may read and extend concurrently.
public final class HistoryFile: Sendable {
    public let path: String
    private let database: Mutex<SQLiteDatabase>

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
        // The unfinished transaction of a killed writer is rolled back by the next process with write access, even if it only reads.
        let isReadOnly = exists && !FileManager.default.isWritableFile(atPath: path)
        guard !makes || !isReadOnly else { throw HistoryError("\(path) may not be written") }
        do {
            let opened = try SQLiteDatabase(path, isReadOnly: isReadOnly, timeout: timeout)
            if isReadOnly {
                try HistorySchema.settle(opened, of: path)
            } else {
                try opened.transaction { try HistorySchema.settle($0, of: path) }
            }
            database = Mutex(opened)
        } catch {
            throw HistoryError(path: path, error)
        }
    }

    func read<Value: Sendable>(_ body: @Sendable (borrowing SQLiteDatabase) throws -> Value) throws(HistoryError) -> Value {
        do { return try database.withLock { try body($0) } } catch { throw HistoryError(path: path, error) }
    }

    /// Runs `body` in an exclusive write transaction.
    func write<Value: Sendable>(_ body: @Sendable (borrowing SQLiteDatabase) throws -> Value) throws(HistoryError) -> Value {
        do { return try database.withLock { try $0.transaction(body) } } catch { throw HistoryError(path: path, error) }
    }
}

extension HistoryError {
    /// Description of a database error for the user.
    init(path: String, _ error: any Error) {
        guard let failure = error as? SQLiteError else {
            self = error as? HistoryError ?? HistoryError("\(path): \(error)")
            return
        }
        switch failure.code {
        case SQLITE_NOTADB: self.init("\(path) is not a history: it is not an SQLite file")
        case SQLITE_CORRUPT: self.init("\(path) is damaged: \(failure.message)")
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_READONLY, SQLITE_AUTH: self.init("cannot open \(path): \(failure.message)")
        case SQLITE_BUSY, SQLITE_LOCKED:
            self.init("\(path) is in use: another program has been writing it all the time", isEnvironment: true)
        default: self.init("\(path) is as it was, as it cannot be written: \(failure.message)", isEnvironment: true)
        }
    }
}
