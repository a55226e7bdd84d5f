import BBHost
import BBPackets
import BBSimulation
import BBTiming

/// A BR/EDR link with an L2CAP channel in basic mode or a serial port, for flows in either direction.
struct ClassicLinkSetup {
    typealias Output = ([UInt8]) async throws -> Void

    let request: ThroughputRow.Request
    let tester: ClassicConnection
    let subject: ClassicConnection
    /// The sending end.
    let output: Output
    /// The receiving end.
    let receiver: FlowReceiver

    /// PSM of the measured channel, from the dynamic range. Core Vol 3, Part A, 4.2.
    private static let psm: UInt16 = 0x1001
    private static let serverChannel: UInt8 = 7
    /// Time for both devices to agree on packet types.
    private static let settling: Microseconds = .milliseconds(300)

    init(_ bench: ThroughputBench, _ request: ThroughputRow.Request) async throws {
        guard let packets = request.packets else { throw MeasurementFailure("the flow needs a packet type of BR/EDR") }
        guard let other = bench.subject else {
            throw MeasurementFailure("a flow over BR/EDR needs a subject that is ours", isEnvironment: true)
        }
        self.request = request
        let (loop, receiver) = (bench.loop, FlowReceiver())
        self.receiver = receiver
        let take = { (sdu: [UInt8]) in receiver.receive(sdu.span.bytes, at: loop.now) }
        let incoming = Promise<ClassicConnection>(on: loop)
        let accepted = Promise<Output>(on: loop)
        let listener = other.host.newClassicConnections.add { incoming.fulfil($0) }
        defer { other.host.newClassicConnections.remove(listener) }
        let mtu = UInt16(clamping: max(48, request.mtu))
        if request.over == .rfcomm {
            try other.host.listen(rfcomm: Self.serverChannel) { port, _ in
                port.onReceive = take
                accepted.fulfil { try await port.send($0) }
            }
        } else {
            other.host.acceptPipes(Self.psm, mtu: mtu, receive: take) { pipe in accepted.fulfil { try await pipe.send($0) } }
        }
        try await other.host.setScan(isDiscoverable: false, isConnectable: true)
        tester = try await bench.tester.host.connectClassic(to: other.host.controller.address.bdADDR)
        subject = try await incoming.value(until: loop.now + .seconds(5))
        let mask = Self.mask(packets)
        for (host, link) in [(bench.tester.host, tester), (other.host, subject)] {
            try await loop.sleep(for: Self.settling)
            try await host.send(HCICommands.ChangeConnectionPacketType(connectionHandle: link.handle, packetType: mask))
        }
        try await loop.sleep(for: Self.settling)
        if request.isEncrypted { try await Self.encrypt(tester, bench.tester.host, other.host) }
        let own = try await Self.open(request.over, on: tester, mtu: mtu, receive: take)
        let others = try await accepted.value(until: loop.now + .seconds(5))
        output = request.direction == .fromSubject ? others : own
    }

    private static func open(
        _ over: FlowKind, on tester: ClassicConnection, mtu: UInt16, receive: @escaping ([UInt8]) -> Void
    ) async throws -> Output {
        guard over == .rfcomm else {
            let pipe = try await tester.openPipe(psm, mtu: mtu, receive: receive)
            return { try await pipe.send($0) }
        }
        let port = try await tester.openSerialPort(channel: serverChannel)
        port.onReceive = receive
        return { try await port.send($0) }
    }

    /// Pairs in the first row; later rows use the bond.
    private static func encrypt(_ tester: ClassicConnection, _ hosts: Host...) async throws {
        for host in hosts where host.pairingSettings == nil { host.pairingSettings = PairingSettings() }
        try await tester.secure(to: .unauthenticated)
    }

    func end() async {
        await tester.host.loop.cleanUp(within: Host.procedureTimeOut) { [self] in
            try await tester.disconnect()
            _ = try await subject.ended()
        }
    }

    /// Packet_Type for the types of a family up to the given one: bits allow basic rate types and disallow EDR types. Core Vol 4, Part E,
    /// 7.1.5.
    static func mask(_ longest: BREDRPacketType) -> UInt16 {
        let family = PacketFamily.allCases.first { $0.types.contains(longest) } ?? .dm
        let types = family.types.filter { $0.slots <= longest.slots }
        let allowing: [(UInt16, BREDRPacketType)] = [
            (0x0008, .dm1), (0x0010, .dh1), (0x0400, .dm3), (0x0800, .dh3), (0x4000, .dm5), (0x8000, .dh5),
        ]
        let forbidding: [(UInt16, BREDRPacketType)] = [
            (0x0002, .twoDH1), (0x0004, .threeDH1), (0x0100, .twoDH3), (0x0200, .threeDH3), (0x1000, .twoDH5), (0x2000, .threeDH5),
        ]
        return allowing.filter { types.contains($0.1) }.reduce(0) { $0 | $1.0 }
            | forbidding.filter { !types.contains($0.1) }.reduce(0) { $0 | $1.0 }
    }
}
