import BBPackets

/// One end of a pipe of HCI packets. Both ends have the same interface: a host uses one, a controller the other.
///
/// All calls are on the loop of the pipe. Packets are delivered in order, never from within `send(_:)`.
public protocol HCITransport: AnyObject {
    /// The device selector of the pipe: `virtual`, `tcp:127.0.0.1:7001`, `usb:1-2.3`.
    var name: String { get }

    /// Starts delivery; packets that arrived earlier are delivered first.
    func open(_ sink: any HCITransportSink) throws(TransportError)

    /// Queues a packet. After the pipe has closed, packets are dropped and the sink has been notified.
    func send(_ packet: HCIPacket)

    /// Closes the pipe from this end without notifying the sink.
    func close()

    /// Product name from the manufacturer; nil if unknown.
    var product: String? { get }

    /// Start-up steps of the device; nil for a pipe without start-up, and before it is complete.
    var startOfPipe: PipeStart? { get }

    /// Reordering statistics since the last call.
    func takeReordering() -> ReorderingStatistics

    /// Observed quirks of the device that needed a workaround.
    var learned: LearnedConductList { get }
}

extension HCITransport {
    public var product: String? { nil }
    public var startOfPipe: PipeStart? { nil }
    public func takeReordering() -> ReorderingStatistics { ReorderingStatistics() }
    public var learned: LearnedConductList { LearnedConductList() }
}

/// Receiver of a pipe's packets.
public protocol HCITransportSink: AnyObject {
    /// A packet has arrived.
    ///
    /// - Parameter time: arrival time: the loop's time, or the time stamp of the transport's thread in wall time.
    func received(_ packet: HCIPacket, at time: Microseconds)

    /// The pipe was closed; no further calls follow.
    func closed(_ reason: TransportError)
}

/// Error of a pipe: always a fault of the environment, never a verdict about a peer.
public enum TransportError: Error, Sendable, Equatable {
    /// No device matches the selector, or the connection was refused.
    case unreachable(String)
    /// Another program uses the device or port.
    case busy(String)
    /// The user may not open the device; the text says what to do.
    case notPermitted(String)
    /// The other end was closed.
    case lost(String)
    /// The byte stream is no longer HCI.
    case desynchronised(String)
    /// The controller's firmware has crashed.
    case crashed(String)
    /// The device is present but cannot be used; the text says which, why and what to do.
    case unprepared(String)
    /// A bounded queue has overflowed: the receiver is too slow.
    case overrun(dropped: Int)
}

extension TransportError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreachable(let what): "cannot reach \(what)"
        case .busy(let what): "\(what) is in use"
        case .notPermitted(let what): "no permission: \(what)"
        case .lost(let what): "\(what) went away"
        case .desynchronised(let what): "lost packet framing: \(what)"
        case .unprepared(let text), .crashed(let text): text
        case .overrun(let dropped): "\(dropped) packets were dropped because the receiver was too slow"
        }
    }
}
