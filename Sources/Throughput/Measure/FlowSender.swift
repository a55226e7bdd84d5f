import Host
import Packets
import Timing

/// The sending end of a flow: keeps a link's queue full until it is stopped.
final class FlowSender {
    typealias Output = (RawSpan) -> SendResult

    private let link: Connection
    private let length: Int
    private let output: Output
    private var packet: [UInt8] = []
    private var isPrepared = false
    private var listener: Listeners<() -> Void>.Token?
    /// Number of packets left to send; nil for no limit.
    private var remaining: UInt32?
    private(set) var isRunning = false
    /// Number of packets queued; also the next sequence number.
    private(set) var sent: UInt32 = 0
    private(set) var supply = SupplyCounters()
    /// Reason why the flow ended by itself.
    private(set) var failure: SendResult?

    /// - Parameter count: nil to send until `stop`.
    init(_ link: Connection, length: Int, count: UInt32? = nil, output: @escaping Output) {
        self.link = link
        self.length = max(FlowPacket.shortest, length)
        self.output = output
        remaining = count
    }

    func start() {
        isRunning = true
        listener = link.writable.add { [weak self] in self?.pump() }
        pump()
        supply = SupplyCounters()
    }

    func stop() {
        isRunning = false
        if let listener { link.writable.remove(listener) }
        listener = nil
    }

    private func pump() {
        guard isRunning else { return }
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
            case .full: return
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
