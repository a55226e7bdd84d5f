#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Address of a stream socket.
public enum SocketAddress: Sendable, Hashable {
    case tcp(host: String, port: UInt16)
    case unix(path: String)
}

extension SocketAddress: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "tcp:[\(host)]:\(port)" : "tcp:\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}

extension SocketAddress {
    /// Calls `attempt` with each system address of the name until one succeeds.
    ///
    /// - Returns: the first result that is not an error number; otherwise the last error, or zero if the name has no address.
    func withSystemAddresses(
        passive: Bool, _ attempt: (_ family: Int32, UnsafePointer<sockaddr>, socklen_t) -> Result<Int32, SystemError>
    ) -> Result<Int32, SystemError> {
        switch self {
        case .unix(let path): return Self.withUnixAddress(path, attempt)
        case .tcp(let host, let port):
            var hints = addrinfo()
            hints.ai_socktype = streamSocket
            hints.ai_flags = passive ? AI_PASSIVE : 0
            var list: UnsafeMutablePointer<addrinfo>?
            let status = getaddrinfo(host, String(port), &hints, &list)
            guard status == 0 else { return .failure(SystemError(code: 0, text: String(cString: gai_strerror(status)))) }
            defer { freeaddrinfo(list) }
            var outcome = Result<Int32, SystemError>.failure(SystemError(code: 0, text: "no address"))
            var entry = list
            while let info = entry?.pointee {
                if let address = info.ai_addr {
                    outcome = attempt(info.ai_family, address, info.ai_addrlen)
                    if case .success = outcome { return outcome }
                }
                entry = info.ai_next
            }
            return outcome
        }
    }

    private static func withUnixAddress(
        _ path: String, _ attempt: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Result<Int32, SystemError>
    ) -> Result<Int32, SystemError> {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let octets = Array(path.utf8)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { room in
            guard !octets.isEmpty, octets.count < room.count else { return false }
            room.copyBytes(from: octets)
            return true
        }
        guard fits else { return .failure(SystemError(code: ENAMETOOLONG)) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { attempt(AF_UNIX, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
    }
}

/// A system error number with its text.
struct SystemError: Error {
    var code: Int32
    var text: String

    init(code: Int32, text: String? = nil) {
        self.code = code
        self.text = text ?? systemText(code)
    }
}
