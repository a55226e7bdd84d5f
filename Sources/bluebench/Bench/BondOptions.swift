import ArgumentParser
import BBHost
import BBPackets
import BBSessions
import BBTransport
import Foundation

/// The options for a command's bonds.
struct BondOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Bond file, or none for no bonds. Default: bonds.json in $XDG_DATA_HOME/bluebench or ~/.local/share/bluebench; none in virtual time.",
            valueName: "file"),
        completion: .file())
    var bonds: String?

    /// The path of the file for a command on a device; nil if no bonds are used. No command in virtual time uses the default file, since its
    /// secrets follow from the seed.
    ///
    /// - Parameter device: nil for a command without a device.
    func path(for device: String?) throws -> String? {
        guard let bonds else { return try Self.isInVirtualTime(device) ? nil : Self.defaultPath }
        return bonds == "none" ? nil : bonds
    }

    private static func isInVirtualTime(_ device: String?) throws -> Bool {
        guard let device else { return false }
        do {
            let selector = try DeviceSelector(device)
            return selector == .virtual || selector.isInVirtualTime
        } catch { throw CommandFailure(error) }
    }

    private static var defaultPath: String? {
        let environment = ProcessInfo.processInfo.environment
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return "\(data)/bluebench/bonds.json" }
        return environment["HOME"].map { "\($0)/.local/share/bluebench/bonds.json" }
    }

    /// Reads the bonds; none if the default file does not exist.
    ///
    /// - Parameter device: the device for which they are used; nil to use them for none.
    func read(for device: String?) throws -> KeyStore {
        guard let path = try path(for: device) else { return KeyStore() }
        do {
            let keys = try BondFile.read(path)
            if let device { try keys.reserve(forVirtualTime: try Self.isInVirtualTime(device)) }
            return keys
        } catch BondFileError.missing where bonds == nil {
            return KeyStore()
        } catch let error as BondFileError {
            throw Self.failure(path, error)
        }
    }

    /// Reads the bonds in a file, which must exist.
    static func read(_ path: String) throws -> KeyStore {
        do { return try BondFile.read(path) } catch { throw failure(path, error) }
    }

    /// Opens the bonds in a file for a device. The file stores each change, and is created if it does not exist.
    ///
    /// - Parameter device: nil for a command that only manages bonds.
    static func open(_ path: String, for device: String?) throws -> BondFile {
        do {
            let file = try BondFile(changing: path)
            if let device { try file.keys.reserve(forVirtualTime: try isInVirtualTime(device)) }
            file.onFailure = { Console.complain("bonds in \(path): \($0)") }
            return file
        } catch let error as BondFileError {
            throw failure(path, error)
        }
    }

    /// Opens the bonds with a file that stores each change. Returns nil if no bonds are used.
    ///
    /// - Parameters:
    ///   - makes: true to create a missing file.
    ///   - device: the device for which they are used; nil for a command that only manages bonds.
    func open(makes: Bool, for device: String?) throws -> BondFile? {
        guard let path = try path(for: device) else { return nil }
        if !FileManager.default.fileExists(atPath: path), (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) == nil {
            guard makes else {
                if bonds == nil { return nil }
                throw Self.failure(path, .missing)
            }
            if bonds == nil { try makeFolder(of: path) }
        }
        return try Self.open(path, for: device)
    }

    private func makeFolder(of path: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(.usage, "cannot make the folder for bonds, \(folder): \(systemReason(error)); name a file with --bonds")
        }
    }

    private static func failure(_ path: String, _ error: BondFileError) -> CommandFailure {
        CommandFailure(error == .inUse ? .bench : .usage, "bonds in \(path): \(error)")
    }
}

extension KeyStore {
    /// Stores the address of a host, once it has started, as the identity to which its bonds belong.
    ///
    /// - Throws: a failure of the bench if another command has stored its own in the same file since this one has read it.
    func keepIdentity(_ address: DeviceAddress) throws {
        identityAddress = address
        guard let kept = identityAddress, kept != address else { return }
        throw CommandFailure(
            .bench,
            "another command has just stored the identity \(kept.argument) with these bonds, and this device uses \(address.argument):"
                + " start this command again")
    }
}

extension BondFile {
    /// - Throws: a failure of the bench if the last change could not be stored.
    func check() throws {
        if let failure { throw CommandFailure(.bench, "the bonds were not stored in \(path): \(failure)") }
    }
}
