import BBPackets
import BBTiming
import BBTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A key store in a file: a regular file readable by its owner only, replaced as a whole at each change.
///
/// Several processes may use a file at the same time. The file is locked only while a change is merged with those of the others and written;
/// reading needs no lock.
public final class BondFile {
    public let path: String
    public let keys: KeyStore
    /// Error of the last change; nil if it was saved.
    public private(set) var failure: BondFileError? {
        didSet { if let failure, failure != oldValue { onFailure?(failure) } }
    }
    /// Called when a change is not saved or the file is found to be removed; once for as long as the reason stays.
    public var onFailure: ((BondFileError) -> Void)?
    /// Content of the file when this process last read or wrote it.
    private var known: KeyStore.Content
    private var version: Version
    /// The drafts of killed processes are gone.
    private var hasTidied = false

    /// Reads a file without changing it.
    public static func read(_ path: String) throws(BondFileError) -> KeyStore {
        let descriptor = try open(path, O_RDONLY)
        defer { close(descriptor) }
        return try BondDocument.read(try octets(of: descriptor))
    }

    /// Reads or creates a file, and saves every change of `keys` in it.
    public init(changing path: String) throws(BondFileError) {
        self.path = path
        let descriptor = try Self.openForChanging(path)
        defer { close(descriptor) }
        keys = try BondDocument.read(try Self.octets(of: descriptor))
        known = keys.content
        version = Version(of: descriptor)
        keys.onChange = { [unowned self] in save() }
        keys.onRefresh = { [unowned self] in refresh() }
    }

    deinit {
        keys.onChange = nil
        keys.onRefresh = nil
    }

    /// Merges the changes made here with those of other processes, and writes the result.
    private func save() {
        do throws(BondFileError) {
            let lock = try Self.lock(path)
            defer { close(lock) }
            if !hasTidied { Self.removeDrafts(of: path) }
            hasTidied = true
            let present = try Self.octets(of: lock)
            let theirs = try BondDocument.read(present).content
            try theirs.checkServes(virtualTime: keys.isOfVirtualTime)
            let merged = KeyStore.Content.merged(base: known, ours: keys.content, theirs: theirs)
            let text = BondDocument.text(of: KeyStore(merged))
            let written = try BondDocument.read(text).content
            version = text == present ? Version(of: lock) : try Self.replace(path, by: text)
            (known, keys.content, failure) = (written, merged, nil)
        } catch {
            failure = error == .missing ? .removed : error
        }
    }

    /// Takes over the changes of other processes. If the file cannot be read, nothing changes; the next change reports the reason. Only a
    /// removed file is reported at once: no change may follow.
    private func refresh() {
        let descriptor: Int32
        do throws(BondFileError) { descriptor = try Self.open(path, O_RDONLY) } catch {
            if error == .missing { failure = .removed }
            return
        }
        defer { close(descriptor) }
        let present = Version(of: descriptor)
        guard present != version, let octets = try? Self.octets(of: descriptor), let theirs = try? BondDocument.read(octets).content,
            (try? theirs.checkServes(virtualTime: keys.isOfVirtualTime)) != nil
        else { return }
        keys.content = KeyStore.Content.merged(base: known, ours: keys.content, theirs: theirs)
        (known, version) = (theirs, present)
    }

    /// Distinguishes a file from those that replace it.
    private struct Version: Equatable {
        private let numbers: [Int]

        init(of descriptor: Int32) {
            var found = stat()
            fstat(descriptor, &found)
            #if canImport(Glibc)
                let time = found.st_mtim
            #else
                let time = found.st_mtimespec
            #endif
            numbers = [Int(found.st_ino), Int(found.st_size), Int(time.tv_sec), Int(time.tv_nsec)]
        }
    }

    // MARK: Opening

    private static func openForChanging(_ path: String) throws(BondFileError) -> Int32 {
        // Another process may create or remove the file between two of these steps.
        for _ in 0..<8 {
            do throws(BondFileError) { return try open(path, O_RDWR) } catch {
                guard error == .missing else { throw error }
                try make(path)
            }
        }
        throw .removed
    }

    /// Longest wait for another process that is writing, and the time between two attempts.
    private static let (longestWait, pause): (Microseconds, Int32) = (.seconds(10), 2)

    /// Opens and locks the file. Whoever closes the descriptor releases it.
    private static func lock(_ path: String) throws(BondFileError) -> Int32 {
        let limit = MonotonicClock.now() + longestWait
        while true {
            let descriptor = try open(path, O_RDWR)
            let isLocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0
            let code = errno
            // The process that had the lock has replaced the file.
            if isLocked, isSame(descriptor, path) { return descriptor }
            close(descriptor)
            guard isLocked || code == EWOULDBLOCK || code == EINTR else { throw .system(text(code)) }
            guard MonotonicClock.now() < limit else { throw .inUse }
            if !isLocked { poll(nil, 0, pause) }
        }
    }

    /// Opens a regular file owned by the user, without following links and without blocking.
    private static func open(_ path: String, _ flags: Int32) throws(BondFileError) -> Int32 {
        var found = stat()
        guard lstat(path, &found) == 0 else { throw errno == ENOENT ? .missing : .system(text(errno)) }
        if let kind = kind(found) { throw .notRegular(kind) }
        let descriptor = systemOpen(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw .system(text(errno)) }
        do throws(BondFileError) {
            guard fstat(descriptor, &found) == 0 else { throw .system(text(errno)) }
            if let kind = kind(found) { throw .notRegular(kind) }
            guard found.st_uid == geteuid() || geteuid() == 0 else { throw .foreign }
            guard found.st_mode & 0o077 == 0 else { throw .open(mode: UInt32(found.st_mode & 0o777)) }
            guard found.st_size <= BondDocument.longest else { throw .tooLong(octets: Int(found.st_size)) }
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Kind of a file that is not regular.
    private static func kind(_ found: stat) -> String? {
        switch found.st_mode & S_IFMT {
        case S_IFREG: nil
        case S_IFLNK: "a link"
        case S_IFDIR: "a folder"
        case S_IFIFO: "a pipe"
        case S_IFSOCK: "a socket"
        default: "a device"
        }
    }

    private static func isSame(_ descriptor: Int32, _ path: String) -> Bool {
        var held = stat()
        var named = stat()
        return fstat(descriptor, &held) == 0 && lstat(path, &named) == 0 && held.st_dev == named.st_dev && held.st_ino == named.st_ino
    }

    private static func octets(of descriptor: Int32) throws(BondFileError) -> [UInt8] {
        var octets: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while octets.count <= BondDocument.longest {
            let count = systemRead(descriptor, &part)
            guard count >= 0 else {
                if errno == EINTR { continue }
                throw .system(text(errno))
            }
            if count == 0 { break }
            octets += part[..<count]
        }
        return octets
    }

    // MARK: Writing

    private struct Draft {
        var path: String
        var descriptor: Int32
    }

    /// Creates a file without bonds, unless another process has created one first.
    private static func make(_ path: String) throws(BondFileError) {
        let draft = try makeDraft(of: path, BondDocument.text(of: KeyStore()))
        defer { discard(draft) }
        // A process that has just made the file may have removed the draft.
        guard link(draft.path, path) == 0 || errno == EEXIST || errno == ENOENT else { throw .system(text(errno)) }
    }

    private static func replace(_ path: String, by octets: [UInt8]) throws(BondFileError) -> Version {
        let draft = try makeDraft(of: path, octets)
        guard rename(draft.path, path) == 0 else {
            let code = errno
            discard(draft)
            throw .system(text(code))
        }
        defer { close(draft.descriptor) }
        synchronizeFolder(of: path)
        return Version(of: draft.descriptor)
    }

    /// Creates a file beside the one that it will replace, with all octets synchronized to disk.
    private static func makeDraft(of path: String, _ octets: [UInt8]) throws(BondFileError) -> Draft {
        var name = Array("\(folder(of: path))/\(draftPrefix(of: path))XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw .system(text(errno)) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let made = Draft(path: String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self), descriptor: descriptor)
        let code = writeAll(octets[...], to: descriptor)
        guard code == 0, fsync(descriptor) == 0 else {
            let code = code == 0 ? errno : code
            discard(made)
            throw .system(text(code))
        }
        return made
    }

    private static func draftPrefix(of path: String) -> String { ".\(path.split(separator: "/").last ?? "bonds").draft-" }

    /// Removes what processes have left that were killed while they wrote: it has keys, too. Only the process with the lock writes keys.
    private static func removeDrafts(of path: String) {
        guard let entries = opendir(folder(of: path)) else { return }
        defer { closedir(entries) }
        let prefix = draftPrefix(of: path)
        while let entry = readdir(entries) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name.hasPrefix(prefix), name.utf8.count == prefix.utf8.count + 6 { unlink("\(folder(of: path))/\(name)") }
        }
    }

    private static func discard(_ draft: Draft) {
        unlink(draft.path)
        close(draft.descriptor)
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func synchronizeFolder(of path: String) {
        let descriptor = systemOpen(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    private static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}

/// C library calls whose names are hidden by ours.
private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 { open(path, flags, mode) }
private func systemRead(_ descriptor: Int32, _ part: inout [UInt8]) -> Int { read(descriptor, &part, part.count) }
