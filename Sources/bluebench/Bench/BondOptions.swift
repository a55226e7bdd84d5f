import ArgumentParser
import Foundation
import Host
import Packets

/// The options for a command's bonds.
struct BondOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Bond file, or none for no bonds. Default: bonds.json in $XDG_DATA_HOME/bluebench or ~/.local/share/bluebench.",
            valueName: "file"),
        completion: .file())
    var bonds: String?

    /// The path of the file; nil if no bonds are used.
    var path: String? {
        guard let bonds else { return Self.defaultPath }
        return bonds == "none" ? nil : bonds
    }

    private static var defaultPath: String? {
        let environment = ProcessInfo.processInfo.environment
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return "\(data)/bluebench/bonds.json" }
        return environment["HOME"].map { "\($0)/.local/share/bluebench/bonds.json" }
    }

    /// Reads the bonds; none if the default file does not exist.
    func read() throws -> KeyStore {
        guard let path else { return KeyStore() }
        do { return try BondFile.read(path) } catch BondFileError.missing where bonds == nil {
            return KeyStore()
        } catch {
            throw Self.failure(path, error)
        }
    }

    /// Reads the bonds in a file, which must exist.
    static func read(_ path: String) throws -> KeyStore {
        do { return try BondFile.read(path) } catch { throw failure(path, error) }
    }

    /// Opens the bonds in a file, which stores each change; creates the file if it does not exist.
    static func open(_ path: String) throws -> BondFile {
        do { return try BondFile(changing: path) } catch { throw failure(path, error) }
    }

    /// Opens the bonds with a file that stores each change. Returns nil if no bonds are used.
    ///
    /// - Parameter makes: true to create a missing file.
    func open(makes: Bool) throws -> BondFile? {
        guard let path else { return nil }
        if !FileManager.default.fileExists(atPath: path), (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) == nil {
            guard makes else {
                if bonds == nil { return nil }
                throw Self.failure(path, .missing)
            }
            if bonds == nil { try makeFolder(of: path) }
        }
        do { return try BondFile(changing: path) } catch { throw Self.failure(path, error) }
    }

    private func makeFolder(of path: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(.usage, "no folder for bonds, \(folder): \(error.localizedDescription); name a file with --bonds")
        }
    }

    private static func failure(_ path: String, _ error: BondFileError) -> CommandFailure {
        CommandFailure(error == .inUse ? .bench : .usage, "bonds in \(path): \(error)")
    }
}

extension BondFile {
    /// - Throws: a failure of the bench if the last change could not be stored.
    func check() throws {
        if let failure { throw CommandFailure(.bench, "the bonds are not kept: \(path): \(failure)") }
    }
}

extension DeviceAddress {
    /// The address in the format of options: `C0:B1:BE:00:00:01/random`.
    var argument: String { Hex.octets(octets.reversed(), separator: ":") + (kind == .public ? "/public" : "/random") }
}
