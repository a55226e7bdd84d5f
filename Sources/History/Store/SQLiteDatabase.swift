import BBCSQLite

/// A connection to an SQLite file, closed at the end of the value's life. Foreign keys are enforced.
struct SQLiteDatabase: ~Copyable {
    private let handle: OpaquePointer

    /// Opens a file, or creates it unless the connection is read-only.
    ///
    /// - Parameter timeout: the time in seconds that a statement waits for another connection's transaction.
    init(_ path: String, isReadOnly: Bool = false, timeout: Double = 30) throws(SQLiteError) {
        var opened: OpaquePointer?
        let flags = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        var code = sqlite3_open_v2(path, &opened, flags, nil)
        if code == SQLITE_OK { code = sqlite3_exec(opened, "PRAGMA foreign_keys = ON", nil, nil, nil) }
        guard let opened, code == SQLITE_OK else {
            let error = SQLiteError(code, opened)
            sqlite3_close_v2(opened)
            throw error
        }
        handle = opened
        sqlite3_busy_timeout(handle, Int32(clamping: Int(timeout * 1_000)))
    }

    deinit { sqlite3_close_v2(handle) }

    /// The key of the last row that was inserted.
    var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// Runs all statements of a text without parameters, and ignores their rows.
    func run(_ statements: String) throws(SQLiteError) { try check(sqlite3_exec(handle, statements, nil, nil, nil)) }

    /// Runs one statement.
    ///
    /// - Returns: the rows.
    @discardableResult
    func rows(_ sql: String, _ parameters: [SQLiteValue] = []) throws(SQLiteError) -> [SQLiteRow] {
        var prepared: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql, -1, &prepared, nil))
        defer { sqlite3_finalize(prepared) }
        for (index, value) in parameters.enumerated() { try check(Self.bind(value, Int32(index + 1), prepared)) }
        let names = (0..<sqlite3_column_count(prepared)).map { column in
            sqlite3_column_name(prepared, column).map { String(cString: $0) } ?? ""
        }
        var rows: [SQLiteRow] = []
        while true {
            let code = sqlite3_step(prepared)
            if code == SQLITE_DONE { return rows }
            guard code == SQLITE_ROW else { throw SQLiteError(code, handle) }
            let values = names.indices.map { Self.value(prepared, Int32($0)) }
            rows.append(SQLiteRow(values: Dictionary(zip(names, values)) { first, _ in first }))
        }
    }

    /// Returns the first column of the first row as an integer; nil if there is none.
    func integer(_ sql: String, _ parameters: [SQLiteValue] = []) throws(SQLiteError) -> Int64? {
        let row = try rows(sql, parameters).first
        guard case .integer(let number)? = row?.values.values.first else { return nil }
        return number
    }

    /// Runs `body` in an exclusive write transaction, which is rolled back after an error.
    func transaction<Value>(_ body: (borrowing SQLiteDatabase) throws -> Value) throws -> Value {
        try run("BEGIN IMMEDIATE")
        do {
            let value = try body(self)
            try run("COMMIT")
            return value
        } catch {
            // A full disk has already rolled it back.
            try? run("ROLLBACK")
            throw error
        }
    }

    private func check(_ code: Int32) throws(SQLiteError) { if code != SQLITE_OK { throw SQLiteError(code, handle) } }

    private static func bind(_ value: SQLiteValue, _ index: Int32, _ statement: OpaquePointer?) -> Int32 {
        switch value {
        case .null: return sqlite3_bind_null(statement, index)
        case .integer(let number): return sqlite3_bind_int64(statement, index, number)
        case .real(let number): return sqlite3_bind_double(statement, index, number)
        case .text(let text):
            // SQLITE_TRANSIENT: SQLite copies the text.
            let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            return sqlite3_bind_text(statement, index, text, Int32(clamping: text.utf8.count), copies)
        }
    }

    private static func value(_ statement: OpaquePointer?, _ column: Int32) -> SQLiteValue {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: .integer(sqlite3_column_int64(statement, column))
        case SQLITE_FLOAT: .real(sqlite3_column_double(statement, column))
        case SQLITE_TEXT: sqlite3_column_text(statement, column).map { .text(String(cString: $0)) } ?? .null
        default: .null
        }
    }
}

/// The value of a parameter or a column.
enum SQLiteValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)

    init(_ text: String?) { self = text.map { .text($0) } ?? .null }
    init(_ number: Double?) { self = number.map { .real($0) } ?? .null }
    init(_ number: Int64?) { self = number.map { .integer($0) } ?? .null }
    init(_ number: Int) { self = .integer(Int64(number)) }
}

extension SQLiteValue: ExpressibleByStringLiteral {
    init(stringLiteral text: String) { self = .text(text) }
}

/// A row of a result. A column of an unexpected type is an error: the file may be damaged.
struct SQLiteRow: Sendable {
    fileprivate let values: [String: SQLiteValue]

    func text(_ name: String) throws(SQLiteError) -> String {
        guard case .text(let text)? = values[name] else { throw SQLiteError(column: name) }
        return text
    }

    func integer(_ name: String) throws(SQLiteError) -> Int64 {
        guard case .integer(let number)? = values[name] else { throw SQLiteError(column: name) }
        return number
    }

    func real(_ name: String) throws(SQLiteError) -> Double {
        guard case .real(let number)? = values[name] else { throw SQLiteError(column: name) }
        return number
    }

    /// Value of a column; nil if it is NULL.
    func realIfAny(_ name: String) throws(SQLiteError) -> Double? { values[name] == .null ? nil : try real(name) }

    /// Value of a column; nil if it is NULL.
    func textIfAny(_ name: String) throws(SQLiteError) -> String? { values[name] == .null ? nil : try text(name) }
}

/// A failed call of SQLite: its primary result code and its message.
struct SQLiteError: Error {
    var code: Int32
    var message: String

    init(_ code: Int32, _ database: OpaquePointer?) {
        self.code = code & 0xFF
        message = String(cString: database.flatMap { sqlite3_errmsg($0) } ?? sqlite3_errstr(code))
    }

    init(column: String) {
        code = SQLITE_CORRUPT
        message = "the column \(column) has another type"
    }
}
