import DequeModule
import Packets
import Timing

/// A serial port over RFCOMM: one data link connection. RFCOMM 1.2, 2 and 5.
public final class SerialPort {
    /// The server channel at the side that offers the port, 1...30.
    public let channel: UInt8
    /// Takes octets as they come; what came before is handed over at once. Nil gives them to `receive` again.
    public var onReceive: (([UInt8]) -> Void)? { didSet { drain() } }
    /// Told of the peer's signals.
    public var onSignals: ((RFCOMMSignals) -> Void)?
    /// Told once, when the port is closed.
    public var onEnd: ((HostError) -> Void)?
    /// Why the port is closed.
    public private(set) var failure: HostError?

    /// Octets that nobody has taken after which the peer is held up.
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

    // MARK: Octets

    /// Sends octets, in as many frames as it takes, waiting for room on the link and for the peer's credits.
    ///
    /// - Throws: why the port is closed.
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

    /// Sends octets at once, or keeps them until there are credits; false if there is no room.
    @discardableResult
    public func trySend(_ octets: [UInt8]) -> Bool { isOpen && multiplexer.send(octets, on: dlci) }

    /// What has come next, as it was cut into frames; what came before the port was closed is handed over first.
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

    // MARK: End

    /// Closes the port; the peer's word is not waited for.
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
