import ArgumentParser
import BBTransport
import Foundation

/// The passkey of a pairing, from an option, a file or the environment. Arguments are visible to all users of the machine; a file and the
/// environment are not.
struct PasskeyOptions: ParsableArguments {
    @Option(
        help: "Passkey of the pairing, 0 to 999999. Visible to other users of the machine: prefer --passkey-file.",
        transform: Arguments.whole(0...999_999))
    var passkey: UInt32?
    @Option(
        help: ArgumentHelp(
            "File with the passkey. Default: the variable \(SecretVariable.passkey.rawValue), if it is set.", valueName: "file"),
        completion: .file())
    var passkeyFile: String?

    /// True if an option names a passkey.
    var isGiven: Bool { passkey != nil || passkeyFile != nil }

    /// - Throws: a usage error for a file or a variable without a passkey.
    func value() throws -> UInt32? {
        if let passkey {
            guard passkeyFile == nil else { throw CommandFailure(.usage, "--passkey and --passkey-file exclude each other") }
            return passkey
        }
        if let passkeyFile {
            return try Self.number(try SecretFile.text(passkeyFile, of: "--passkey-file"), in: "--passkey-file \(passkeyFile)")
        }
        return try SecretVariable.passkey.value.map { try Self.number($0, in: "the variable \(SecretVariable.passkey.rawValue)") }
    }

    private static func number(_ text: String, in place: String) throws -> UInt32 {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard let number = UInt32(text), number <= 999_999 else {
            throw CommandFailure(.usage, "\(place) has no passkey: one line with a number, 0 to 999999")
        }
        return number
    }
}

/// A file with one secret.
enum SecretFile {
    private static let longest = 4_096

    /// The text of a file without line feeds at the end.
    static func text(_ path: String, of option: String) throws -> String {
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: longest + 1), data.count <= longest else {
            throw CommandFailure(.usage, "\(option) \(path) cannot be read, or has more than \(longest) octets")
        }
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .newlines)
    }
}
