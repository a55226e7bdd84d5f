import Foundation
import Host
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
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let channel: CreditBasedChannel
    private let courier: Courier
    private let phone: CBPhone
    private var isSending = false
    private var isClosing = false
    weak var input: InputStream?
    weak var output: OutputStream?

    /// Octets that wait for the channel.
    static let room = 16_384

    init(_ channel: CreditBasedChannel, courier: Courier, phone: CBPhone) {
        self.channel = channel
        self.courier = courier
        self.phone = phone
        phone.enter { [self] in attach() }
    }

    // MARK: On the loop

    private func attach() {
        channel.onReceive = { [weak self] in self?.received($0) }
        _ = phone.loop.start { [weak self, channel] in
            try? await channel.ended()
            self?.ended()
        }
    }

    private func received(_ sdu: [UInt8]) {
        let isOpen = state.withLock { state in
            state.received += sdu
            return state.isInputOpen
        }
        if isOpen { tellInput(.hasBytesAvailable) }
    }

    private func ended() {
        let isOpen = state.withLock { state in
            state.hasEnded = true
            return (state.isInputOpen, state.isOutputOpen)
        }
        if isOpen.0 { tellInput(.endEncountered) }
        if isOpen.1 { tellOutput(.endEncountered) }
    }

    private func send() {
        guard !isSending else { return }
        isSending = true
        _ = phone.loop.start { [self] in
            while let sdu = nextSDU() {
                do { try await channel.send(sdu) } catch { break }
                let hadToWait = state.withLock { state in
                    defer { state.isFull = false }
                    return state.isFull
                }
                if hadToWait { tellOutput(.hasSpaceAvailable) }
            }
            isSending = false
            if isClosing { channel.disconnect() }
        }
    }

    private func nextSDU() -> [UInt8]? {
        state.withLock { state in
            guard !state.outgoing.isEmpty else { return nil }
            let sdu = [UInt8](state.outgoing.prefix(channel.peerMTU))
            state.outgoing.removeFirst(sdu.count)
            return sdu
        }
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
    var hasRoom: Bool { state.withLock { $0.outgoing.count < Self.room && !$0.hasEnded } }
    var hasEnded: Bool { state.withLock { $0.hasEnded && $0.received.isEmpty } }

    func read(_ buffer: UnsafeMutablePointer<UInt8>, _ length: Int) -> Int {
        state.withLock { state in
            let count = min(length, state.received.count)
            for index in 0..<count { buffer[index] = state.received[index] }
            state.received.removeFirst(count)
            return count
        }
    }

    func write(_ buffer: UnsafePointer<UInt8>, _ length: Int) -> Int {
        let count = state.withLock { state in
            guard !state.hasEnded else { return -1 }
            let count = min(length, Self.room - state.outgoing.count)
            if count < length { state.isFull = true }
            state.outgoing += UnsafeBufferPointer(start: buffer, count: max(0, count))
            return count
        }
        if count > 0 { phone.enter { [self] in send() } }
        return count
    }

    /// Closes the channel once everything written is on its way.
    func close() {
        phone.enter { [self] in
            isClosing = true
            if !isSending { channel.disconnect() }
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
