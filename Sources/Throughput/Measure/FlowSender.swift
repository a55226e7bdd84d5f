import BBHost
import BBPackets
import BBTiming

/// The sending end of a row.
protocol FlowSource: AnyObject {
    /// Number of packets queued.
    var sent: UInt32 { get }
    var supply: SupplyCounters { get }
    func start()
    func stop()
}

/// The sending end of a flow: keeps a link's queue full until it is stopped.
final class FlowSender: FlowSource {
    typealias Output = (RawSpan) -> SendResult

    private let link: Connection
    private let channel: CreditBasedChannel?
    private let writable: Listeners<() -> Void>
    private let length: Int
    private let output: Output
    private var packet: [UInt8] = []
    private var isPrepared = false
    private var listener: Listeners<() -> Void>.Token?
    /// Number of packets left to send; nil for no limit.
    private var remaining: UInt32?
    private(set) var isRunning = false
    /// A packet on one bearer may report room on another, which the loop in `pump` finds by itself.
    private var isPumping = false
    /// Number of packets queued; also the next sequence number.
    private(set) var sent: UInt32 = 0
    private(set) var supply = SupplyCounters()
    /// Reason why the flow ended by itself.
    private(set) var failure: SendResult?

    /// - Parameters:
    ///   - count: nil to send until `stop`.
    ///   - writable: reports room after `full`; nil for that of the fixed channel.
    init(
        _ link: Connection, length: Int, count: UInt32? = nil, writable: Listeners<() -> Void>? = nil, output: @escaping Output
    ) {
        self.link = link
        (channel, self.writable) = (nil, writable ?? link.writable)
        self.length = max(FlowPacket.shortest, length)
        self.output = output
        remaining = count
    }

    /// A flow on Enhanced ATT bearers, which take its packets in turn.
    convenience init(
        _ link: Connection, over bearers: [EnhancedBearer], length: Int, count: UInt32? = nil,
        output: @escaping (EnhancedBearer, RawSpan) -> SendResult
    ) {
        let room = Listeners<() -> Void>()
        for bearer in bearers { bearer.writable.add { room.tell { $0() } } }
        var turn = 0
        self.init(link, length: length, count: count, writable: room) { packet in
            for _ in bearers {
                let bearer = bearers[turn]
                turn = (turn + 1) % bearers.count
                let result = output(bearer, packet)
                guard result == .full else { return result }
            }
            return .full
        }
    }

    /// A flow of SDUs on a channel.
    init(_ link: Connection, on channel: CreditBasedChannel, length: Int, count: UInt32? = nil) {
        self.link = link
        (self.channel, writable) = (channel, channel.writable)
        self.length = max(FlowPacket.shortest, length)
        output = { channel.trySend($0) }
        remaining = count
    }

    func start() {
        isRunning = true
        listener = writable.add { [weak self] in self?.pump() }
        pump()
        supply = SupplyCounters()
    }

    func stop() {
        isRunning = false
        if let listener { writable.remove(listener) }
        listener = nil
    }

    private func pump() {
        guard isRunning, !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        sample()
        while remaining != 0 {
            if !isPrepared {
                FlowPacket.write(sequence: sent, count: length, into: &packet)
                isPrepared = true
            }
            switch output(packet.span.bytes) {
            case .sent:
                sent &+= 1
                isPrepared = false
                if let count = remaining { remaining = count - 1 }
            case .full:
                supply.refused &+= 1
                if channel?.credits == 0 { supply.refusedWithoutCredits &+= 1 }
                return
            case let other:
                failure = other
                return stop()
            }
        }
        stop()
    }

    private func sample() {
        let held = link.fragmentsInController
        supply.mostInController = max(supply.mostInController, held)
        if link.queuedFragments > 0 {
            supply.waitingForCredits &+= 1
        } else if held == 0 {
            supply.ranDry &+= 1
        }
    }
}
