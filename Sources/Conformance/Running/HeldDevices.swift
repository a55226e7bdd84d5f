import Packets
import Timing
import Transport
import TransportUSB

/// Devices that stay open for a whole run: cases come and go above them.
public final class HeldDevices {
    let loop = RunLoop(mode: .wall)
    private(set) var devices: [Side: HeldTransport] = [:]

    /// - Throws: `TransportError` when a device cannot be opened.
    public init(_ setup: BenchSetup) throws {
        for (side, selector) in [(Side.tester, Optional(setup.tester)), (.subject, setup.subject)] {
            guard let selector else { continue }
            let device = try BenchFactory.open(selector, firmware: setup.firmware, on: loop)
            let held = HeldTransport(device)
            try held.start()
            devices[side] = held
            if let dongle = device as? FirmwareTransport { try prepare(dongle) }
        }
    }

    /// Brings a dongle its firmware. One that goes away meanwhile is lost to the cases, as later on.
    private func prepare(_ dongle: FirmwareTransport) throws {
        do { _ = try loop.run { try await dongle.prepare() } } catch TransportError.lost {}
    }

    /// Asks each device what it is, and waits for its start thereby.
    public func describe() -> [DeviceReport] { Side.allCases.compactMap { side in devices[side].map { describe($0, side) } } }

    private func describe(_ device: HeldTransport, _ side: Side) -> DeviceReport {
        var report = DeviceReport(side: side.rawValue, device: device.name)
        report.product = device.product
        do {
            let probe = try DongleProbe(device, on: loop)
            defer { probe.close() }
            let identity = try loop.run { try await probe.identity() }
            let address = identity.address.map { ", \($0)" } ?? ""
            report.controller = "Core \(identity.coreVersion), \(identity.chip)\(address)"
        } catch {
            report.controller = "\(error)"
        }
        report.startup = device.startOfPipe?.step
        report.discarded = device.startOfPipe?.discarded ?? 0
        return report
    }

    /// Completes reports by what has happened since.
    func account(_ reports: inout [DeviceReport]) {
        for index in reports.indices {
            guard let device = Side(rawValue: reports[index].side).flatMap({ devices[$0] }) else { continue }
            _ = device.takeDisorder()
            reports[index].held = device.disorder.held
            reports[index].worstWaitMilliseconds = device.disorder.worstWait.milliseconds
            reports[index].dropped = device.disorder.dropped
        }
    }

    public func close() { for device in devices.values { device.release() } }
}

/// A pipe that outlives those who use it one after another. What arrives between two users is dropped.
final class HeldTransport: HCITransport, HCITransportSink {
    var name: String { inner.name }
    private let inner: any HCITransport
    private var user: (any HCITransportSink)?
    private var failure: TransportError?

    init(_ inner: any HCITransport) { self.inner = inner }

    /// Of the whole run.
    private(set) var disorder = PipeDisorder()
    var product: String? { inner.product }
    var startOfPipe: PipeStart? { inner.startOfPipe }

    func takeDisorder() -> PipeDisorder {
        let recent = inner.takeDisorder()
        disorder.add(recent)
        return recent
    }

    func start() throws(TransportError) { try inner.open(self) }
    func release() { inner.close() }

    func open(_ sink: any HCITransportSink) throws(TransportError) {
        if let failure { throw failure }
        user = sink
    }

    func send(_ packet: HCIPacket) { inner.send(packet) }
    public func close() { user = nil }
    func received(_ packet: HCIPacket, at time: Microseconds) { user?.received(packet, at: time) }

    func closed(_ reason: TransportError) {
        failure = reason
        let last = user
        user = nil
        last?.closed(reason)
    }
}
