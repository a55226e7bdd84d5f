import BBPackets
import BBTiming
import DequeModule

/// An L2CAP channel of any kind that carries SDUs: fixed, connection-oriented over BR/EDR, or credit-based. Core Vol 3, Part A, 2.4.
protocol SDUChannel: AnyObject {
    /// Longest SDU that both sides take, in octets; nil on a fixed channel, where the layer above agrees on it.
    var mtu: Int? { get }
    /// True if another SDU finds room on the link and in the peer's window or credits.
    var isWritable: Bool { get }
    /// The reason why nothing can be sent any more.
    var failure: HostError? { get }
    /// The channel below, if it takes an SDU as one PDU: the way without an array for each SDU.
    var basic: L2CAPChannel? { get }

    /// Waits for room on the link and in the peer's window or credits.
    func waitForRoom() async throws
    /// Reports room once, after `isWritable` was false; a channel that always reports it has nothing to do.
    func announceRoom()
    /// Sends an SDU whatever the length of the queue, for what another flow control bounds.
    func transmit(_ sdu: [UInt8])
    /// Gives each SDU to a handler, as it comes. The span is valid during the call.
    func deliver(to handler: @escaping (RawSpan) -> Void)
    /// Ends the channel without waiting for the peer; a fixed channel stays.
    func disconnect()
}

extension SDUChannel {
    func announceRoom() {}
}

/// The SDUs that a channel has received and nobody has taken yet.
final class SDUInbox {
    /// Takes each SDU, those that wait at once. Nil gives SDUs to `next` again.
    var handler: (([UInt8]) -> Void)? { didSet { drain() } }
    /// Called when an SDU waits for `take`.
    var arrived: (() -> Void)?
    /// Called after an SDU was taken, with its number of frames.
    var taken: ((Int) -> Void)?
    private var waiting = Deque<(sdu: [UInt8], frames: Int)>()
    private var arrival: Promise<Void>?
    private var failure: HostError?
    private let loop: RunLoop

    init(on loop: RunLoop) { self.loop = loop }

    var isEmpty: Bool { waiting.isEmpty }

    func append(_ sdu: [UInt8], frames: Int = 1) {
        waiting.append((sdu, frames))
        drain()
    }

    /// Takes the next SDU, if one waits.
    func take() -> [UInt8]? {
        guard let next = waiting.popFirst() else { return nil }
        taken?(next.frames)
        return next.sdu
    }

    /// The next SDU; those that came before the end of the channel are returned first.
    ///
    /// - Throws: `HostError.environment(.timedOut(.sdu))` at the deadline, or the reason for the end.
    func next(until deadline: Microseconds?) async throws -> [UInt8] {
        while true {
            if let sdu = take() { return sdu }
            if let failure { throw failure }
            let promise = arrival ?? Promise<Void>(on: loop)
            arrival = promise
            do { try await promise.value(until: deadline) } catch is TimeOut { throw HostError.environment(.timedOut(.sdu)) }
        }
    }

    func fail(_ error: HostError) {
        failure = error
        arrival?.fail(error)
        arrival = nil
    }

    private func drain() {
        while let handler, let next = waiting.popFirst() {
            handler(next.sdu)
            taken?(next.frames)
        }
        guard !waiting.isEmpty else { return }
        arrival?.fulfil(())
        arrival = nil
        arrived?()
    }
}
