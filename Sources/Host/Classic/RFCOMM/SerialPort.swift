import BBPackets
import BBTiming
import DequeModule

/// A serial port over RFCOMM: one data link connection. RFCOMM 1.2, 2 and 5.
public final class SerialPort {
    /// The server channel on the device that offers the port, 1...30.
    public let channel: UInt8
    /// Called with received octets; buffered octets are delivered at once. Set it to nil to use `receive` again.
    public var onReceive: (([UInt8]) -> Void)? { didSet { drain() } }
    /// Called with the peer's signals.
    public var onSignals: ((RFCOMMSignals) -> Void)?
    /// Called once when the port is closed; at once if it is.
    public var onEnd: ((HostError) -> Void)? { didSet { if let failure, let onEnd { onEnd(failure) } } }
    /// Reason why the port is closed.
    public private(set) var failure: HostError?

    /// Number of buffered octets after which the peer is stopped.
    static let mostKept = 32_768

    let dlci: UInt8
    private unowned let multiplexer: SerialMultiplexer
    private let loop: RunLoop
    private var inbox = Deque<[UInt8]>()
    private var kept = 0
    private var isHeldUp = false
    private var arrival: Promise<Void>?
    private var room: Promise<Void>?

    init(_ dlci: UInt8, on multiplexer: SerialMultiplexer, loop: RunLoop) {
        (self.dlci, channel) = (dlci, dlci >> 1)
        self.multiplexer = multiplexer
        self.loop = loop
    }

    public var isOpen: Bool { failure == nil }

    // MARK: Data

    /// Sends octets in as many frames as needed, waiting for space on the link and for credits.
    ///
    /// - Throws: the reason why the port is closed.
    public func send(_ octets: [UInt8]) async throws {
        for start in stride(from: 0, to: octets.count, by: SerialMultiplexer.mostQueued) {
            let part = [UInt8](octets[start..<min(octets.count, start + SerialMultiplexer.mostQueued)])
            while true {
                if let failure { throw failure }
                try await multiplexer.waitForRoom()
                if multiplexer.send(part, on: dlci) { break }
                if let failure { throw failure }
                let promise = room ?? Promise<Void>(on: loop)
                room = promise
                try await promise.value()
            }
        }
    }

    /// Sends octets at once, or queues them until there are credits; false if the queue is full.
    @discardableResult
    public func trySend(_ octets: [UInt8]) -> Bool { isOpen && multiplexer.send(octets, on: dlci) }

    /// The next received octets, by frame. Octets received before the port was closed are returned first.
    public func receive(within limit: Microseconds? = nil) async throws -> [UInt8] {
        let deadline = limit.map { loop.now + $0 }
        while true {
            if let octets = inbox.popFirst() {
                took(octets)
                return octets
            }
            if let failure { throw failure }
            let promise = arrival ?? Promise<Void>(on: loop)
            arrival = promise
            do { try await promise.value(until: deadline) } catch is TimeOut { throw HostError.environment(.timedOut(.serialData)) }
        }
    }

    func received(_ octets: [UInt8]) {
        inbox.append(octets)
        kept += octets.count
        drain()
        if kept > Self.mostKept, !isHeldUp { hold(true) }
    }

    private func drain() {
        while let onReceive, let octets = inbox.popFirst() {
            took(octets)
            onReceive(octets)
        }
        guard !inbox.isEmpty else { return }
        arrival?.fulfil(())
        arrival = nil
    }

    private func took(_ octets: [UInt8]) {
        kept -= octets.count
        if isHeldUp, kept <= Self.mostKept / 2 { hold(false) }
    }

    private func hold(_ isHeldUp: Bool) {
        self.isHeldUp = isHeldUp
        if isOpen { multiplexer.setReceiving(!isHeldUp, on: dlci) }
    }

    func becameWritable() {
        room?.fulfil(())
        room = nil
    }

    // MARK: Closing

    /// Closes the port without waiting for the peer's response.
    public func close() { if isOpen { multiplexer.close(dlci) } }

    func ended(_ error: HostError) {
        guard isOpen else { return }
        failure = error
        for promise in [room, arrival] { promise?.fail(error) }
        (room, arrival) = (nil, nil)
        let told = onEnd
        (onEnd, onReceive, onSignals) = (nil, nil, nil)
        told?(error)
    }
}
