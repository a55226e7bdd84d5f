import BBPackets
import BBTiming

/// The octets of a credit-based channel as a stream in both directions, without the limits of SDUs.
///
/// Both directions are bounded: `write` takes what `room` holds, and a peer whose octets are not read has to stop for credits.
public final class ChannelStream {
    public let channel: CreditBasedChannel
    /// Called when octets have arrived.
    public var onReadable: (() -> Void)?
    /// Called when there is room again after `write` took less than it was given.
    public var onWritable: (() -> Void)?
    /// Called when the channel has ended. Octets that arrived before can still be read.
    public var onEnd: ((HostError) -> Void)?
    /// Octets handed to the channel so far, and read from it.
    public private(set) var octetsSent = 0
    public private(set) var octetsRead = 0

    private var outgoing: [UInt8] = []
    private var start = 0
    private var incoming: ArraySlice<UInt8> = []
    private var isRefusing = false
    private var isFlushing = false
    private var isClosing = false
    private let loop: RunLoop
    private var closing: (timer: Timer, deadline: Microseconds)?

    /// The largest number of octets that wait for the channel.
    public static let capacity = 16_384

    /// Takes over the channel's handlers.
    public init(_ channel: CreditBasedChannel, loop: RunLoop) {
        self.channel = channel
        self.loop = loop
        channel.onArrival = { [weak self] in self?.onReadable?() }
        channel.writable.add { [weak self] in self?.flush() }
        channel.closed.add { [weak self] error in self?.ended(error) }
        // A channel that has ended before calls no more listeners; the owner sets its own first.
        if let failure = channel.failure { loop.schedule(after: .zero) { [weak self] in self?.ended(failure) } }
    }

    /// The number of octets that wait for the channel.
    public var waiting: Int { outgoing.count - start }
    /// The number of octets that `write` takes now.
    public var room: Int { channel.isOpen && !isClosing ? Self.capacity - waiting : 0 }
    /// True if the channel has ended and everything has been read.
    public var isAtEnd: Bool { !channel.isOpen && incoming.isEmpty && !channel.hasWaiting }

    /// Takes as many octets as there is room for; returns their number. If they are not all, `onWritable` is called later.
    public func write(_ octets: RawSpan) -> Int {
        var taken = 0
        isRefusing = false
        while taken < octets.byteCount, room > 0 {
            let end = taken + min(octets.byteCount - taken, room)
            octets.extracting(taken..<end).withUnsafeBytes { outgoing.append(contentsOf: $0) }
            taken = end
            flush()
        }
        isRefusing = taken < octets.byteCount
        return taken
    }

    /// Returns the octets that have arrived, up to a number; empty if there are none.
    public func read(atMost count: Int = capacity) -> ArraySlice<UInt8> {
        while incoming.isEmpty, let next = channel.take() { incoming = next[...] }
        let part = incoming.prefix(count)
        incoming = incoming.dropFirst(part.count)
        octetsRead += part.count
        return part
    }

    /// Sends what waits and ends the channel; after the limit, it ends in any case.
    public func close(within limit: Microseconds = .seconds(5)) {
        guard channel.isOpen, !isClosing else { return }
        isClosing = true
        guard waiting > 0 else { return channel.close(within: limit) }
        let deadline = loop.now + limit
        // The stream lives until its last octet is sent.
        closing = (loop.schedule(at: deadline) { [self] in channel.disconnect() }, deadline)
    }

    private func flush() {
        guard !isFlushing else { return }
        isFlushing = true
        while waiting > 0 {
            // Sending may call other owners, who may write to this stream.
            let octets = outgoing
            let end = start + min(octets.count - start, max(1, channel.fullSDU))
            guard channel.trySend(octets.span.bytes.extracting(start..<end)) == .sent else { break }
            octetsSent += end - start
            start = end
        }
        isFlushing = false
        if start == outgoing.count {
            outgoing.removeAll(keepingCapacity: true)
            start = 0
            if isClosing { finish() }
        } else if start >= Self.capacity / 2 {
            outgoing.removeFirst(start)
            start = 0
        }
        guard isRefusing, room >= Self.capacity / 2 else { return }
        isRefusing = false
        onWritable?()
    }

    /// Closes the channel after the last octet; the limit that is set remains.
    private func finish() {
        guard let closing else { return }
        loop.cancel(closing.timer)
        self.closing = nil
        channel.close(within: max(.zero, closing.deadline - loop.now))
    }

    private func ended(_ error: HostError) {
        if let closing { loop.cancel(closing.timer) }
        closing = nil
        outgoing.removeAll()
        start = 0
        onEnd?(error)
    }
}
