import BBPackets
import BBSimulation
import BBTiming
import BBTransport

@testable import BBVirtualDongle

/// A packet of a host, and its time.
struct StageLine {
    enum End { case subject, peer }
    var end: End
    var packet: HCIPacket

    static func subject<Command: HCICommand>(_ command: Command) -> StageLine {
        StageLine(end: .subject, packet: HCIPacket(command: command))
    }
    static func peer<Command: HCICommand>(_ command: Command) -> StageLine { StageLine(end: .peer, packet: HCIPacket(command: command)) }
    static func raw(_ opcode: UInt16, _ parameters: [UInt8] = []) -> StageLine {
        StageLine(end: .subject, packet: HCIPacket(opcode: opcode, parameters: parameters))
    }
    /// A packet with a total length, header included.
    static func data(_ end: End, _ count: Int) -> StageLine {
        // The headers of ACL and L2CAP have four octets each.
        let payload = [UInt8](repeating: 0x42, count: count - 8)
        let length = UInt8(truncatingIfNeeded: payload.count)
        return StageLine(end: end, packet: HCIPacket(acl: 1, .firstNonFlushable, [length, 0, 0x3F, 0] + payload))
    }
}

/// Two controllers on one air, one of them with a conduct; their hosts follow a script regardless of what they receive.
final class ConductStage {
    private final class Host: HCITransportSink {
        var log: [String] = []
        let transport: any HCITransport

        init(_ transport: any HCITransport) throws {
            self.transport = transport
            try transport.open(self)
        }

        func received(_ packet: HCIPacket, at time: Microseconds) { log.append("\(time) \(packet.kind) \(Hex.octets(packet.bytes))") }
        func closed(_ reason: TransportError) { log.append("\(reason)") }
    }

    static let step = Microseconds.milliseconds(30)

    /// Everything received by the host of the controller with the conduct and by the peer's host.
    static func play(_ lines: [StageLine], _ conduct: DongleConduct) throws -> [String] {
        let loop = RunLoop()
        let simulation = Simulation(loop: loop, seed: 7)
        var odd = ControllerConfiguration(address: DeviceAddress(value: 0xC0_0000_0000_01))
        odd.profile = .dual
        conduct.apply(to: &odd)
        let plain = ControllerConfiguration(address: DeviceAddress(value: 0xC0_0000_0000_02))
        let (far, end) = InProcessTransport.pair(on: loop)
        _ = try simulation.addController(odd, on: ConductTransport(end, conduct: conduct, opening: 2, seed: 3, on: loop))
        let subject = try Host(far)
        let peer = try Host(try simulation.addController(plain).host)
        try loop.run {
            for line in lines {
                (line.end == .subject ? subject : peer).transport.send(line.packet)
                try await loop.sleep(for: step)
            }
            try await loop.sleep(for: .milliseconds(300))
        }
        subject.transport.close()
        peer.transport.close()
        try loop.run { try await loop.sleep(for: .milliseconds(10)) }
        return subject.log + ["peer"] + peer.log
    }
}
