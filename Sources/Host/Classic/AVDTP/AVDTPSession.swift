import BBPackets

/// A stream end point of this device. AVDTP 1.3, 4.10.
public struct AVDTPEndpoint: Sendable, Hashable {
    /// 1...62.
    public var seid: UInt8
    public var mediaType: UInt8 = 0
    public var isSink: Bool
    public var capabilities: [AVDTPCapability]

    public init(seid: UInt8, isSink: Bool, capabilities: [AVDTPCapability]) {
        (self.seid, self.isSink, self.capabilities) = (seid, isSink, capabilities)
    }

    /// Audio with SBC and delay reporting.
    public static func sbc(seid: UInt8, isSink: Bool) -> AVDTPEndpoint {
        AVDTPEndpoint(
            seid: seid, isSink: isSink,
            capabilities: [.init(.mediaTransport), .sbc(isSink ? .sink : .source), .init(.delayReporting)])
    }
}

/// A stream between end points of both devices. AVDTP 1.3, 6.
public struct AVDTPStream: Sendable, Hashable {
    public enum State: Sendable, Hashable {
        case configured
        /// Open was accepted; `hasMedia` is true once the media channel exists.
        case open
        case streaming
        /// Close was accepted; the media channel still exists.
        case closing
        case aborting
        /// The stream was released.
        case idle
    }

    public internal(set) var state: State
    public let remote: UInt8
    public internal(set) var configuration: [AVDTPCapability]
    /// True if this device set the configuration, and therefore opens the media channel.
    public let isInitiator: Bool
    public internal(set) var hasMedia = false
}

public enum AVDTPAction: Sendable, Hashable {
    /// Send a packet on the signalling channel.
    case send([UInt8])
    case answered(AVDTPCommand, AVDTPResponse)
    /// The stream of an end point of this device has changed its state.
    case changed(seid: UInt8, AVDTPStream.State)
    case reconfigured(seid: UInt8)
    /// Open or close a second L2CAP channel on the same PSM.
    case openMedia(seid: UInt8)
    case closeMedia(seid: UInt8)
    /// Delay reported by the sink, in units of 0.1 ms.
    case delay(seid: UInt8, UInt16)
}

/// AVDTP signalling on one channel, as initiator and acceptor, with the streams of this device's end points. AVDTP 1.3, 6 and 8.
public struct AVDTPSession: Sendable {
    /// RTX_SIG_TIMER: chosen by the implementation, at least 3 s. AVDTP 1.3, 6.2.
    public static let responseTimeOut = Microseconds.seconds(6)

    struct Transaction: Sendable {
        var command: AVDTPCommand
        var deadline: Microseconds
    }

    public let endpoints: [AVDTPEndpoint]
    public let mtu: Int
    /// Streams by the SEID of this device's end point.
    public internal(set) var streams: [UInt8: AVDTPStream] = [:]
    /// Transactions by label.
    var transactions: [UInt8: Transaction] = [:]
    private var assembler = AVDTPAssembler()
    private var nextLabel: UInt8 = 0

    public init(endpoints: [AVDTPEndpoint], mtu: Int = 672) { (self.endpoints, self.mtu) = (endpoints, mtu) }

    /// Time at which to call `expire`.
    public var deadline: Microseconds? { transactions.values.map(\.deadline).min() }

    /// The end point whose stream awaits the peer's media channel.
    public var endpointAwaitingMedia: UInt8? {
        streams.filter { $0.value.state == .open && !$0.value.hasMedia && !$0.value.isInitiator }.keys.min()
    }

    func endpoint(_ seid: UInt8) -> AVDTPEndpoint? { endpoints.first { $0.seid == seid } }

    /// The end point of this device whose stream is connected to an end point of the peer.
    func local(ofRemote seid: UInt8) -> UInt8? { streams.filter { $0.value.remote == seid }.keys.min() }

    /// True if the end point has a stream, or is being configured.
    func isInUse(_ seid: UInt8) -> Bool {
        streams[seid] != nil
            || transactions.values.contains { if case .setConfiguration(_, seid, _) = $0.command { true } else { false } }
    }

    // MARK: Commands of this device

    /// Sends a command. SEIDs in it are the peer's, except for the initiator's in Set Configuration. Does nothing if all labels are in use.
    public mutating func send(_ command: AVDTPCommand, at now: Microseconds) -> [AVDTPAction] {
        guard let label = (0..<16).map({ (nextLabel + $0) & 15 }).first(where: { transactions[$0] == nil }) else { return [] }
        nextLabel = (label + 1) & 15
        transactions[label] = Transaction(command: command, deadline: now + Self.responseTimeOut)
        return packets(AVDTPMessage(label: label, .command, signal: command.signal.rawValue, command.payload))
    }

    /// The media channel of a stream was opened.
    public mutating func mediaOpened(_ seid: UInt8) { streams[seid]?.hasMedia = true }

    /// The media channel was closed, which ends the stream. AVDTP 1.3, 6.13.
    public mutating func mediaClosed(_ seid: UInt8) -> [AVDTPAction] { streams[seid] == nil ? [] : released(seid) }

    /// The signalling channel was closed, which ends all streams.
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

    // MARK: Packets from the peer

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
        do throws(AVDTPReason) {
            response = accept(try AVDTPCommand(signal, message.payload), &actions)
        } catch {
            // Abort has no reject. AVDTP 1.3, 8.16.
            response = signal == .abort ? nil : .rejected(error)
        }
        guard let response else { return [] }
        let answer = AVDTPMessage(label: message.label, response.kind, signal: message.signal, response.payload(to: signal))
        return packets(answer) + actions
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
