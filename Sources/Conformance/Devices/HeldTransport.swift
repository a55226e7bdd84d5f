import BBPackets
import BBTiming
import BBTransport
import BBTransportUSB

/// A transport shared by consecutive users. Packets that arrive between two users are dropped.
final class HeldTransport: HCITransport, HCITransportSink {
    var name: String { inner.name }
    private let inner: any HCITransport
    private let loop: RunLoop
    private var user: (any HCITransportSink)?
    private(set) var failure: TransportError?
    /// The time at which the failure was noticed.
    private(set) var failedAt: Microseconds?
    /// Fulfilled when the device answers; fails if the device is lost before.
    let isReady: Promise<Void>

    private(set) var wasReady = false
    private var reordering = ReorderingStatistics()
    private var clearedHalts = 0
    var product: String? { inner.product }
    var startOfPipe: PipeStart? { inner.startOfPipe }
    var learned: LearnedConductList { inner.learned }

    var usb: USBTransport? { inner.dongle }

    init(_ inner: any HCITransport, on loop: RunLoop) {
        self.inner = inner
        self.loop = loop
        isReady = Promise(on: loop)
    }

    /// Opens the transport. A dongle is ready after its start-up sequence and firmware download, other devices immediately.
    func start() throws(TransportError) {
        if let firmware = inner as? FirmwareTransport {
            firmware.onReady = { [weak self] in self?.answered() }
        } else if let usb {
            usb.onReady = { [weak self] in self?.answered() }
        }
        try inner.open(self)
        if usb == nil { answered() }
    }

    private func answered() {
        if let usb, usb.startup == nil {
            usb.onReady = { [weak self] in self?.answered() }
            return
        }
        wasReady = true
        isReady.fulfil(())
    }

    func release() { inner.close() }

    func takeReordering() -> ReorderingStatistics {
        let recent = inner.takeReordering()
        reordering.add(recent)
        return recent
    }

    /// Returns the statistics of all users since the last call.
    func takeAllReordering() -> ReorderingStatistics {
        defer { reordering = ReorderingStatistics() }
        return reordering
    }

    func takeClearedHalts() -> Int {
        let all = usb?.clearedHalts ?? 0
        defer { clearedHalts = all }
        return all - clearedHalts
    }

    func open(_ sink: any HCITransportSink) throws(TransportError) {
        if let failure { throw failure }
        user = sink
    }

    func send(_ packet: HCIPacket) { inner.send(packet) }
    func close() { user = nil }
    func received(_ packet: HCIPacket, at time: Microseconds) { user?.received(packet, at: time) }

    func closed(_ reason: TransportError) {
        failure = reason
        failedAt = loop.now
        isReady.fail(reason)
        let last = user
        user = nil
        last?.closed(reason)
    }
}
