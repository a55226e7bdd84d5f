import Packets
import Transport

/// What a loopback test sends.
public struct LoopbackPlan: Sendable {
    public enum Channel: String, Sendable, Codable {
        /// ACL data, as fast as the controller's buffers allow.
        case data
        /// Synchronous data, at the pace of its links.
        case voice
    }

    public var channel = Channel.data
    public var packets = 10_000
    /// Octets of data in a packet, 8 or more; nil for as many as the controller's buffers take, and for voice as many as its pace says.
    public var octets: Int?
    /// How long an answer or the next packet may take.
    public var timeout = Microseconds.seconds(2)
    /// What the pipe carries at most, if it is known.
    public var pipe: LoopbackPipe?

    public init() {}
}

/// What a pipe between host and controller can carry.
public struct LoopbackPipe: Sendable, Hashable {
    public var name: String
    public var octetsPerSecond: Double
    /// Whether both directions share it.
    public var isShared: Bool

    public init(name: String, octetsPerSecond: Double, isShared: Bool) {
        (self.name, self.octetsPerSecond, self.isShared) = (name, octetsPerSecond, isShared)
    }

    /// At most 19 bulk packets of 64 octets in each frame of a millisecond. USB 2.0, 5.8.4.
    public static let fullSpeedBulk = LoopbackPipe(name: "full-speed USB", octetsPerSecond: 19 * 64 * 1_000, isShared: true)
    /// At most 13 bulk packets of 512 octets in each microframe of 125 us. USB 2.0, 5.8.4.
    public static let highSpeedBulk = LoopbackPipe(name: "high-speed USB", octetsPerSecond: 13 * 512 * 8_000, isShared: true)

    /// A serial line with one start and one stop bit.
    public static func serial(bitsPerSecond: Int) -> LoopbackPipe {
        LoopbackPipe(name: "a serial line at \(bitsPerSecond) bit/s", octetsPerSecond: Double(bitsPerSecond) / 10, isShared: false)
    }
}

/// How voice is sent: a packet of so many octets of data at each interval, the handles taking turns.
public struct VoicePace: Sendable, Hashable {
    public var octets: Int
    public var interval: Microseconds

    public init(octets: Int, interval: Microseconds) { (self.octets, self.interval) = (octets, interval) }
}

/// Why a loopback test cannot be done.
public enum LoopbackError: Error, Sendable, Equatable {
    case refused(command: String, ErrorCode)
    case unanswered(String)
    /// The controller gave no handle of the kind in its loopback mode.
    case noHandle(LoopbackPlan.Channel)
    case noBuffers(LoopbackPlan.Channel)
    case wrongLength(Int, ClosedRange<Int>)
    /// The transport cannot carry voice; the text says why.
    case noVoice(String)
    case transport(TransportError)
    /// The user ended it before the first packet.
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
