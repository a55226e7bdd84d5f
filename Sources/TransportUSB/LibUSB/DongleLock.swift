import Synchronization
import Transport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Says to other programs of the bench that a dongle is in use, for as long as this lives, also while it is off the bus. The system takes the lock away
/// with the process, however that ends.
///
/// It is an advisory lock on a file of the machine's folder for locks that is named by where the dongle is plugged in. Within a process it may be taken
/// several times.
public final class DongleLock: Sendable {
    private struct Held {
        var descriptor: Int32
        var count: Int
    }

    private static let held = Mutex<[String: Held]>([:])
    private let path: String?

    /// - Parameter location: bus and ports.
    /// - Throws: `busy` with the process that holds it. Where no lock can be made, there is none.
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
        // Whoever waits reads the one line that stands there.
        ftruncate(descriptor, 0)
        _ = writeAll(Array("bluebench, process \(getpid())\n".utf8)[...], to: descriptor)
        held[path] = Held(descriptor: descriptor, count: 1)
        return .taken
    }

    /// Files of other users may be opened in a shared folder, but not made there again.
    private static func opened(_ path: String) -> Int32 {
        let old = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        if old >= 0 || errno != ENOENT { return old }
        let new = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666)
        if new >= 0 { fchmod(new, 0o666) }
        return new >= 0 || errno != EEXIST ? new : open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    }

    /// A bus is told from another one that has the same numbers by the system's folder of its devices.
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
