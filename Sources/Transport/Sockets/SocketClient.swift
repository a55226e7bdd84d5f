import BBTiming

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension ByteStream {
    /// Connects to a listener.
    ///
    /// - Parameter timeout: in milliseconds.
    /// - Throws: `unreachable`, `notPermitted`.
    public static func connect(to address: SocketAddress, on loop: RunLoop, timeout: Int32 = 5_000) throws(TransportError)
        -> ByteStream
    {
        let outcome = address.withSystemAddresses(passive: false) { family, system, length in
            let descriptor = socket(family, streamSocket, 0)
            guard descriptor >= 0 else { return .failure(SystemError(code: errno)) }
            setNonBlocking(descriptor)
            let status = systemConnect(descriptor, system, length)
            if status == 0 { return .success(descriptor) }
            if let failure = errno == EINPROGRESS ? failureOfConnecting(descriptor, timeout: timeout) : SystemError(code: errno) {
                systemClose(descriptor)
                return .failure(failure)
            }
            return .success(descriptor)
        }
        switch outcome {
        case .success(let descriptor):
            if case .tcp = address { setNoDelay(descriptor) }
            return ByteStream(name: address.description, descriptor: descriptor, on: loop, isCaller: true)
        case .failure(let failure):
            if failure.code == EACCES { throw .notPermitted("\(address): \(failure.text)") }
            throw .unreachable("\(address): \(failure.text)")
        }
    }

    /// Waits until the connection is established; returns the error otherwise.
    private static func failureOfConnecting(_ descriptor: Int32, timeout: Int32) -> SystemError? {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&entry, 1, timeout) > 0 else { return SystemError(code: ETIMEDOUT) }
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
        return code == 0 ? nil : SystemError(code: code)
    }
}

private func systemConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    connect(descriptor, address, length)
}
