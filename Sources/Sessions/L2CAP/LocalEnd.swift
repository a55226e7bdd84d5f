import BBTiming
import BBTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The side of a pipe on this machine: the standard streams, or a TCP connection.
///
/// It reads only while it has room for octets, and it says how many it can write, so that a slow side holds up the other.
final class LocalEnd {
    /// Called when octets or the end of the input have come.
    var onInput: () -> Void = {}
    /// Called when there is room for output again.
    var onRoom: () -> Void = {}
    /// Octets that were read and not taken.
    private(set) var input: [UInt8] = []
    /// The input has ended; `input` may still have octets.
    private(set) var isInputOver = false
    /// The reader of the output is gone.
    private(set) var isOutputGone = false

    private let loop: RunLoop
    private let (inputDescriptor, outputDescriptor): (Int32, Int32)
    let isSocket: Bool
    private var output: [UInt8] = []
    private var watched: DescriptorInterest = []
    private var isClosed = false

    static let capacity = 32_768
    /// The most that a pipe surely takes without blocking when it is ready. POSIX, PIPE_BUF.
    private static let step = 4_096

    init(input: Int32, output: Int32, isSocket: Bool, on loop: RunLoop) {
        (inputDescriptor, outputDescriptor, self.isSocket, self.loop) = (input, output, isSocket, loop)
    }

    static func standard(on loop: RunLoop) -> LocalEnd {
        LocalEnd(input: STDIN_FILENO, output: STDOUT_FILENO, isSocket: false, on: loop)
    }

    /// Begins to read.
    func start() { watch() }

    /// Removes octets from the front of the input.
    func take(_ count: Int) {
        input.removeFirst(count)
        watch()
    }

    /// The number of octets that `put` takes now.
    var room: Int { isOutputGone ? Self.capacity : max(0, Self.capacity - output.count) }
    var isFlushed: Bool { output.isEmpty || isOutputGone }

    /// Queues octets for the output.
    func put(_ octets: some Sequence<UInt8>) {
        guard !isOutputGone, !isClosed else { return }
        output += octets
        watch()
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        unwatch()
        if isSocket { LoopbackSocket.close(inputDescriptor) }
    }

    // MARK: Descriptors

    private var wanted: DescriptorInterest {
        var wanted: DescriptorInterest = []
        if !isInputOver, input.count < Self.capacity { wanted.insert(.read) }
        if !output.isEmpty, !isOutputGone { wanted.insert(.write) }
        return wanted
    }

    private func watch() {
        guard !isClosed, wanted != watched else { return }
        unwatch()
        watched = wanted
        guard !watched.isEmpty else { return }
        if inputDescriptor == outputDescriptor {
            loop.watch(inputDescriptor, for: watched) { [weak self] in self?.serve($0) }
            return
        }
        if watched.contains(.read) { loop.watch(inputDescriptor, for: .read) { [weak self] _ in self?.serve(.read) } }
        if watched.contains(.write) { loop.watch(outputDescriptor, for: .write) { [weak self] _ in self?.serve(.write) } }
    }

    private func unwatch() {
        guard !watched.isEmpty else { return }
        if inputDescriptor == outputDescriptor || watched.contains(.read) { loop.unwatch(inputDescriptor) }
        if inputDescriptor != outputDescriptor, watched.contains(.write) { loop.unwatch(outputDescriptor) }
        watched = []
    }

    private func serve(_ ready: DescriptorInterest) {
        if ready.contains(.write), !output.isEmpty { flush() }
        guard !ready.isDisjoint(with: [.read, .hangUp]), !isInputOver, !isClosed else { return watch() }
        receive()
        watch()
        onInput()
    }

    private func receive() {
        var part = [UInt8](repeating: 0, count: Self.step)
        let count = read(inputDescriptor, &part, part.count)
        if count > 0 {
            input += part[..<count]
        } else if count == 0 || (errno != EINTR && errno != EAGAIN) {
            isInputOver = true
        }
    }

    private func flush() {
        let count = output.withUnsafeBytes { octets in
            isSocket
                ? LoopbackSocket.send(outputDescriptor, octets) : write(outputDescriptor, octets.baseAddress, min(octets.count, Self.step))
        }
        if count > 0 {
            output.removeFirst(count)
        } else if count < 0, errno != EINTR, errno != EAGAIN {
            isOutputGone = true
            output.removeAll()
        }
        watch()
        onRoom()
    }
}
