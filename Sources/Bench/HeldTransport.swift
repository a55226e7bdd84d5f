import BBHCI
import BBPackets
import BBTiming
import BBTransport
import BBTransportUSB

/// The pipe of a device that remains open for consecutive users. Packets that arrive between two users are dropped.
public final class HeldTransport: HCITransport, HCITransportSink {
    public var name: String { inner.name }
    private let device: BenchDevice
    private var inner: any HCITransport { device.transport }
    private let loop: RunLoop
    private var user: (any HCITransportSink)?
    public private(set) var failure: TransportError?
    /// The time at which the failure was noticed.
    public private(set) var failedAt: Microseconds?
    /// Fulfilled when the device answers; fails if the device is lost before.
    public let isReady: Promise<Void>

    public private(set) var wasReady = false
    private var reordering = ReorderingStatistics()
    private var clearedHalts = 0
    public var product: String? { inner.product }
    public var startOfPipe: PipeStart? { inner.startOfPipe }
    public var learned: LearnedConductList { inner.learned }

    public var usb: USBTransport? { device.dongle }
    /// The entries of the controller in the table of known dongles.
    public var knowledge: ControllerKnowledge { device.knowledge }

    public init(_ device: BenchDevice, on loop: RunLoop) {
        self.device = device
        self.loop = loop
        isReady = Promise(on: loop)
    }

    /// Opens the transport. A dongle is ready after its start-up sequence and firmware download, other devices immediately.
    public func start() throws(TransportError) {
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

    public func release() { inner.close() }

    public func takeReordering() -> ReorderingStatistics {
        let recent = inner.takeReordering()
        reordering.add(recent)
        return recent
    }

    /// Returns the statistics of all users since the last call.
    public func takeAllReordering() -> ReorderingStatistics {
        defer { reordering = ReorderingStatistics() }
        return reordering
    }

    public func takeClearedHalts() -> Int {
        let all = usb?.clearedHalts ?? 0
        defer { clearedHalts = all }
        return all - clearedHalts
    }

    public func open(_ sink: any HCITransportSink) throws(TransportError) {
        if let failure { throw failure }
        user = sink
    }

    public func send(_ packet: HCIPacket) { inner.send(packet) }
    public func close() { user = nil }
    public func received(_ packet: HCIPacket, at time: Microseconds) { user?.received(packet, at: time) }

    public func closed(_ reason: TransportError) {
        failure = reason
        failedAt = loop.now
        isReady.fail(reason)
        let last = user
        user = nil
        last?.closed(reason)
    }
}
