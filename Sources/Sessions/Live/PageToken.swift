import BBBluetoothCrypto
import BBPackets
import BBTransport
import Foundation

/// The token in the address of a page.
package enum PageToken {
    /// Returns the token of a file or of the environment, or a new one for a page that only this machine reaches.
    ///
    /// - Parameter host: the address on which the page is served.
    /// - Throws: a usage error for a file without a token, or if a token must be given.
    package static func text(
        file: String?, host: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> String {
        if let file {
            let text = (try? String(contentsOfFile: file, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines)
            guard let text, AccessToken(text) != nil, fitsAddress(text) else {
                throw CommandFailure(.usage, "--token-file \(file) has no token: one line of 16 to 200 letters, digits, - and _")
            }
            return text
        }
        if let text = environment[AccessToken.variable], AccessToken(text) != nil, fitsAddress(text) { return text }
        guard LoopbackSocket.isLoopback(host) else {
            throw CommandFailure(
                .usage,
                "others reach \(host): a token of 16 to 200 letters, digits, - and _ is needed, in --token-file FILE or the variable \(AccessToken.variable)"
            )
        }
        var source = SecretSource.system
        return source.octets(16).map { Hex.number(UInt64($0), bits: 8).dropFirst(2).lowercased() }.joined()
    }

    private static func fitsAddress(_ text: String) -> Bool {
        text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
    }
}
