#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Environment variables with secrets. The arguments of a program are visible to all users of the machine, its environment is not. Commands
/// of the user do not inherit them.
public enum SecretVariable: String, CaseIterable, Sendable {
    /// Access token of a shared device or of a page.
    case token = "BLUEBENCH_TOKEN"
    /// Passkey of a pairing.
    case passkey = "BLUEBENCH_PASSKEY"

    /// The value; nil if the variable is not set.
    public var value: String? { getenv(rawValue).map { String(cString: $0) } }
}
