#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The content of a file.
public struct FirmwareFile: Sendable, Equatable {
    public var path: String
    public var octets: [UInt8]

    public init(path: String, octets: [UInt8]) {
        self.path = path
        self.octets = octets
    }
}

/// Search path for firmware files. The bench ships no firmware.
public struct FirmwareFolders: Sendable, Equatable {
    /// Folders such as `/lib/firmware` that contain `rtl_bt` and `intel`. The first folder with the file is used.
    public var roots: [String]
    /// False to load no firmware.
    public var loads = true

    /// The search path of Linux.
    public static let system = FirmwareFolders(roots: ["/lib/firmware/updates", "/lib/firmware"])
    /// Environment variable with another folder.
    public static let variable = "BLUEBENCH_FIRMWARE"
    /// Maximum size of a firmware file in octets.
    static let largest = 8 << 20

    public init(roots: [String]) { self.roots = roots }

    /// - Parameter folder: from the command line or the environment; `none` to load nothing, nil for the system's folders.
    public init(_ folder: String?) {
        self = folder.map { FirmwareFolders(roots: [$0]) } ?? .system
        if folder == "none" { self = FirmwareFolders(roots: [], loads: false) }
    }

    private init(roots: [String], loads: Bool) {
        self.roots = roots
        self.loads = loads
    }

    /// Reads a file by its path below a folder (`rtl_bt/x.bin`); nil if no folder has it.
    ///
    /// - Throws: `compressed` or `unreadable` if the file exists but cannot be used.
    public func read(_ name: String) throws(FirmwareError) -> FirmwareFile? {
        for root in roots {
            let path = root + "/" + name
            var isFolder = false
            if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) {
                guard !isFolder else { throw .unreadable(path: path, reason: "it is a folder") }
                return FirmwareFile(path: path, octets: try contents(path))
            }
            for ending in ["zst", "xz"] where FileManager.default.fileExists(atPath: path + "." + ending) {
                throw .compressed(path: path + "." + ending, name: name)
            }
        }
        return nil
    }

    /// Reads the files of a need.
    public func read(_ need: FirmwareNeed) throws(FirmwareError) -> (image: FirmwareFile, companion: FirmwareFile?) {
        guard let image = try read(need.file) else { throw .missing(need, lookedIn: roots) }
        var companion: FirmwareFile?
        if let name = need.companion { companion = try read(name) }
        guard companion != nil || !need.isCompanionRequired else {
            var missing = need
            missing.file = need.companion ?? need.file
            throw .missing(missing, lookedIn: roots)
        }
        return (image, companion)
    }

    private func contents(_ path: String) throws(FirmwareError) -> [UInt8] {
        let octets: Data
        do { octets = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            throw .unreadable(path: path, reason: "it may not be opened")
        }
        guard octets.count <= Self.largest else { throw .unreadable(path: path, reason: "it is too large for firmware") }
        return [UInt8](octets)
    }
}
