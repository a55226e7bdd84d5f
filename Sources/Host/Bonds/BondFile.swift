import Transport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A key store in a file: a regular file readable by its owner only, replaced as a whole at each change, and changed by one process at a
/// time.
public final class BondFile {
    public let path: String
    public let keys: KeyStore
    /// Error of the last change; nil if it was saved.
    public private(set) var failure: BondFileError?
    /// Descriptor that holds the lock; nil for a read-only file.
    private var descriptor: Int32?

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
        do {
            keys = try BondDocument.read(try Self.octets(of: descriptor))
        } catch {
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        keys.onChange = { [unowned self] in save() }
    }

    deinit {
        keys.onChange = nil
        if let descriptor { close(descriptor) }
    }

    private func save() {
        do throws(BondFileError) {
            guard let held = descriptor, Self.isSame(held, path) else { throw .replaced }
            let draft = try Self.makeDraft(of: path, BondDocument.text(of: keys))
            guard rename(draft.path, path) == 0 else {
                let code = errno
                Self.discard(draft)
                throw .system(Self.text(code))
            }
            close(held)
            descriptor = draft.descriptor
            Self.synchronizeFolder(of: path)
            failure = nil
        } catch {
            failure = error
        }
    }

    // MARK: Opening

    private static func openForChanging(_ path: String) throws(BondFileError) -> Int32 {
        // Another process may create, replace or remove the file between two of these steps.
        for _ in 0..<8 {
            var found = stat()
            if lstat(path, &found) != 0 {
                guard errno == ENOENT else { throw .system(text(errno)) }
                if let made = try make(path) { return made }
                continue
            }
            let descriptor = try open(path, O_RDWR)
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let code = errno
                close(descriptor)
                throw code == EWOULDBLOCK ? .inUse : .system(text(code))
            }
            if isSame(descriptor, path) { return descriptor }
            close(descriptor)
        }
        throw .inUse
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

    /// Creates a file without bonds; nil if another process has created one first.
    private static func make(_ path: String) throws(BondFileError) -> Int32? {
        let draft = try makeDraft(of: path, BondDocument.text(of: KeyStore()))
        let isMade = link(draft.path, path) == 0
        let code = errno
        unlink(draft.path)
        if isMade { return draft.descriptor }
        close(draft.descriptor)
        guard code == EEXIST else { throw .system(text(code)) }
        return nil
    }

    /// Creates a locked file, beside the one that it will replace, with all octets synchronized to disk.
    private static func makeDraft(of path: String, _ octets: [UInt8]) throws(BondFileError) -> Draft {
        let draft = "\(folder(of: path))/.\(path.split(separator: "/").last ?? "bonds").\(getpid())"
        unlink(draft)
        let descriptor = systemOpen(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system(text(errno)) }
        let made = Draft(path: draft, descriptor: descriptor)
        if let code = fault(ofWriting: octets, to: descriptor) {
            discard(made)
            throw .system(text(code))
        }
        return made
    }

    /// Locks a draft and synchronizes its octets to disk; returns the error number if a call fails.
    private static func fault(ofWriting octets: [UInt8], to descriptor: Int32) -> Int32? {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return errno }
        let code = writeAll(octets[...], to: descriptor)
        guard code == 0 else { return code }
        return fsync(descriptor) == 0 && lseek(descriptor, 0, SEEK_SET) == 0 ? nil : errno
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
