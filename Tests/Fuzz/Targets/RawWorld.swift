import BBPackets
import BBTiming
import BBTransport

@testable import BBSimulation

/// The opcodes that the virtual controller implements.
let knownCommands = Set(CommandTable.le.rows.keys)

/// A host that stores received packets.
final class RawEnd: HCITransportSink {
    let transport: InProcessTransport
    private(set) var packets: [HCIPacket] = []

    init(_ transport: InProcessTransport) { self.transport = transport }

    func received(_ packet: HCIPacket, at time: Microseconds) { packets.append(packet) }
    func closed(_ reason: TransportError) {}
    func forget() { packets.removeAll() }
    func send<Command: HCICommand>(_ command: Command) { transport.send(HCIPacket(command: command)) }
    func has(_ event: UInt8, subevent: UInt8) -> Bool { packets.contains { $0.eventCode == event && $0.leSubevent == subevent } }
}

/// Two virtual controllers on one air, with hosts that only store packets.
final class RawWorld {
    let loop = RunLoop()
    let simulation: Simulation
    private(set) var ends: [RawEnd] = []
    private(set) var identifiers: [ControllerID] = []

    init() throws {
        simulation = Simulation(loop: loop, seed: 1)
        for index in 0..<2 {
            let pipe = InProcessTransport.pair(on: loop)
            let end = RawEnd(pipe.host)
            try pipe.host.open(end)
            ends.append(end)
            let configuration = ControllerConfiguration(address: Self.address(index))
            identifiers.append(try simulation.addController(configuration, on: pipe.controller))
        }
    }

    static func address(_ index: Int) -> DeviceAddress { DeviceAddress(value: 0xC0_0000_0000_00 + UInt64(index)) }

    /// Runs `body` in virtual time and shuts everything down.
    func run(_ body: @escaping (RawWorld) async throws -> Void) throws {
        try loop.run { [self] in
            for end in ends {
                end.send(HCICommands.Reset())
                end.send(HCICommands.SetEventMask(eventMask: .init(rawValue: 0x3FFF_FFFF_FFFF_FFFF)))
                end.send(HCICommands.LESetEventMask(leEventMask: .init(rawValue: 0x0FFF_FFFF_FFFF)))
            }
            try await loop.sleep(for: .milliseconds(1))
            try await body(self)
            for end in ends { end.transport.close() }
            try await loop.sleep(for: .milliseconds(1))
        }
    }

    /// Connects the first end to the second.
    func connect() async throws {
        ends[1].send(
            HCICommands.LESetAdvertisingParameters(
                advertisingIntervalMin: 0x20, advertisingIntervalMax: 0x20, advertisingType: .advInd, advertisingChannelMap: 7))
        ends[1].send(HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
        ends[0].send(
            HCICommands.LECreateConnection(
                leScanInterval: 0x10, leScanWindow: 0x10, peerAddressType: .init(rawValue: 0), peerAddress: Self.address(1).bdADDR,
                connectionIntervalMin: 6, connectionIntervalMax: 6, supervisionTimeout: 100))
        let isUp: (RawEnd) -> Bool = { $0.has(0x3E, subevent: 0x01) || $0.has(0x3E, subevent: 0x0A) }
        let deadline = loop.now + .seconds(2)
        while !ends.allSatisfy(isUp) {
            try promise(loop.now < deadline, "no connection")
            try await loop.sleep(for: .milliseconds(2))
        }
    }

    /// Checks that both controllers answer a reset and are idle after it.
    func settle() async throws {
        for end in ends { end.forget() }
        for end in ends { end.send(HCICommands.Reset()) }
        try await loop.sleep(for: .milliseconds(5))
        for end in ends {
            let answer = end.packets.last { $0.eventCode == HCIEvents.CommandComplete.code }
            try promise(
                answer?.bytes == [0x0E, 4, 1, 3, 0x0C, 0], "a reset is answered by \(answer.map { Hex.octets($0.bytes) } ?? "nothing")")
            end.forget()
        }
        try await loop.sleep(for: .milliseconds(200))
        for end in ends { try promise(end.packets.isEmpty, "after a reset comes \(DynamicPDU(hci: end.packets[0]))") }
    }

    /// Checks that all packets of a controller can be decoded.
    func checkWhatCame(at end: Int) throws {
        for packet in ends[end].packets {
            try promise(packet.isWhole, "the controller sends \(packet.kind) \(Hex.octets(packet.bytes))")
            let pdu = DynamicPDU(hci: packet)
            try promise(
                pdu.declaration != nil && pdu.problem == nil && pdu.trailing.isEmpty,
                "the controller sends \(pdu): \(Hex.octets(packet.bytes))")
        }
    }
}
