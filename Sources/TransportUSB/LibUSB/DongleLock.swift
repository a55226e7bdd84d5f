import BBTransport
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Marks a dongle as in use for other instances of the bench as long as this object exists, even while the dongle is off the bus. The
/// system releases the lock when the process ends for any reason.
///
/// It is an advisory lock on a file in the system's lock folder, named by the port of the dongle. A process may take the same lock several
/// times.
public final class DongleLock: Sendable {
    private struct Held {
        var descriptor: Int32
        var count: Int
    }

    private static let held = Mutex<[String: Held]>([:])
    private let path: String?

    /// - Parameter location: bus and ports.
    /// - Throws: `busy` with the process that holds the lock. If no lock file can be created, there is no lock.
    public init(_ location: USBSelector) throws(TransportError) {
        guard let path = Self.path(of: location) else {
            self.path = nil
            return
        }
        let outcome = Self.held.withLock { Self.take(path, &$0) }
        switch outcome {
        case .taken: self.path = path
        case .impossible: self.path = nil
        case .busy(let holder): throw .busy("\(location), held by \(holder),")
        }
    }

    deinit {
        guard let path else { return }
        Self.held.withLock { held in
            guard var entry = held[path] else { return }
            entry.count -= 1
            held[path] = entry.count == 0 ? nil : entry
            if entry.count == 0 { close(entry.descriptor) }
        }
    }

    private enum Outcome {
        case taken, impossible
        case busy(holder: String)
    }

    private static func take(_ path: String, _ held: inout [String: Held]) -> Outcome {
        if held[path] != nil {
            held[path]?.count += 1
            return .taken
        }
        let descriptor = opened(path)
        guard descriptor >= 0 else { return .impossible }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let holder = USBSystem.text(of: path) ?? ""
            close(descriptor)
            return .busy(holder: holder.isEmpty ? "another run" : holder)
        }
        // Other processes read the holder from this line.
        ftruncate(descriptor, 0)
        _ = writeAll(Array("bluebench, process \(getpid())\n".utf8)[...], to: descriptor)
        held[path] = Held(descriptor: descriptor, count: 1)
        return .taken
    }

    /// Opens or creates a lock file. In a shared folder, files of other users can be opened but not created again.
    private static func opened(_ path: String) -> Int32 {
        let old = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        if old >= 0 || errno != ENOENT { return old }
        let new = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666)
        if new >= 0 { fchmod(new, 0o666) }
        return new >= 0 || errno != EEXIST ? new : open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    }

    /// The path contains the identity of the system's device folder, to distinguish buses with equal numbers.
    private static func path(of location: USBSelector) -> String? {
        let folders = ["/run/lock", "/var/lock", "/tmp"]
        let folder = folders.first { (path: String) in access(path, W_OK | X_OK) == 0 }
        guard let folder, case .location = location else { return nil }
        var bus = stat()
        let isKnown = stat("/sys/bus/usb/devices", &bus) == 0
        let number = isKnown ? "\(bus.st_dev)-\(bus.st_ino)" : "0"
        return "\(folder)/bluebench-\(number)-" + location.description.replacing(":", with: "-") + ".lock"
    }
}
