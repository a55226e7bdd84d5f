import BBHost
import BBPackets
import BBTiming

/// The octets between a local end and channels: dealt to the channels in turn, an SDU to each, and collected in the same order.
final class LocalPipe {
    let channels: [CreditBasedChannel]
    let local: LocalEnd
    private(set) var sent = 0
    private(set) var received = 0
    let begin: Microseconds
    /// Called once, after the last octet of the peer has been written.
    var onEnd: () -> Void = {}
    private(set) var isOver = false
    /// The first channel that has ended, and why.
    private(set) var reason: HostError?

    private let loop: RunLoop
    private let keepsOpen: Bool
    private var turnOut = 0
    private var turnIn = 0
    private var isSending = false
    private var isClosing = false

    /// The longest time that a peer without credits keeps a closed channel open.
    private static let closingTime = Microseconds.seconds(5)

    init(_ channels: [CreditBasedChannel], _ local: LocalEnd, keepsOpen: Bool, on loop: RunLoop) {
        (self.channels, self.local, self.keepsOpen, self.loop) = (channels, local, keepsOpen, loop)
        begin = loop.now
    }

    func start() {
        for channel in channels {
            channel.writable.add { [weak self] in self?.send() }
            channel.onArrival = { [weak self] in self?.receive() }
            channel.closed.add { [weak self] in self?.ended($0) }
        }
        local.onInput = { [weak self] in self?.send() }
        local.onRoom = { [weak self] in self?.receive() }
        local.start()
        receive()
        if let failure = channels.lazy.compactMap(\.failure).first { ended(failure) }
    }

    /// Closes the channels after what is queued for them.
    func close() {
        guard !isClosing else { return }
        isClosing = true
        for channel in channels { channel.close(within: Self.closingTime) }
    }

    private func send() {
        guard !isSending, !isClosing, reason == nil else { return }
        isSending = true
        defer { isSending = false }
        while !local.input.isEmpty {
            let channel = channels[turnOut]
            let octets = local.input
            let count = min(octets.count, max(1, channel.fullSDU))
            guard channel.trySend(octets.span.bytes.extracting(..<count)) == .sent else { return }
            sent += count
            turnOut = turnOut + 1 == channels.count ? 0 : turnOut + 1
            local.take(count)
        }
        // An input that is empty from the start is that of a side that only receives.
        if local.isInputOver, !keepsOpen, sent > 0 || local.isSocket { close() }
    }

    /// Takes SDUs while the local end has room; the rest keeps its credits.
    private func receive() {
        while local.room > 0, let sdu = channels[turnIn].take() {
            received += sdu.count
            local.put(sdu)
            turnIn = turnIn + 1 == channels.count ? 0 : turnIn + 1
        }
        if local.isOutputGone { close() }
        finish()
    }

    private func ended(_ error: HostError) {
        if reason == nil { reason = error }
        receive()
    }

    /// Ends the pipe once nothing more can come and everything is written. The other channels may still bring SDUs of earlier turns, until
    /// it is the turn of one that has ended.
    private func finish() {
        guard !isOver, !channels[turnIn].isOpen, !channels[turnIn].hasWaiting else { return }
        close()
        guard channels.allSatisfy({ !$0.isOpen }), local.isFlushed else { return }
        isOver = true
        local.close()
        onEnd()
    }
}
