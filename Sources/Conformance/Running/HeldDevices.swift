import Packets
import Timing
import Transport

/// Devices that stay open for a whole run: cases come and go above them.
///
/// `@unchecked Sendable`: lives on its loop's thread only.
public final class HeldDevices: @unchecked Sendable {
    let loop = RunLoop(mode: .wall)
    private(set) var devices: [Side: HeldTransport] = [:]

    /// - Throws: `TransportError` when a device cannot be opened.
    public init(_ setup: BenchSetup) throws {
        for (side, selector) in [(Side.tester, Optional(setup.tester)), (.subject, setup.subject)] {
            guard let selector else { continue }
            let held = HeldTransport(try BenchFactory.open(selector, on: loop))
            try held.start()
            devices[side] = held
        }
    }

    public func close() { for device in devices.values { device.release() } }
}

/// A pipe that outlives those who use it one after another. What arrives between two users is dropped.
///
/// `@unchecked Sendable`: lives on its loop's thread only.
final class HeldTransport: HCITransport, HCITransportSink, @unchecked Sendable {
    var name: String { inner.name }
    private let inner: any HCITransport
    private var user: (any HCITransportSink)?
    private var failure: TransportError?

    init(_ inner: any HCITransport) { self.inner = inner }

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
