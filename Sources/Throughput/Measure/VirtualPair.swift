import BBCapture
import BBHost
import BBPackets
import BBSimulation
import BBTiming
import BBTraffic
import BBTransport

/// Two hosts on two simulated controllers on one air: a bench without hardware.
public final class VirtualPair {
    public struct Settings: Sendable {
        public var seed: UInt64 = 1
        public var tester = ControllerConfiguration(address: DeviceAddress(value: 0x00B1_BE00_0001))
        public var subject = ControllerConfiguration(address: DeviceAddress(value: 0x00B1_BE00_0002))
        /// Packet error rate, 0...1: share of packets received with a bad CRC.
        public var packetErrorRate = 0.0
        /// Number of subjects, each on its own link.
        public var links = 1
        /// The servers support Enhanced ATT bearers.
        public var hasEnhancedBearers = false
        public init() {}
    }

    public let loop: RunLoop
    public let simulation: Simulation
    public let bench: ThroughputBench

    /// - Parameter capture: receives the packets of both hosts.
    public init(_ settings: Settings = Settings(), loop: RunLoop = RunLoop(), capture: CaptureLog? = nil) throws {
        self.loop = loop
        let simulation = Simulation(loop: loop, seed: settings.seed)
        self.simulation = simulation
        bench = ThroughputBench(
            loop: loop,
            tester: try .simulated("tester", settings.tester, in: simulation, settings, capture: capture, on: loop),
            subject: try .simulated("subject", settings.subject, in: simulation, settings, capture: capture, on: loop))
        for number in 1..<max(1, settings.links) {
            var other = settings.subject
            other.address = DeviceAddress(value: settings.subject.address.value + UInt64(number))
            bench.add(
                subject: try .simulated(
                    "subject-\(number + 1)", other, in: simulation, settings, capture: capture, on: loop))
        }
        if settings.packetErrorRate > 0 { simulation.setPacketErrorRate(settings.packetErrorRate) }
        bench.limits = Self.limits(settings)
    }

    /// Connection event limits that follow from the controllers' settings.
    private static func limits(_ settings: Settings) -> Ceiling.EventLimits {
        var limits = Ceiling.EventLimits()
        limits.exchanges = [settings.tester, settings.subject].compactMap(\.maxExchangesPerEvent).min()
        limits.reservesLongestReply = settings.tester.eventFilling == .reserveMax
        return limits
    }
}

extension LinkCounters {
    init(_ statistics: LinkStatistics) {
        self.init()
        events = statistics.events
        exchanges = statistics.dataPDUs
        retransmissions = statistics.retransmissions
        endedFull = statistics.endedFull
        endedEmpty = statistics.endedEmpty
        endedAtLimit = statistics.endedAtLimit
        endedSilent = statistics.endedSilent
    }
}
