import BBBenchTesting
import BBPackets
import BBTiming
import BBTransport

@testable import BBHost

/// A minimal controller: accepts every command, gives the answers that `Host.start` needs, and passes ACL data to its twin.
final class FakeController: HCITransportSink {
    let loop: RunLoop
    let end: InProcessTransport
    let host: Host
    /// Packets to send instead of the default answers, by opcode.
    var script: [UInt16: ([UInt8]) -> [HCIPacket]] = [:]
    var twin: FakeController?
    var commands: [HCIPacket] = []
    var data: [HCIPacket] = []
    var leFeatures: LEFeatures = [.leEncryption]
    var dataLength: UInt16 = 27
    var dataPackets: UInt8 = 4
    /// The time that a data packet occupies a buffer; nil for ever.
    var completionDelay: Microseconds? = 100
    /// Selects data that is not passed to the twin.
    var swallows: ((HCIPacket) -> Bool)?

    init(_ world: World, database: GATTDatabase = GATTDatabase(deviceName: "test"), seed: UInt64 = 1) {
        loop = world.loop
        let (hostEnd, end) = InProcessTransport.pair(on: loop)
        self.end = end
        host = Host(loop: loop, transport: hostEnd, database: database, seed: seed)
        try? end.open(self)
        world.atEnd { [host] in host.close() }
    }

    func emit(_ packet: HCIPacket) { end.send(packet) }
    func emit(event hex: String) { end.send(HCIPacket(.event, octets(hex))) }
    var opcodes: [UInt16] { commands.compactMap(\.commandOpcode) }

    func closed(_ reason: TransportError) {}

    func received(_ packet: HCIPacket, at time: Microseconds) {
        switch packet.kind {
        case .command: received(command: packet)
        case .acl: received(data: packet)
        case .event, .sco, .iso: break
        }
    }

    private func received(command packet: HCIPacket) {
        commands.append(packet)
        guard let opcode = packet.commandOpcode else { return }
        for answer in script[opcode]?(packet.parameters) ?? [usualAnswer(opcode, packet)] { emit(answer) }
    }

    private func received(data packet: HCIPacket) {
        data.append(packet)
        if let completionDelay {
            let first = UInt16(packet.bytes[0]) | UInt16(packet.bytes[1]) << 8
            loop.schedule(after: completionDelay) { [self] in
                emit(
                    HCIPacket(
                        event: HCIEvents.NumberOfCompletedPackets(handles: [
                            .init(connectionHandle: ConnectionHandle(first & 0xFFF), numCompletedPackets: 1)
                        ])))
            }
        }
        guard let twin, swallows?(packet) != true else { return }
        var carried = packet
        // Converts the boundary flag from host-to-controller to controller-to-host.
        if carried.bytes[1] & 0x30 == 0 { carried.bytes[1] |= 0x20 }
        twin.emit(carried)
    }

    private func usualAnswer(_ opcode: UInt16, _ packet: HCIPacket) -> HCIPacket {
        switch opcode {
        case HCICommands.ReadLocalVersionInformation.opcode:
            HCIPacket(
                complete: HCICommands.ReadLocalVersionInformation.self, .init(hciVersion: 13, lmpVersion: 13, companyIdentifier: 0xFFFF))
        case HCICommands.ReadLocalSupportedCommands.opcode:
            HCIPacket(complete: HCICommands.ReadLocalSupportedCommands.self, .init(supportedCommands: []))
        case HCICommands.ReadBDADDR.opcode: HCIPacket(complete: HCICommands.ReadBDADDR.self, .init(bdADDR: 0x0102_0304_0506))
        case HCICommands.ReadLocalSupportedFeatures.opcode:
            HCIPacket(complete: HCICommands.ReadLocalSupportedFeatures.self, .init(lmpFeatures: 1 << 37))
        case HCICommands.LEReadBufferSize.opcode:
            HCIPacket(
                complete: HCICommands.LEReadBufferSize.self, .init(leACLDataPacketLength: dataLength, totalNumLEACLDataPackets: dataPackets)
            )
        case HCICommands.LEReadLocalSupportedFeatures.opcode:
            HCIPacket(complete: HCICommands.LEReadLocalSupportedFeatures.self, .init(leFeatures: leFeatures))
        case HCICommands.LEReadSupportedStates.opcode: HCIPacket(complete: HCICommands.LEReadSupportedStates.self, .init(leStates: 0x3FF))
        case HCICommands.LEReadFilterAcceptListSize.opcode:
            HCIPacket(complete: HCICommands.LEReadFilterAcceptListSize.self, .init(filterAcceptListSize: 8))
        case HCICommands.LEReadMaximumAdvertisingDataLength.opcode:
            HCIPacket(complete: HCICommands.LEReadMaximumAdvertisingDataLength.self, .init(maxAdvertisingDataLength: 1650))
        case HCICommands.LEReadNumberOfSupportedAdvertisingSets.opcode:
            HCIPacket(complete: HCICommands.LEReadNumberOfSupportedAdvertisingSets.self, .init(numSupportedAdvertisingSets: 4))
        case HCICommands.ReadBufferSize.opcode: HCIPacket(completeOpcode: opcode, returns: [ErrorCode.unknownHCICommand.rawValue])
        case HCICommands.LESetExtendedAdvertisingParameters.opcode:
            HCIPacket(complete: HCICommands.LESetExtendedAdvertisingParameters.self, .init(selectedTXPower: 7))
        case HCICommands.LEReadMaximumDataLength.opcode:
            HCIPacket(
                complete: HCICommands.LEReadMaximumDataLength.self,
                .init(supportedMaxTXOctets: 251, supportedMaxTXTime: 17040, supportedMaxRXOctets: 251, supportedMaxRXTime: 17040))
        case HCICommands.Disconnect.opcode: disconnect(packet)
        case HCICommands.LESetDataLength.opcode: HCIPacket(completeOpcode: opcode, returns: [0] + packet.bytes[3...4])
        default:
            Self.statusCommands.contains(opcode)
                ? HCIPacket(statusOpcode: opcode, .success) : HCIPacket(completeOpcode: opcode, returns: [0])
        }
    }

    private func disconnect(_ packet: HCIPacket) -> HCIPacket {
        guard let command = try? packet.command(as: HCICommands.Disconnect.self) else {
            return HCIPacket(statusOpcode: HCICommands.Disconnect.opcode, .invalidHCICommandParameters)
        }
        loop.schedule(after: 1000) { [self] in
            emit(
                HCIPacket(
                    event: HCIEvents.DisconnectionComplete(
                        connectionHandle: command.connectionHandle, reason: .connectionTerminatedByLocalHost)))
            twin?.emit(
                HCIPacket(event: HCIEvents.DisconnectionComplete(connectionHandle: command.connectionHandle, reason: command.reason)))
        }
        return HCIPacket(statusOpcode: HCICommands.Disconnect.opcode, .success)
    }

    static let statusCommands: Set<UInt16> = [
        HCICommands.LECreateConnection.opcode, HCICommands.LEExtendedCreateConnection.opcode, HCICommands.LEConnectionUpdate.opcode,
        HCICommands.LESetPHY.opcode, HCICommands.LEReadRemoteFeatures.opcode, HCICommands.ReadRemoteVersionInformation.opcode,
    ]

    /// Sends the connection event of a controller.
    func connect(handle: UInt16 = 0x40, role: ConnectionRole, interval: UInt16 = 24) {
        emit(
            HCIPacket(
                event: HCIEvents.LEConnectionComplete(
                    connectionHandle: ConnectionHandle(handle), role: role, peerAddress: 0xA0_B0C0_D0E0, connectionInterval: interval,
                    supervisionTimeout: 200)))
    }
}

func hex(_ octets: [UInt8]) -> String {
    octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// Two started hosts with one link between them: `central` on `a`, `peripheral` on `b`.
struct Pair {
    let a: FakeController
    let b: FakeController
    let central: Connection
    let peripheral: Connection

    static func make(
        _ world: World, database: GATTDatabase = GATTDatabase(deviceName: "test"), configure: (FakeController) -> Void = { _ in }
    ) async throws -> Pair {
        let a = FakeController(world)
        let b = FakeController(world, database: database)
        a.twin = b
        b.twin = a
        configure(a)
        configure(b)
        try await a.host.start()
        try await b.host.start()
        for opcode in [HCICommands.LECreateConnection.opcode, HCICommands.LEExtendedCreateConnection.opcode] {
            a.script[opcode] = { [unowned a, unowned b] _ in
                a.loop.schedule(after: 10) {
                    a.connect(role: .central)
                    b.connect(role: .peripheral)
                }
                return [HCIPacket(statusOpcode: opcode, .success)]
            }
        }
        let central = try await a.host.connect(to: DeviceAddress(value: 0xA0_B0C0_D0E0))
        let peripheral = try await b.host.nextIncomingConnection(within: .seconds(1))
        return Pair(a: a, b: b, central: central, peripheral: peripheral)
    }
}
