import Packets

/// A pipe of HCI packets, seen from one of its ends. Both ends look the same: a host holds one, a controller the other.
///
/// Everything happens on the loop the pipe was made for. What arrives is delivered in order, never from within `send(_:)`.
public protocol HCITransport: AnyObject {
    /// What the pipe is, in the words of a device selector: `virtual`, `tcp:127.0.0.1:7001`, `usb:1-2.3`.
    var name: String { get }

    /// Starts delivery; what had arrived before is delivered first.
    func open(_ sink: any HCITransportSink) throws(TransportError)

    /// Hands a packet over without waiting. After the pipe has closed, packets are dropped and the sink has been told.
    func send(_ packet: HCIPacket)

    /// Ends the pipe from this side; the sink hears nothing more.
    func close()

    /// The device in the words of its maker; nil where nothing tells.
    var product: String? { get }

    /// How the device came to answer; nil for a pipe that needs no start, and before its end.
    var startOfPipe: PipeStart? { get }

    /// What reordering there was since the last call.
    func takeReordering() -> ReorderingStatistics

    /// What the device was found to do that needed a way around it.
    var learned: LearnedConductList { get }
}

extension HCITransport {
    public var product: String? { nil }
    public var startOfPipe: PipeStart? { nil }
    public func takeReordering() -> ReorderingStatistics { ReorderingStatistics() }
    public var learned: LearnedConductList { LearnedConductList() }
}

/// What a pipe's end delivers to.
public protocol HCITransportSink: AnyObject {
    /// - Parameter time: when the packet arrived: the loop's time, or the stamp of the transport's thread in wall time.
    func received(_ packet: HCIPacket, at time: Microseconds)

    /// The pipe ended and will deliver nothing more.
    func closed(_ reason: TransportError)
}

/// What can go wrong with a pipe: always the environment's fault, never a verdict about a peer.
public enum TransportError: Error, Sendable, Equatable {
    /// Nothing answers to the selector, or the connection was refused.
    case unreachable(String)
    /// Somebody else holds the device or the port.
    case busy(String)
    /// The user may not open the device; the text says what to do.
    case notPermitted(String)
    /// The other end went away.
    case lost(String)
    /// The byte stream is not HCI any more.
    case desynchronised(String)
    /// The controller's firmware has failed.
    case crashed(String)
    /// The device is there, but cannot be brought into use; the text says which, why and what to do.
    case unprepared(String)
    /// A bounded queue overflowed: the receiver is too slow.
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
