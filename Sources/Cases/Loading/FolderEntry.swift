#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A name in a folder. Foundation's enumerator takes 5 ms for a thousand files, as long as the case itself.
struct FolderEntry {
    var name: String
    var isFolder: Bool

    /// The entries of a folder, unordered; none if it cannot be read.
    static func all(in folder: String) -> [FolderEntry] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var entries: [FolderEntry] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            entries.append(FolderEntry(name: name, isFolder: isFolder(Int32(entry.pointee.d_type), folder + "/" + name)))
        }
        return entries
    }

    /// True for a folder. Some file systems do not store the type in the entry; the path is then examined.
    private static func isFolder(_ type: Int32, _ path: String) -> Bool {
        guard type == Int32(DT_UNKNOWN) else { return type == Int32(DT_DIR) }
        var found = stat()
        return lstat(path, &found) == 0 && found.st_mode & S_IFMT == S_IFDIR
    }
}
