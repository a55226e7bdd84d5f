import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Sniff mode, SCO and eSCO as two hosts see them, over a radio. Core Vol 4, Part E, 7.1.26 to 7.1.28, 7.2.2 and 7.2.3.
@Suite struct SynchronousConnectionTests {
    private static let addresses = (World.address(0).bdADDR, World.address(1).bdADDR)
    private static let mask = EventMask(rawValue: 0x3FFF_FFFF_FFFF_FFFF)
    private static let transparent: UInt16 = 0x0063

    /// A host with the handle of its link and the peer's address.
    private struct Side {
        var host: RawHost
        var handle: ConnectionHandle
        var peer: BDADDR
    }

    /// The requesting device comes first.
    private static func connect(_ world: World, isAskedByCentral: Bool = true) async throws -> (Side, Side) {
        for host in world.hosts { try await host.succeed(HCICommands.SetEventMask(eventMask: mask)) }
        let pair = try await BREDRConnectionTests.connect(world)
        let central = Side(host: pair.central, handle: pair.atCentral, peer: addresses.1)
        let peripheral = Side(host: pair.peripheral, handle: pair.atPeripheral, peer: addresses.0)
        return isAskedByCentral ? (central, peripheral) : (peripheral, central)
    }

    private static func setup(_ handle: ConnectionHandle, types: UInt16, latency: UInt16, effort: UInt8)
        -> HCICommands.SetupSynchronousConnection
    {
        .init(
            connectionHandle: handle, transmitBandwidth: 8_000, receiveBandwidth: 8_000, maxLatency: latency, voiceSetting: transparent,
            retransmissionEffort: effort, packetType: types)
    }

    private static func accept(_ peer: BDADDR, types: UInt16 = 0x3F, voiceSetting: UInt16 = transparent)
        -> HCICommands.AcceptSynchronousConnectionRequest
    {
        .init(
            bdADDR: peer, transmitBandwidth: 0xFFFF_FFFF, receiveBandwidth: 0xFFFF_FFFF, maxLatency: 0xFFFF, voiceSetting: voiceSetting,
            retransmissionEffort: 0xFF, packetType: types)
    }

    struct Kind: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var types: UInt16
        var latency: UInt16
        var effort: UInt8
        var link: LinkType
        /// T, W and packet length in octets, as reported to the host.
        var told: (interval: UInt8, window: UInt8, length: UInt16)
        /// Voice octets per HCI packet.
        var octets: Int
    }

    private static let kinds = [
        Kind(testDescription: "mSBC, T2", types: 0x0380, latency: 13, effort: 2, link: .eSCO, told: (12, 4, 60), octets: 60),
        Kind(testDescription: "S1", types: 0x03C8, latency: 7, effort: 1, link: .eSCO, told: (6, 2, 30), octets: 30),
        Kind(testDescription: "HV3, D1", types: 0x03C4, latency: 0xFFFF, effort: 0xFF, link: .sco, told: (0, 0, 0), octets: 30),
    ]

    /// Voice keeps its rate in both directions, and nothing is left when either device ends it.
    @Test(arguments: kinds, [true, false]) func voice(_ kind: Kind, isAskedByCentral: Bool) throws {
        try InquiryTests.run(hosts: 2) { world in
            let (one, other) = try await Self.connect(world, isAskedByCentral: isAskedByCentral)
            try await one.host.succeed(Self.setup(one.handle, types: kind.types, latency: kind.latency, effort: kind.effort))
            let request: HCIEvents.ConnectionRequest = try await other.host.next()
            #expect(request.bdADDR == other.peer && request.linkType == kind.link)
            #expect(try await one.host.run(Self.setup(one.handle, types: 0x3F, latency: 13, effort: 2)) == .commandDisallowed)
            try await other.host.succeed(Self.accept(other.peer, types: kind.types))
            var handles: [ConnectionHandle] = []
            for side in [one, other] {
                let made: HCIEvents.SynchronousConnectionComplete = try await side.host.next()
                #expect(made.status == .success && made.bdADDR == side.peer && made.linkType == kind.link && made.airMode == 3)
                #expect(made.transmissionInterval == kind.told.interval && made.retransmissionWindow == kind.told.window)
                #expect(made.rxPacketLength == kind.told.length && made.txPacketLength == kind.told.length)
                #expect(made.connectionHandle != side.handle)
                handles.append(made.connectionHandle)
            }
            for index in 0..<40 {
                for (side, handle) in [(one, handles[0]), (other, handles[1])] {
                    let bytes = [UInt8(handle.rawValue & 0xFF), UInt8(handle.rawValue >> 8), UInt8(kind.octets)]
                    side.host.transport.send(HCIPacket(.sco, bytes + [UInt8](repeating: UInt8(index + 1), count: kind.octets)))
                }
                try await world.loop.sleep(for: Microseconds(kind.octets * 125))
            }
            for side in [one, other] {
                let heard = side.host.log.filter { $0.packet.kind == .sco }.flatMap { $0.packet.bytes.dropFirst(3) }
                #expect((36 * kind.octets...48 * kind.octets).contains(heard.count))
                let values = heard.filter { $0 != 0 }
                #expect(values == values.sorted() && Set(values).count > 30, "voice is lost or out of order")
            }
            let reason: ErrorCode = .remoteUserTerminatedConnection
            try await one.host.succeed(HCICommands.Disconnect(connectionHandle: handles[0], reason: reason))
            #expect(try await one.host.next(HCIEvents.DisconnectionComplete.self).reason == .connectionTerminatedByLocalHost)
            let ended: HCIEvents.DisconnectionComplete = try await other.host.next()
            #expect(ended.reason == reason && ended.connectionHandle == handles[1])
            let again = HCICommands.Disconnect(connectionHandle: handles[0], reason: reason)
            #expect(try await one.host.run(again) == .unknownConnectionIdentifier)
            one.host.sendData(one.handle, [1, 2, 3])
            #expect(try await other.host.nextData().suffix(3) == [1, 2, 3])
        }
    }

    /// The other host rejects, does not reply, or cannot fulfil the request.
    @Test(arguments: [(UInt8(0x0D), ErrorCode.connectionRejectedDueToLimitedResources), (0, .connectionAcceptTimeoutExceeded)])
    func voiceThatIsRefused(_ reason: UInt8, _ status: ErrorCode) throws {
        try InquiryTests.run(hosts: 2) { world in
            let (one, other) = try await Self.connect(world)
            #expect(
                try await one.host.run(Self.setup(one.handle, types: 0x03C0, latency: 13, effort: 2)) == .unsupportedFeatureOrParameterValue
            )
            #expect(try await other.host.run(Self.accept(other.peer)) == .unknownConnectionIdentifier)
            try await one.host.succeed(Self.setup(one.handle, types: 0x0380, latency: 13, effort: 2))
            _ = try await other.host.next(HCIEvents.ConnectionRequest.self)
            let bad = HCICommands.RejectSynchronousConnectionRequest(bdADDR: other.peer, reason: 0x05)
            #expect(try await other.host.run(bad) == .invalidHCICommandParameters)
            if reason != 0 {
                try await other.host.succeed(
                    HCICommands.RejectSynchronousConnectionRequest(bdADDR: other.peer, reason: ErrorCode(rawValue: reason)))
            }
            for side in [one, other] {
                #expect(try await side.host.next(HCIEvents.SynchronousConnectionComplete.self, within: .seconds(7)).status == status)
            }
        }
    }

    /// Codecs of the enhanced commands: air, host, host sample size and format.
    private static func enhanced(_ handle: ConnectionHandle, _ codecs: (UInt8, UInt8, UInt16, UInt8), path: UInt8 = 0)
        -> HCICommands.EnhancedSetupSynchronousConnection
    {
        let (air, host) = (Structures.CodecID(codingFormat: codecs.0), Structures.CodecID(codingFormat: codecs.1))
        return .init(
            connectionHandle: handle, transmitBandwidth: 8_000, receiveBandwidth: 8_000, transmitCodingFormat: air,
            receiveCodingFormat: air,
            transmitCodecFrameSize: 60, receiveCodecFrameSize: 60, inputBandwidth: 16_000, outputBandwidth: 16_000, inputCodingFormat: host,
            outputCodingFormat: host, inputCodedDataSize: codecs.2, outputCodedDataSize: codecs.2, inputPCMDataFormat: codecs.3,
            outputPCMDataFormat: codecs.3, inputDataPath: path, outputDataPath: path, inputTransportUnitSize: 16,
            outputTransportUnitSize: 16, maxLatency: 13, packetType: 0x0380, retransmissionEffort: 2)
    }

    /// Unsupported codecs are rejected; the others are equivalent to a Voice_Setting. Core Vol 4, Part E, 7.1.45 and 7.1.46.
    @Test func enhancedSetUp() throws {
        try InquiryTests.run(hosts: 2) { world in
            let (one, other) = try await Self.connect(world)
            let refused: [((UInt8, UInt8, UInt16, UInt8), UInt8)] = [
                ((5, 4, 16, 2), 0), ((2, 5, 16, 2), 0), ((2, 4, 13, 2), 0), ((0, 4, 16, 2), 0), ((2, 4, 16, 0), 0), ((3, 3, 8, 0), 1),
            ]
            for (codecs, path) in refused {
                let status = try await one.host.run(Self.enhanced(one.handle, codecs, path: path))
                #expect(status == .unsupportedFeatureOrParameterValue, "\(codecs)")
            }
            try await one.host.succeed(Self.enhanced(one.handle, (2, 4, 16, 2)))
            #expect(try await other.host.next(HCIEvents.ConnectionRequest.self).linkType == .eSCO)
            let asked = Self.enhanced(other.handle, (2, 4, 16, 2))
            let accept = HCICommands.EnhancedAcceptSynchronousConnectionRequest(
                bdADDR: other.peer, transmitBandwidth: 8_000, receiveBandwidth: 8_000, transmitCodingFormat: asked.transmitCodingFormat,
                receiveCodingFormat: asked.receiveCodingFormat, inputBandwidth: 16_000, outputBandwidth: 16_000,
                inputCodingFormat: asked.inputCodingFormat, outputCodingFormat: asked.outputCodingFormat, inputCodedDataSize: 16,
                outputCodedDataSize: 16, inputPCMDataFormat: 2, outputPCMDataFormat: 2, maxLatency: 13, packetType: 0x0380,
                retransmissionEffort: 2)
            try await other.host.succeed(accept)
            for side in [one, other] {
                let made: HCIEvents.SynchronousConnectionComplete = try await side.host.next()
                #expect(made.status == .success && made.airMode == 2 && made.transmissionInterval == 12)
            }
            let begun = other.host.log.count
            try await world.loop.sleep(for: .milliseconds(750))
            // One octet of CVSD is a sample of two octets.
            let heard = other.host.log[begun...].filter { $0.packet.kind == .sco }.reduce(0) { $0 + $1.packet.bytes.count - 3 }
            #expect((99 * 120...101 * 120).contains(heard))
        }
    }

    /// Synchronous connections end before their ACL link, on both devices.
    @Test func voiceEndsWithItsLink() throws {
        try InquiryTests.run(hosts: 2) { world in
            let (one, other) = try await Self.connect(world)
            try await one.host.succeed(Self.setup(one.handle, types: 0x0380, latency: 13, effort: 2))
            _ = try await other.host.next(HCIEvents.ConnectionRequest.self)
            try await other.host.succeed(Self.accept(other.peer))
            for side in [one, other] { _ = try await side.host.next(HCIEvents.SynchronousConnectionComplete.self) }
            try await one.host.succeed(HCICommands.Disconnect(connectionHandle: one.handle, reason: 0x13))
            for side in [one, other] {
                let first: HCIEvents.DisconnectionComplete = try await side.host.next()
                let second: HCIEvents.DisconnectionComplete = try await side.host.next()
                #expect(first.connectionHandle != side.handle && second.connectionHandle == side.handle)
                #expect(first.reason == second.reason)
            }
        }
    }

    // MARK: Sniff mode

    /// Either host enters sniff mode, if the peer's policy allows it; data is transferred, and either host exits it.
    @Test(arguments: [true, false], [true, false]) func sniff(isAskedByCentral: Bool, isAllowed: Bool) throws {
        try InquiryTests.run(hosts: 2) { world in
            let (one, other) = try await Self.connect(world, isAskedByCentral: isAskedByCentral)
            try await other.host.succeed(
                HCICommands.WriteLinkPolicySettings(connectionHandle: other.handle, linkPolicySettings: isAllowed ? 4 : 0))
            let leave = HCICommands.ExitSniffMode(connectionHandle: one.handle)
            #expect(try await one.host.run(leave) == .commandDisallowed)
            func enter(_ longest: UInt16) -> HCICommands.SniffMode {
                .init(connectionHandle: one.handle, sniffMaxInterval: longest, sniffMinInterval: 80, sniffAttempt: 4, sniffTimeout: 1)
            }
            for wrong in [78, 801] as [UInt16] { #expect(try await one.host.run(enter(wrong)) == .invalidHCICommandParameters) }
            try await one.host.succeed(enter(200))
            let entered: HCIEvents.ModeChange = try await one.host.next()
            guard isAllowed else {
                #expect(
                    entered.status == .lmpPDUNotAllowed && entered.currentMode == 0 && other.host.all(HCIEvents.ModeChange.self).isEmpty)
                return
            }
            #expect(entered.status == .success && entered.currentMode == 2 && entered.interval == 200)
            #expect(
                try await other.host.next(HCIEvents.ModeChange.self)
                    == HCIEvents.ModeChange(status: .success, connectionHandle: other.handle, currentMode: 2, interval: 200))
            try await world.loop.sleep(for: .seconds(1))
            for (side, peer) in [(one, other), (other, one)] {
                side.host.sendData(side.handle, [1, 2, 3])
                #expect(try await peer.host.nextData().suffix(3) == [1, 2, 3])
            }
            try await other.host.succeed(HCICommands.ExitSniffMode(connectionHandle: other.handle))
            for side in [one, other] {
                let left: HCIEvents.ModeChange = try await side.host.next()
                #expect(left.status == .success && left.currentMode == 0)
            }
            one.host.sendData(one.handle, [1, 2, 3])
            #expect(try await other.host.nextData().suffix(3) == [1, 2, 3])
        }
    }
}
