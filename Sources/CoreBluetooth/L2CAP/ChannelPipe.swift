import BBHost
import BBPackets
import BBTiming
import Foundation
import Synchronization

/// The octets between a channel on the loop and the streams of the program.
///
/// The channel is used on the loop alone, the streams by the program; what both use is locked. A stream calls its delegate once when there
/// are octets or room, and again only after the program has read or written, as the streams of Foundation do.
final class ChannelPipe {
    private struct State {
        var received: [UInt8] = []
        var outgoing: [UInt8] = []
        var input = Side()
        var output = Side()
        /// The channel has ended; some octets may be left to read from it.
        var isClosed = false
        /// Nothing more comes from the channel.
        var hasEnded = false
        var isWarned = false

        var hasRoom: Bool { !isClosed && outgoing.count < ChannelPipe.room }
        var isAtEnd: Bool { hasEnded && received.isEmpty }

        /// The next call of the delegate of the input.
        mutating func inputEvent() -> Stream.Event? { input.event(received.isEmpty ? nil : .hasBytesAvailable, isAtEnd: isAtEnd) }
        mutating func outputEvent() -> Stream.Event? { output.event(hasRoom ? .hasSpaceAvailable : nil, isAtEnd: isClosed) }

        var hasInputEvent: Bool {
            var state = self
            return state.inputEvent() != nil
        }
        var hasOutputEvent: Bool {
            var state = self
            return state.outputEvent() != nil
        }
    }

    /// The calls of the delegate of one stream.
    private struct Side {
        var isOpen = false
        var place = StreamPlace.unscheduled
        var isOpenReported = false
        /// The program has been called, and has neither read nor written since.
        var isAnswerDue = false
        var isEndReported = false
        /// Threads of the program that wait in a call.
        var waiting = 0

        mutating func event(_ next: Stream.Event?, isAtEnd: Bool) -> Stream.Event? {
            guard isOpen else { return nil }
            if !isOpenReported {
                isOpenReported = true
                return .openCompleted
            }
            if let next, !isAnswerDue {
                isAnswerDue = true
                return next
            }
            guard isAtEnd, !isEndReported else { return nil }
            isEndReported = true
            return .endEncountered
        }
    }

    private let state = Mutex(State())
    private let arrival = DispatchSemaphore(value: 0)
    private let departure = DispatchSemaphore(value: 0)
    /// Used on the loop alone.
    private let stream: ChannelStream
    private let courier: Courier
    private let phone: CBPhone
    private var isSending = false
    private var closing: BBTiming.Timer?
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
        while true {
            let room = state.withLock { Self.room - $0.received.count }
            let part = room > 0 ? stream.read(atMost: room) : []
            guard !part.isEmpty else { break }
            state.withLock { $0.received += part }
        }
        state.withLock { if $0.isClosed { $0.hasEnded = stream.isAtEnd } }
        tellInput()
    }

    private func ended() {
        if let closing { phone.loop.cancel(closing) }
        closing = nil
        state.withLock { $0.isClosed = true }
        receive()
        tellOutput()
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
        tellOutput()
        guard state.withLock(\.outgoing.isEmpty), let closing else { return }
        phone.loop.cancel(closing)
        self.closing = nil
        stream.onWritable = nil
        stream.close(within: Self.closingTime)
    }

    /// Calls the delegate of the input, if there is one and something to report, and wakes the threads that wait for octets.
    private func tellInput() {
        for _ in 0..<state.withLock({ $0.received.isEmpty && !$0.isAtEnd ? 0 : $0.input.waiting }) { arrival.signal() }
        guard let place = state.withLock({ $0.hasInputEvent ? $0.input.place : nil }), input?.delegate != nil else { return }
        deliver(at: place) { [self] in
            while let input, let delegate = input.delegate, let event = state.withLock({ $0.inputEvent() }) {
                delegate.stream(input, handle: event)
            }
        }
    }

    private func tellOutput() {
        for _ in 0..<state.withLock({ $0.hasRoom || $0.isClosed ? $0.output.waiting : 0 }) { departure.signal() }
        guard let place = state.withLock({ $0.hasOutputEvent ? $0.output.place : nil }), output?.delegate != nil else { return }
        deliver(at: place) { [self] in
            while let output, let delegate = output.delegate, let event = state.withLock({ $0.outputEvent() }) {
                delegate.stream(output, handle: event)
            }
        }
    }

    private func isFirstUnscheduled() -> Bool {
        state.withLock { state in
            defer { state.isWarned = true }
            return !state.isWarned
        }
    }

    private func deliver(at place: StreamPlace, _ body: @escaping () -> Void) {
        if case .unscheduled = place, isFirstUnscheduled() {
            phone.misuse(
                "a stream of a channel has a delegate and is in no run loop: on a phone it gets no events without schedule(in:forMode:)")
        }
        place.deliver(by: courier, body)
    }

    // MARK: By the program

    func schedule(input place: StreamPlace) {
        state.withLock { $0.input.place = place }
        inputChanged()
    }
    func schedule(output place: StreamPlace) {
        state.withLock { $0.output.place = place }
        outputChanged()
    }

    /// The delegate has changed, or the stream was opened.
    func inputChanged() { phone.enter { [self] in tellInput() } }
    func outputChanged() { phone.enter { [self] in tellOutput() } }

    func openInput() {
        state.withLock { $0.input.isOpen = true }
        inputChanged()
    }

    func openOutput() {
        state.withLock { $0.output.isOpen = true }
        outputChanged()
    }

    var hasOctets: Bool { state.withLock { !$0.received.isEmpty } }
    var hasRoom: Bool { state.withLock(\.hasRoom) }
    var hasEnded: Bool { state.withLock(\.isAtEnd) }

    /// Reads what is there, and waits for it if there is nothing.
    ///
    /// - Returns: 0 at the end, -1 if the stream was closed or the caller cannot wait.
    func read(_ buffer: UnsafeMutablePointer<UInt8>, _ length: Int) -> Int {
        guard length > 0 else { return 0 }
        while true {
            let count: Int? = state.withLock { state in
                guard state.input.isOpen else { return -1 }
                guard !state.received.isEmpty else { return state.isAtEnd ? 0 : wait(&state.input) }
                let count = min(length, state.received.count)
                for index in 0..<count { buffer[index] = state.received[index] }
                state.received.removeFirst(count)
                state.input.isAnswerDue = false
                return count
            }
            guard let count else {
                arrival.wait()
                state.withLock { $0.input.waiting -= 1 }
                continue
            }
            if count > 0 { phone.enter { [self] in receive() } }
            return count
        }
    }

    /// Writes as much as there is room for, and waits for room if there is none.
    ///
    /// - Returns: -1 if the stream or the channel was closed, or the caller cannot wait.
    func write(_ buffer: UnsafePointer<UInt8>, _ length: Int) -> Int {
        guard length > 0 else { return 0 }
        while true {
            let count: Int? = state.withLock { state in
                guard state.output.isOpen, !state.isClosed else { return -1 }
                guard state.hasRoom else { return wait(&state.output) }
                let count = min(length, Self.room - state.outgoing.count)
                state.outgoing += UnsafeBufferPointer(start: buffer, count: count)
                state.output.isAnswerDue = false
                return count
            }
            guard let count else {
                departure.wait()
                state.withLock { $0.output.waiting -= 1 }
                continue
            }
            if count > 0 { phone.enter { [self] in send() } }
            return count
        }
    }

    /// - Returns: nil if the thread may wait; on the thread of the bench, time would never pass.
    private func wait(_ side: inout Side) -> Int? {
        guard !phone.loop.isOnLoop else { return -1 }
        side.waiting += 1
        return nil
    }

    /// The error of a call that has returned -1: EPIPE after the end of the channel, otherwise EAGAIN.
    func refused(_ misuse: String) -> any Error {
        let isClosed = state.withLock(\.isClosed)
        if !isClosed, phone.loop.isOnLoop {
            phone.misuse("\(misuse): it would wait for the peer, and on the thread of a bench no time passes")
        }
        return POSIXError(isClosed ? .EPIPE : .EAGAIN)
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

    func closeInput() { closeSide(\.input, arrival) }
    func closeOutput() { closeSide(\.output, departure) }

    private func closeSide(_ side: WritableKeyPath<State, Side>, _ waits: DispatchSemaphore) {
        let (isDone, waiting) = state.withLock { state in
            state[keyPath: side].isOpen = false
            return (!state.input.isOpen && !state.output.isOpen, state[keyPath: side].waiting)
        }
        for _ in 0..<waiting { waits.signal() }
        if isDone { close() }
    }
}
