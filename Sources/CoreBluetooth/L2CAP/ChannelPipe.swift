import Foundation
import Host
import Packets
import Synchronization
import Timing

/// The octets between a channel on the loop and the streams of the program.
///
/// The channel is used on the loop alone, the streams on the queue alone; what both use is locked.
final class ChannelPipe {
    private struct State {
        var received: [UInt8] = []
        var outgoing: [UInt8] = []
        var isInputOpen = false
        var isOutputOpen = false
        /// The writer was refused octets and waits for room.
        var isFull = false
        /// The program must read before more octets are taken from the channel.
        var isHeld = false
        /// The channel has ended; some octets may be left to read from it.
        var isClosed = false
        var hasEnded = false
    }

    private let state = Mutex(State())
    /// Used on the loop alone.
    private let stream: ChannelStream
    private let courier: Courier
    private let phone: CBPhone
    private var isSending = false
    private var closing: Timing.Timer?
    weak var input: InputStream?
    weak var output: OutputStream?

    /// Octets that wait in each direction besides those of the channel.
    static let room = 16_384
    /// The longest time that unsent octets keep a closed channel open.
    private static let closingTime = Microseconds.seconds(5)

    init(_ channel: CreditBasedChannel, courier: Courier, phone: CBPhone) {
        stream = ChannelStream(channel, loop: phone.loop)
        self.courier = courier
        self.phone = phone
        phone.enter { [self] in attach() }
    }

    // MARK: On the loop

    private func attach() {
        stream.onReadable = { [weak self] in self?.receive() }
        stream.onWritable = { [weak self] in self?.send() }
        stream.onEnd = { [weak self] _ in self?.ended() }
        receive()
    }

    /// Takes octets from the channel as far as the program has room for them; the rest holds up the peer.
    private func receive() {
        var hasMore = false
        while true {
            let room = state.withLock { Self.room - $0.received.count }
            let part = room > 0 ? stream.read(atMost: room) : []
            guard !part.isEmpty else {
                state.withLock { $0.isHeld = room <= 0 }
                break
            }
            state.withLock { $0.received += part }
            hasMore = true
        }
        if hasMore, state.withLock(\.isInputOpen) { tellInput(.hasBytesAvailable) }
    }

    private func ended() {
        if let closing { phone.loop.cancel(closing) }
        closing = nil
        receive()
        let isOpen = state.withLock { state in
            state.hasEnded = stream.isAtEnd
            state.isClosed = true
            return (state.isInputOpen && state.hasEnded, state.isOutputOpen)
        }
        if isOpen.0 { tellInput(.endEncountered) }
        if isOpen.1 { tellOutput(.endEncountered) }
    }

    /// Takes more octets after the program has read some, and reports the end after the last ones.
    private func resume() {
        receive()
        let isEnd = state.withLock { state in
            guard state.isClosed, !state.hasEnded else { return false }
            state.hasEnded = stream.isAtEnd
            return state.hasEnded && state.isInputOpen
        }
        if isEnd { tellInput(.endEncountered) }
    }

    private func send() {
        guard !isSending else { return }
        isSending = true
        while true {
            let octets = state.withLock(\.outgoing)
            let count = octets.isEmpty ? 0 : stream.write(octets.span.bytes)
            guard count > 0 else { break }
            state.withLock { $0.outgoing.removeFirst(count) }
        }
        isSending = false
        let (hadToWait, isEmpty) = state.withLock { state in
            let hadToWait = state.isFull && state.outgoing.count < Self.room
            if hadToWait { state.isFull = false }
            return (hadToWait, state.outgoing.isEmpty)
        }
        if hadToWait { tellOutput(.hasSpaceAvailable) }
        guard isEmpty, let closing else { return }
        phone.loop.cancel(closing)
        self.closing = nil
        stream.onWritable = nil
        stream.close(within: Self.closingTime)
    }

    // MARK: On the queue

    private func tellInput(_ event: Stream.Event) {
        courier.deliver { [self] in
            if let input { input.delegate?.stream(input, handle: event) }
        }
    }

    private func tellOutput(_ event: Stream.Event) {
        courier.deliver { [self] in
            if let output { output.delegate?.stream(output, handle: event) }
        }
    }

    func openInput() {
        let (hasOctets, hasEnded) = state.withLock { state in
            state.isInputOpen = true
            return (!state.received.isEmpty, state.hasEnded)
        }
        phone.enter { [self] in
            tellInput(.openCompleted)
            if hasOctets { tellInput(.hasBytesAvailable) }
            if hasEnded { tellInput(.endEncountered) }
        }
    }

    func openOutput() {
        state.withLock { $0.isOutputOpen = true }
        phone.enter { [self] in
            tellOutput(.openCompleted)
            tellOutput(.hasSpaceAvailable)
        }
    }

    var hasOctets: Bool { state.withLock { !$0.received.isEmpty } }
    var hasRoom: Bool { state.withLock { $0.outgoing.count < Self.room && !$0.isClosed } }
    var hasEnded: Bool { state.withLock { $0.hasEnded && $0.received.isEmpty } }

    func read(_ buffer: UnsafeMutablePointer<UInt8>, _ length: Int) -> Int {
        let (count, wasHeld) = state.withLock { state in
            let count = min(length, state.received.count)
            for index in 0..<count { buffer[index] = state.received[index] }
            state.received.removeFirst(count)
            return (count, state.isHeld)
        }
        if wasHeld { phone.enter { [self] in resume() } }
        return count
    }

    func write(_ buffer: UnsafePointer<UInt8>, _ length: Int) -> Int {
        let count = state.withLock { state in
            guard !state.isClosed else { return -1 }
            let count = min(length, Self.room - state.outgoing.count)
            if count < length { state.isFull = true }
            state.outgoing += UnsafeBufferPointer(start: buffer, count: max(0, count))
            return count
        }
        if count > 0 { phone.enter { [self] in send() } }
        return count
    }

    /// Closes the channel once everything written is on its way; a peer that takes nothing does not keep it open.
    func close() {
        phone.enter { [self] in
            guard closing == nil, stream.channel.isOpen else { return }
            closing = phone.loop.schedule(after: Self.closingTime) { [self] in
                closing = nil
                stream.onWritable = nil
                stream.channel.disconnect()
            }
            stream.onWritable = { [self] in send() }
            send()
        }
    }

    func closeInput() {
        let isDone = state.withLock { state in
            state.isInputOpen = false
            return !state.isOutputOpen
        }
        if isDone { close() }
    }

    func closeOutput() {
        let isDone = state.withLock { state in
            state.isOutputOpen = false
            return !state.isInputOpen
        }
        if isDone { close() }
    }
}
