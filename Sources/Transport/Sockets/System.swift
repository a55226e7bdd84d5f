#if canImport(Glibc)
    import BBCSystemCalls
    import Glibc
#else
    import Darwin
#endif

/// C library calls whose names are hidden by ours, and differences between systems.
@discardableResult
func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }

/// Writes without SIGPIPE if the reader is gone; falls back to `write` for descriptors other than sockets.
@inline(__always) func systemSend(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    #if canImport(Glibc)
        let sent = send_plainly(descriptor, bytes, count)
    #else
        let sent = send(descriptor, bytes, count, 0)
    #endif
    return sent < 0 && errno == ENOTSOCK ? write(descriptor, bytes, count) : sent
}

/// Reads what a socket has received.
@inline(__always) func systemReceive(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    #if canImport(Glibc)
        receive_plainly(descriptor, bytes, count)
    #else
        recv(descriptor, bytes, count, 0)
    #endif
}

func setNonBlocking(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
}

func systemIsSocket(_ descriptor: Int32) -> Bool {
    var information = stat()
    return fstat(descriptor, &information) == 0 && information.st_mode & S_IFMT == S_IFSOCK
}

func setOption(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32 = 1) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
}

/// Disables Nagle's algorithm: a packet is one write and is sent at once.
func setNoDelay(_ descriptor: Int32) { setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY) }

#if canImport(Glibc)
    let streamSocket = Int32(SOCK_STREAM.rawValue)
#else
    let streamSocket = SOCK_STREAM
#endif

/// Description of an error number.
public func systemText(_ code: Int32) -> String { String(cString: strerror(code)) }

/// Writes everything; returns an error number or zero.
public func writeAll(_ octets: ArraySlice<UInt8>, to descriptor: Int32) -> Int32 {
    var rest = octets
    while !rest.isEmpty {
        let written = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if written > 0 {
            rest = rest.dropFirst(written)
        } else if written == 0 || errno != EINTR {
            return written == 0 ? EIO : errno
        }
    }
    return 0
}
