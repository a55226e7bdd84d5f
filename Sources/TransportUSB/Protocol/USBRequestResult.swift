import BBPackets

/// The end of a control request. USB 2.0, 8.5.3 and 9.2.6.
public enum USBRequestResult: Sendable, Equatable {
    case done
    /// The device has refused the request with a STALL.
    case stalled
    /// The device has neither taken nor refused the request within this time.
    case unanswered(after: Microseconds)
    /// A failure of the machine or the bus.
    case failed(String)

    /// Time that a device has for a request. A standard request without data may take 50 ms, any other one 5 s. USB 2.0, 9.2.6.
    public static func limit(of setup: [UInt8]) -> Microseconds {
        setup.first.map { $0 & 0x60 == 0 } == true ? .seconds(1) : .seconds(5)
    }

    public var isDone: Bool { self == .done }
}

extension USBRequestResult: CustomStringConvertible {
    public var description: String {
        switch self {
        case .done: "done"
        case .stalled: "the device answers with a STALL"
        case .unanswered(let limit): "the device does not answer within \(limit.rawValue / 1_000) ms"
        case .failed(let text): text
        }
    }
}
