import BBTiming
import BBTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// TCP on this machine alone: 127.0.0.1.
package enum LoopbackSocket {
    /// Reads `localhost:8080` or `127.0.0.1:8080`. No other machine is named: a channel must not be open to the network by accident.
    package static func port(_ text: String) -> UInt16? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, ["127.0.0.1", "localhost"].contains(parts[0]), let port = UInt16(parts[1]), port > 0 else { return nil }
        return port
    }

    /// True for an address that only this machine reaches.
    package static func isLoopback(_ host: String) -> Bool {
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return host == "localhost" || host == "::1" || (numbers.count == 4 && numbers[0] == 127 && !numbers.contains(nil))
    }

    /// Connects; a refusal may come later, as the end of the connection.
    static func connect(to port: UInt16, on loop: RunLoop) throws -> LocalEnd {
        let descriptor = try make()
        let status = withAddress(port) { systemConnect(descriptor, $0, $1) }
        guard status == 0 || errno == EINPROGRESS else {
            let code = errno
            close(descriptor)
            throw CommandFailure(.bench, "127.0.0.1:\(port): \(systemText(code))")
        }
        return LocalEnd(input: descriptor, output: descriptor, isSocket: true, on: loop)
    }

    /// A socket that does not block and is closed with the process.
    fileprivate static func make() throws -> Int32 {
        #if canImport(Glibc)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw CommandFailure(.bench, "cannot make a socket: \(systemText(errno))") }
        prepare(descriptor)
        return descriptor
    }

    fileprivate static func prepare(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    fileprivate static func withAddress(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    /// Writes without SIGPIPE.
    static func send(_ descriptor: Int32, _ octets: UnsafeRawBufferPointer) -> Int {
        #if canImport(Glibc)
            systemSend(descriptor, octets.baseAddress, octets.count, Int32(MSG_NOSIGNAL))
        #else
            systemSend(descriptor, octets.baseAddress, octets.count, 0)
        #endif
    }

    static func close(_ descriptor: Int32) { _ = systemClose(descriptor) }
}

/// A TCP port of this machine.
final class LoopbackListener {
    /// The actual port, if 0 was given.
    let port: UInt16
    private let descriptor: Int32
    private let loop: RunLoop

    init(port: UInt16, on loop: RunLoop) throws {
        self.loop = loop
        descriptor = try LoopbackSocket.make()
        let listening = descriptor
        guard LoopbackSocket.withAddress(port, { bind(listening, $0, $1) }) == 0, systemListen(listening) == 0 else {
            let code = errno
            LoopbackSocket.close(listening)
            throw CommandFailure(.bench, "127.0.0.1:\(port): \(systemText(code))")
        }
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listening, $0, &length) }
        }
        self.port = UInt16(bigEndian: address.sin_port)
    }

    /// Calls `accepted` with each connection until `close`.
    func start(_ accepted: @escaping (LocalEnd) -> Void) {
        loop.watch(descriptor, for: .read) { [loop, descriptor] _ in
            let connection = accept(descriptor, nil, nil)
            guard connection >= 0 else { return }
            LoopbackSocket.prepare(connection)
            accepted(LocalEnd(input: connection, output: connection, isSocket: true, on: loop))
        }
    }

    func close() {
        loop.unwatch(descriptor)
        LoopbackSocket.close(descriptor)
    }
}

private func systemConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    connect(descriptor, address, length)
}

private func systemListen(_ descriptor: Int32) -> Int32 { listen(descriptor, 16) }

private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }

private func systemSend(_ descriptor: Int32, _ octets: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
    send(descriptor, octets, count, flags)
}
