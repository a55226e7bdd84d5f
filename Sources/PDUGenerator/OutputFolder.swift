import Foundation

/// The folder of the generated files.
struct OutputFolder {
    let folder: URL
    /// The files that this run has written or left unchanged.
    private var names: Set<String> = []

    init(_ path: String) throws {
        folder = URL(fileURLWithPath: path, isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// Writes a file if its text has changed.
    mutating func write(_ text: String, to name: String) throws {
        names.insert(name)
        let url = folder.appendingPathComponent(name)
        if let old = try? String(contentsOf: url, encoding: .utf8), old == text { return }
        try text.write(to: url, atomically: true, encoding: .utf8)
    }

    /// Removes the files of removed declarations.
    func removeOthers() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasSuffix(".swift") && !names.contains(name)
        {
            try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
    }
}
