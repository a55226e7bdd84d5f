/// Migrations of a history's tables. The format version of a file is the number of applied migrations.
enum HistorySchema {
    /// SQLite's `application_id` of a history: the letters BBHi.
    static let applicationID = 0x4242_4869

    /// The SQL of each migration. A released migration is never changed; a change is a further one.
    static let steps = [
        """
        CREATE TABLE setup (
            id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL
        ) STRICT;
        CREATE TABLE run (
            id INTEGER PRIMARY KEY,
            kind TEXT NOT NULL CHECK (kind IN ('throughput', 'verdicts')),
            setup INTEGER NOT NULL REFERENCES setup,
            identity TEXT NOT NULL UNIQUE,
            date TEXT NOT NULL, build TEXT NOT NULL, host TEXT NOT NULL, program TEXT NOT NULL, labels TEXT NOT NULL
        ) STRICT;
        CREATE INDEX run_in_time ON run (setup, date, id);
        CREATE TABLE series (
            id INTEGER PRIMARY KEY, setup INTEGER NOT NULL REFERENCES setup, name TEXT NOT NULL, metric TEXT NOT NULL,
            UNIQUE (setup, name, metric)
        ) STRICT;
        CREATE TABLE figure (
            run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, series INTEGER NOT NULL REFERENCES series,
            value REAL, deviation REAL NOT NULL, repetitions INTEGER NOT NULL, ceiling REAL, failure TEXT,
            PRIMARY KEY (run, series)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE testcase (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
        CREATE TABLE verdict (
            run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, testcase INTEGER NOT NULL REFERENCES testcase,
            verdict TEXT NOT NULL, flaky INTEGER NOT NULL, message TEXT NOT NULL,
            PRIMARY KEY (run, testcase)
        ) STRICT, WITHOUT ROWID;
        """
    ]

    /// Creates the tables, or migrates those of an older version. Must run in an exclusive write transaction.
    ///
    /// - Throws: `HistoryError` for a file of another program or of a later version.
    static func settle(_ database: borrowing SQLiteDatabase, of path: String) throws {
        let version = Int(try database.integer("PRAGMA user_version") ?? 0)
        let owner = Int(try database.integer("PRAGMA application_id") ?? 0)
        let tables = try database.integer("SELECT COUNT(*) FROM sqlite_master") ?? 0
        guard owner == applicationID || (owner == 0 && version == 0 && tables == 0) else {
            throw HistoryError("\(path) is not a history: it is the database of another program")
        }
        guard version <= steps.count else {
            throw HistoryError("\(path) has format \(version), and this program knows formats up to \(steps.count): use a later bluebench")
        }
        guard version < steps.count else { return }
        for step in steps.dropFirst(version) { try database.run(step) }
        try database.run("PRAGMA application_id = \(applicationID); PRAGMA user_version = \(steps.count)")
    }
}
