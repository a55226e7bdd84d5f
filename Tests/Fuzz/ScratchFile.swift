import Foundation
import Synchronization

/// A file in memory, for readers that take a path.
struct ScratchFile {
    let path: String

    init(_ ending: String) {
        let folder = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : FileManager.default.temporaryDirectory.path
        path = "\(folder)/bluebench-fuzz-\(ProcessInfo.processInfo.processIdentifier)\(ending)"
        Self.atEnd.withLock { _ = $0.insert(path) }
        _ = Self.registered
    }

    /// Removed when the process ends.
    private static let atEnd = Mutex<Set<String>>([])
    private static let registered = atexit { ScratchFile.atEnd.withLock { for path in $0 { unlink(path) } } }

    func write(_ octets: [UInt8]) throws { try Data(octets).write(to: URL(fileURLWithPath: path)) }
    func remove() { unlink(path) }
}

/// True for one input of `count`, always the same ones: for what takes too long for each input.
func isSample(_ input: [UInt8], oneOf count: Int) -> Bool {
    let sum = input.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    return (sum >> 32) % UInt64(count) == 0
}
