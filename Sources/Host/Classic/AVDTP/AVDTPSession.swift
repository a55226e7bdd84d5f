import Packets

/// A stream end point of this side. AVDTP 1.3, 4.10.
public struct AVDTPEndpoint: Sendable, Hashable {
    /// 1...62.
    public var seid: UInt8
    public var mediaType: UInt8 = 0
    public var isSink: Bool
    public var capabilities: [AVDTPCapability]

    public init(seid: UInt8, isSink: Bool, capabilities: [AVDTPCapability]) {
        (self.seid, self.isSink, self.capabilities) = (seid, isSink, capabilities)
    }

    /// Audio with SBC, and delay reports.
    public static func sbc(seid: UInt8, isSink: Bool) -> AVDTPEndpoint {
        AVDTPEndpoint(
            seid: seid, isSink: isSink,
            capabilities: [.init(.mediaTransport), .sbc(isSink ? .sink : .source), .init(.delayReporting)])
    }
}

/// A stream between an end point of this side and one of the other. AVDTP 1.3, 6.
public struct AVDTPStream: Sendable, Hashable {
    public enum State: Sendable, Hashable {
        case configured
        /// Open was accepted; whether the channel for media is there is `hasMedia`.
        case open
        case streaming
        /// Close was accepted, the channel for media is still there.
        case closing
        case aborting
        /// The stream is gone.
        case idle
    }

    public internal(set) var state: State
    public let remote: UInt8
    public internal(set) var configuration: [AVDTPCapability]
    /// Whether this side has set the configuration, and so opens the channel for media.
    public let isInitiator: Bool
    public internal(set) var hasMedia = false
}

public enum AVDTPAction: Sendable, Hashable {
    /// A packet for the signalling channel.
    case send([UInt8])
    case answered(AVDTPCommand, AVDTPResponse)
    /// A stream of an end point of this side is in another state.
    case changed(seid: UInt8, AVDTPStream.State)
    case reconfigured(seid: UInt8)
    /// A second L2CAP channel on the same PSM is to be opened, or closed.
    case openMedia(seid: UInt8)
    case closeMedia(seid: UInt8)
    /// What the sink says about its delay, in tenths of a millisecond.
    case delay(seid: UInt8, UInt16)
}

/// AVDTP signalling on one channel, in both roles: streams of the end points of this side. AVDTP 1.3, 6 and 8.
public struct AVDTPSession: Sendable {
    /// RTX_SIG_TIMER is up to the implementation, at least three seconds. AVDTP 1.3, 6.2.
    public static let responseTimeOut = Microseconds.seconds(6)

    struct Transaction: Sendable {
        var command: AVDTPCommand
        var deadline: Microseconds
    }

    public let endpoints: [AVDTPEndpoint]
    public let mtu: Int
    /// By the SEID of this side's end point.
    public internal(set) var streams: [UInt8: AVDTPStream] = [:]
    /// By label.
    var transactions: [UInt8: Transaction] = [:]
    private var assembler = AVDTPAssembler()
    private var nextLabel: UInt8 = 0

    public init(endpoints: [AVDTPEndpoint], mtu: Int = 672) { (self.endpoints, self.mtu) = (endpoints, mtu) }

    /// When `expire` is due.
    public var deadline: Microseconds? { transactions.values.map(\.deadline).min() }

    /// The end point whose stream waits for the other side's channel for media.
    public var endpointAwaitingMedia: UInt8? {
        streams.filter { $0.value.state == .open && !$0.value.hasMedia && !$0.value.isInitiator }.keys.min()
    }

    func endpoint(_ seid: UInt8) -> AVDTPEndpoint? { endpoints.first { $0.seid == seid } }

    /// The end point of this side whose stream goes to an end point of the other.
    func local(ofRemote seid: UInt8) -> UInt8? { streams.filter { $0.value.remote == seid }.keys.min() }

    /// An end point that is about to be configured is in use, too.
    func isInUse(_ seid: UInt8) -> Bool {
        streams[seid] != nil
            || transactions.values.contains { if case .setConfiguration(_, seid, _) = $0.command { true } else { false } }
    }

    // MARK: From this side

    /// Sends a command; SEIDs in it are those of the other side, but for the initiator's in Set Configuration. Nothing happens while all
    /// labels are in use.
    public mutating func send(_ command: AVDTPCommand, at now: Microseconds) -> [AVDTPAction] {
        guard let label = (0..<16).map({ (nextLabel + $0) & 15 }).first(where: { transactions[$0] == nil }) else { return [] }
        nextLabel = (label + 1) & 15
        transactions[label] = Transaction(command: command, deadline: now + Self.responseTimeOut)
        return packets(AVDTPMessage(label: label, .command, signal: command.signal.rawValue, command.payload))
    }

    /// The channel for media of a stream is there.
    public mutating func mediaOpened(_ seid: UInt8) { streams[seid]?.hasMedia = true }

    /// It is gone: that ends the stream. AVDTP 1.3, 6.13.
    public mutating func mediaClosed(_ seid: UInt8) -> [AVDTPAction] { streams[seid] == nil ? [] : released(seid) }

    /// The signalling channel is gone, and all streams with it.
    public mutating func channelClosed() -> [AVDTPAction] {
        transactions = [:]
        return streams.keys.sorted().flatMap { released($0) }
    }

    public mutating func expire(at now: Microseconds) -> [AVDTPAction] {
        let due = transactions.filter { $0.value.deadline <= now }.sorted { $0.key < $1.key }
        return due.map { label, transaction in
            transactions[label] = nil
            return .answered(transaction.command, .timedOut)
        }
    }

    // MARK: From the other side

    public mutating func receive(_ packet: [UInt8], at now: Microseconds) -> [AVDTPAction] {
        guard let message = assembler.receive(packet) else { return [] }
        guard message.kind == .command else { return answered(message) }
        guard let signal = AVDTPSignal(rawValue: message.signal) else {
            return packets(AVDTPMessage(label: message.label, .generalReject, signal: message.signal))
        }
        return respond(to: signal, message)
    }

    private mutating func respond(to signal: AVDTPSignal, _ message: AVDTPMessage) -> [AVDTPAction] {
        var actions: [AVDTPAction] = []
        let response: AVDTPResponse?
        do throws(AVDTPErrorCode) {
            response = accept(try AVDTPCommand(signal, message.payload), &actions)
        } catch {
            // Abort has no reject. AVDTP 1.3, 8.16.
            response = signal == .abort ? nil : Self.rejection(error, of: signal)
        }
        guard let response else { return [] }
        let answer = AVDTPMessage(label: message.label, response.kind, signal: message.signal, response.payload)
        return packets(answer) + actions
    }

    /// A reject names a category or an end point where the signal's reject has room for it.
    static func rejection(_ code: AVDTPErrorCode, of signal: AVDTPSignal, about: UInt8 = 0) -> AVDTPResponse {
        switch signal {
        case .setConfiguration, .reconfigure: .rejected(code, about: about)
        case .start, .suspend: .rejected(code, about: about << 2)
        case .discover, .getCapabilities, .getAllCapabilities, .getConfiguration, .open, .close, .abort, .securityControl, .delayReport:
            .rejected(code)
        }
    }

    private func packets(_ message: AVDTPMessage) -> [AVDTPAction] { message.packets(mtu: mtu).map { .send($0) } }

    // MARK: Streams

    mutating func change(_ seid: UInt8, to state: AVDTPStream.State) -> [AVDTPAction] {
        streams[seid]?.state = state
        return [.changed(seid: seid, state)]
    }

    mutating func released(_ seid: UInt8) -> [AVDTPAction] {
        streams[seid] = nil
        return [.changed(seid: seid, .idle)]
    }
}
