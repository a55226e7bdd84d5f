import BBTransport
import Foundation

/// Stores each result as one line of JSON as soon as it is available, so that none is lost if a run is stopped; a later run can continue
/// from it.
///
/// The file is locked while the store exists, so that two runs never write to the same file.
public final class ResultStore {
    public private(set) var known: [String: CaseResult] = [:]

    /// Removes the keys from stored results; nil to store them, too.
    public var secrets: Secrets?

    private let path: String
    private let header: Header
    private var descriptor: Int32
    /// The number of octets in complete lines.
    private var size = 0
    /// The shard of the last header in the file.
    private var shard: String?

    /// The first line of the file: the settings that affect the results.
    public struct Header: Codable, Equatable, Sendable {
        fileprivate var seed: SeedText
        fileprivate var tester: String
        fileprivate var subject: String
        /// The selector of the product over the air; nil without one.
        fileprivate var peer: String?
        /// The shard of the cases, such as 2/4; nil for all. A run may continue with another one, whose header then follows.
        fileprivate var shard: String?
        /// The cases that were divided into shards.
        fileprivate var selection: RunSelection?

        public init(
            seed: UInt64, tester: String, subject: String, peer: String? = nil, shard: String? = nil, selection: RunSelection? = nil
        ) {
            (self.shard, self.selection) = (shard, selection)
            self.seed = SeedText(seed)
            self.tester = tester
            self.subject = subject
            self.peer = peer
        }

        public static func == (one: Header, other: Header) -> Bool {
            (one.seed, one.tester, one.subject, one.peer) == (other.seed, other.tester, other.subject, other.peer)
        }
    }

    /// - Parameter isResumed: true to keep the results in the file if it belongs to the same kind of run, instead of replacing them.
    /// - Throws: `StoreError` if the file cannot be written, is in use by another run, belongs to another kind of run, or is damaged.
    public init(path: String, header: Header, isResumed: Bool) throws(StoreError) {
        (self.path, self.header) = (path, header)
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw StoreError(.cannotWrite, "cannot write \(path): \(systemText(errno))") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw StoreError(.inUse, "another run writes into \(path); let it end, or name another folder")
        }
        if isResumed { try readLines() }
    }

    /// Replaces the file, or continues after the last result. The file is not changed before this call.
    public func begin() throws(StoreError) {
        cut()
        if size == 0 || shard != header.shard { try append(header) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    public func add(_ result: CaseResult) throws(StoreError) {
        known[result.id] = result
        try append(result)
    }

    /// Writes the file again if it was removed or renamed meanwhile.
    ///
    /// - Returns: true if it was.
    public func restore() throws(StoreError) -> Bool {
        var (own, found) = (stat(), stat())
        guard fstat(descriptor, &own) == 0 else { return false }
        if stat(path, &found) == 0, found.st_dev == own.st_dev, found.st_ino == own.st_ino { return false }
        let octets = contents()
        let fresh = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard fresh >= 0 else { throw StoreError(.cannotWrite, "cannot write \(path): \(systemText(errno))") }
        close(descriptor)
        descriptor = fresh
        size = 0
        try append(octets)
        return true
    }

    // MARK: Lines

    /// Returns the results in the file of another run, complete or not: the last result of each case.
    ///
    /// - Throws: `StoreError` if the file cannot be read or has another format.
    public static func results(at path: String) throws(StoreError) -> RunResult {
        guard let data = FileManager.default.contents(atPath: path) else { throw StoreError(.otherRun, "cannot read \(path)") }
        let lines = [UInt8](data).split(separator: UInt8(ascii: "\n"))
        guard let first = lines.first, let header = try? JSONDecoder().decode(Header.self, from: Data(first)) else {
            throw StoreError(.otherRun, "\(path) does not hold the results of a run")
        }
        var run = RunResult(seed: header.seed.value, tester: header.tester, subject: header.subject)
        (run.shard, run.selection) = (header.shard, header.selection)
        var places: [String: Int] = [:]
        for line in lines.dropFirst() {
            if let next = try? JSONDecoder().decode(Header.self, from: Data(line)) { run.shard = joined(run.shard, next.shard) }
            guard let result = try? JSONDecoder().decode(CaseResult.self, from: Data(line)) else { continue }
            if let place = places[result.id] {
                run.cases[place] = result
            } else {
                places[result.id] = run.cases.count
                run.cases.append(result)
            }
        }
        return run
    }

    /// The shards of a run and of its continuation; nil if one of them had all cases.
    private static func joined(_ one: String?, _ other: String?) -> String? {
        guard var shards = one.flatMap(ShardSet.init), let others = other.flatMap(ShardSet.init) else { return nil }
        guard shards.count == others.count else { return other }
        shards.formUnion(others)
        return shards.description
    }

    /// Reads the lines. An incomplete last line belongs to a killed run and is ignored; any other unreadable line is an error.
    private func readLines() throws(StoreError) {
        let octets = contents()
        guard !octets.isEmpty else { return }
        let end = octets.lastIndex(of: UInt8(ascii: "\n")) ?? -1
        let lines = octets[..<(end + 1)].split(separator: UInt8(ascii: "\n"))
        guard let first = lines.first, let found = try? JSONDecoder().decode(Header.self, from: Data(first)) else {
            throw unreadable("it does not begin as the results of a run")
        }
        guard found == header else {
            throw StoreError(
                .otherRun, "\(path) is from a run with another seed or another device; remove it or run without --resume")
        }
        if let before = found.selection, let now = header.selection, before != now {
            throw unreadable("it has a shard of \(before.words), this run one of \(now.words), or they were divided differently")
        }
        shard = found.shard
        for (index, line) in lines.enumerated().dropFirst() {
            if let next = try? JSONDecoder().decode(Header.self, from: Data(line)), next == header {
                shard = next.shard
                continue
            }
            guard let result = try? JSONDecoder().decode(CaseResult.self, from: Data(line)) else {
                throw unreadable("line \(index + 1) is damaged")
            }
            known[result.id] = result
        }
        size = end + 1
    }

    private func unreadable(_ reason: String) -> StoreError {
        StoreError(.otherRun, "\(path) cannot be continued: \(reason); remove it or run without --resume")
    }

    private func contents() -> [UInt8] {
        var octets: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        lseek(descriptor, 0, SEEK_SET)
        while true {
            let got = piece.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            guard got > 0 else { return octets }
            octets += piece[..<got]
        }
    }

    private func append(_ value: some Encodable) throws(StoreError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let line = try? encoder.encode(value) else { throw StoreError(.cannotWrite, "the results cannot be encoded") }
        let hidden = secrets.map { [UInt8]($0.hide(String(decoding: line, as: UTF8.self)).utf8) }
        try append((hidden ?? Array(line)) + [UInt8(ascii: "\n")])
    }

    /// Appends a line; removes it again if it does not fit on the disk.
    private func append(_ octets: [UInt8]) throws(StoreError) {
        lseek(descriptor, off_t(size), SEEK_SET)
        let code = writeAll(octets[...], to: descriptor)
        guard code == 0 else {
            cut()
            throw StoreError(.cannotStore, "cannot write \(path): \(systemText(code))")
        }
        size += octets.count
    }

    private func cut() { _ = ftruncate(descriptor, off_t(size)) }
}

/// An error of the result store.
public struct StoreError: Error, CustomStringConvertible, Sendable {
    public enum Kind: Sendable {
        /// The file cannot be opened.
        case cannotWrite
        /// The system has not stored a line, as on a full disk.
        case cannotStore
        case inUse
        case otherRun
    }

    public var kind: Kind
    public var text: String
    public var description: String { text }

    init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
    }
}
