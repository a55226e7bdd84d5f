import Foundation

/// Where the generated files go.
struct OutputFolder {
    let folder: URL
    /// What this run has written, or left as it was.
    private var names: Set<String> = []

    init(_ path: String) throws {
        folder = URL(fileURLWithPath: path, isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// A file is touched only when its text changes.
    mutating func write(_ text: String, to name: String) throws {
        names.insert(name)
        let url = folder.appendingPathComponent(name)
        if let old = try? String(contentsOf: url, encoding: .utf8), old == text { return }
        try text.write(to: url, atomically: true, encoding: .utf8)
    }

    /// Removes the files of declarations that are no more.
    func removeOthers() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasSuffix(".swift") && !names.contains(name)
        {
            try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
    }
}
