import BBPackets
import BBTransport

/// Parameters of a loopback test.
public struct LoopbackPlan: Sendable {
    public enum Channel: String, Sendable, Codable {
        /// ACL data, as fast as the controller's buffers allow.
        case data
        /// Synchronous data, at the rate of its links.
        case voice
    }

    public var channel = Channel.data
    public var packets = 10_000
    /// Data octets per packet, at least 8; nil for the maximum of the controller's buffers, or of the voice pace.
    public var octets: Int?
    /// Maximum time to wait for an answer or the next packet.
    public var timeout = Microseconds.seconds(2)
    /// Maximum rate of the pipe, if known.
    public var pipe: LoopbackPipe?

    public init() {}
}

/// Maximum rate of a pipe between host and controller.
public struct LoopbackPipe: Sendable, Hashable {
    public var name: String
    public var octetsPerSecond: Double
    /// True if both directions share the rate.
    public var isShared: Bool

    public init(name: String, octetsPerSecond: Double, isShared: Bool) {
        (self.name, self.octetsPerSecond, self.isShared) = (name, octetsPerSecond, isShared)
    }

    /// At most 19 bulk packets of 64 octets in each 1 ms frame. USB 2.0, 5.8.4.
    public static let fullSpeedBulk = LoopbackPipe(name: "full-speed USB", octetsPerSecond: 19 * 64 * 1_000, isShared: true)
    /// At most 13 bulk packets of 512 octets in each 125 us microframe. USB 2.0, 5.8.4.
    public static let highSpeedBulk = LoopbackPipe(name: "high-speed USB", octetsPerSecond: 13 * 512 * 8_000, isShared: true)

    /// A serial line with one start and one stop bit.
    public static func serial(bitsPerSecond: Int) -> LoopbackPipe {
        LoopbackPipe(name: "a serial line at \(bitsPerSecond) bit/s", octetsPerSecond: Double(bitsPerSecond) / 10, isShared: false)
    }
}

/// Rate of voice: one packet of a given data length per interval, handles in turn.
public struct VoicePace: Sendable, Hashable {
    public var octets: Int
    public var interval: Microseconds

    public init(octets: Int, interval: Microseconds) { (self.octets, self.interval) = (octets, interval) }
}

/// Reason why a loopback test cannot be run.
public enum LoopbackError: Error, Sendable, Equatable {
    case refused(command: String, ErrorCode)
    case unanswered(String)
    /// The controller created no handle of this kind in loopback mode.
    case noHandle(LoopbackPlan.Channel)
    case noBuffers(LoopbackPlan.Channel)
    case wrongLength(Int, ClosedRange<Int>)
    /// The transport does not support voice; the text gives the reason.
    case noVoice(String)
    case transport(TransportError)
    /// The user stopped the test before the first packet.
    case stopped
}

extension LoopbackError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .refused(let command, let status): "the controller refused \(command): \(status)"
        case .unanswered(let command): "the controller did not answer \(command)"
        case .noHandle(let channel): "the controller gave no handle for \(channel.rawValue) in local loopback mode"
        case .noBuffers(let channel): "the controller has no buffers for \(channel.rawValue)"
        case .wrongLength(let octets, let range):
            "packets of \(octets) octets: this controller takes \(range.lowerBound) to \(range.upperBound)"
        case .noVoice(let reason): "no voice: \(reason)"
        case .transport(let error): error.description
        case .stopped: "stopped before the first packet"
        }
    }
}
