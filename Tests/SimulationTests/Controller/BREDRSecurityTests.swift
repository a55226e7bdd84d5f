import BBBenchTesting
import BBBluetoothCrypto
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Names, features, pairing and encryption of BR/EDR as two hosts see them, over a radio. Core Vol 4, Part E, 7.1 and 7.7.
@Suite struct BREDRSecurityTests {
    private static let addresses = (World.address(0).bdADDR, World.address(1).bdADDR)
    private static let mask = EventMask(rawValue: 0x3FFF_FFFF_FFFF_FFFF)

    /// Enables Secure Simple Pairing, and optionally Secure Connections, on both hosts.
    private static func prepare(_ world: World, isSecure: Bool) async throws {
        for host in world.hosts.prefix(2) {
            try await host.succeed(
                HCICommands.SetEventMask(eventMask: mask), HCICommands.WriteSimplePairingMode(simplePairingMode: 1),
                HCICommands.WriteSecureConnectionsHostSupport(secureConnectionsHostSupport: isSecure ? 1 : 0))
        }
    }

    private static func authenticate(_ pair: BREDRConnectionTests.Pair) async throws {
        try await pair.central.succeed(HCICommands.AuthenticationRequested(connectionHandle: pair.atCentral))
    }

    /// Core Vol 4, Part E, 7.3.95.
    @Test(arguments: [(false, false, ErrorCode.commandDisallowed), (true, false, .success), (false, true, .success)])
    func dataOutOfBandNeedsAHostThatPairs(isSimple: Bool, isSecure: Bool, expected: ErrorCode) throws {
        try InquiryTests.run(hosts: 1) { world in
            try await world.hosts[0].succeed(
                HCICommands.WriteSimplePairingMode(simplePairingMode: isSimple ? 1 : 0),
                HCICommands.WriteSecureConnectionsHostSupport(secureConnectionsHostSupport: isSecure ? 1 : 0))
            #expect(try await world.hosts[0].raw(HCICommands.ReadLocalOOBExtendedData.opcode, []).status == expected)
        }
    }

    /// This controller has these commands for LE only. Core Vol 4, Part E, 3.2.
    @Test func aCommandOfLEIsUnsupportedOnALinkOfBREDR() throws {
        try InquiryTests.run(hosts: 2) { world in
            let pair = try await BREDRConnectionTests.connect(world)
            let handle = pair.atCentral.rawValue
            let octets = [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
            let read = try await pair.central.raw(HCICommands.ReadAuthenticatedPayloadTimeout.opcode, octets)
            let written = try await pair.central.raw(HCICommands.WriteAuthenticatedPayloadTimeout.opcode, octets + [0, 1])
            #expect(read.status == .unsupportedFeatureOrParameterValue && written.status == .unsupportedFeatureOrParameterValue)
        }
    }

    @Test func theOtherSideIsAskedWhatItIs() throws {
        try InquiryTests.run(hosts: 2) { world in
            let name = Array("neighbour".utf8) + [UInt8](repeating: 0, count: 239)
            try await world.hosts[1].succeed(HCICommands.WriteLocalName(localName: name))
            try await Self.prepare(world, isSecure: true)
            let pair = try await BREDRConnectionTests.connect(world)
            let (host, handle) = (pair.central, pair.atCentral)
            let request = HCICommands.RemoteNameRequest(bdADDR: Self.addresses.1, pageScanRepetitionMode: 1, clockOffset: 0)
            try await host.succeed(request)
            let named: HCIEvents.RemoteNameRequestComplete = try await host.next()
            #expect(named.status == .success && named.remoteName == name)
            try await host.succeed(HCICommands.ReadRemoteSupportedFeatures(connectionHandle: handle))
            let features: HCIEvents.ReadRemoteSupportedFeaturesComplete = try await host.next()
            #expect(LMPFeatures(rawValue: features.lmpFeatures) == .dual)
            for (page, bits) in [(1, 0b1001), (2, 0x300)] as [(UInt8, UInt64)] {
                try await host.succeed(HCICommands.ReadRemoteExtendedFeatures(connectionHandle: handle, pageNumber: page))
                let extended: HCIEvents.ReadRemoteExtendedFeaturesComplete = try await host.next()
                #expect(extended.pageNumber == page && extended.maxPageNumber == 2 && extended.extendedLMPFeatures == bits)
            }
            try await host.succeed(HCICommands.ReadRemoteVersionInformation(connectionHandle: handle))
            #expect(try await host.next(HCIEvents.ReadRemoteVersionInformationComplete.self).companyIdentifier == 0xFFFF)
            // Both devices know the same clock offset; the peripheral computes it.
            try await host.succeed(HCICommands.ReadClockOffset(connectionHandle: handle))
            let offset = try await host.next(HCIEvents.ReadClockOffsetComplete.self)
            try await pair.peripheral.succeed(HCICommands.ReadClockOffset(connectionHandle: pair.atPeripheral))
            let own = try await pair.peripheral.next(HCIEvents.ReadClockOffsetComplete.self)
            #expect(offset.status == .success && offset.clockOffset == own.clockOffset)
        }
    }

    /// Numeric comparison, encryption, data; then again with the stored key.
    @Test(arguments: [false, true]) func pairsAndEncrypts(_ isSecure: Bool) throws {
        try InquiryTests.run(hosts: 2, seed: isSecure ? 1 : 2) { world in
            try await Self.prepare(world, isSecure: isSecure)
            var pair = try await BREDRConnectionTests.connect(world)
            let key = try await Self.pair(pair)
            #expect(key.keyType == (isSecure ? .authenticatedCombinationP256 : .authenticatedCombinationP192))
            try await Self.encrypt(pair, isSecure: isSecure)
            try await pair.central.succeed(HCICommands.Disconnect(connectionHandle: pair.atCentral, reason: 0x13))
            for host in [pair.central, pair.peripheral] { _ = try await host.next(HCIEvents.DisconnectionComplete.self) }
            pair = try await BREDRConnectionTests.connect(world)
            try await Self.authenticate(pair)
            _ = try await pair.central.next(HCIEvents.LinkKeyRequest.self)
            try await pair.central.succeed(HCICommands.LinkKeyRequestReply(bdADDR: Self.addresses.1, linkKey: key.linkKey))
            _ = try await pair.peripheral.next(HCIEvents.LinkKeyRequest.self)
            try await pair.peripheral.succeed(HCICommands.LinkKeyRequestReply(bdADDR: Self.addresses.0, linkKey: key.linkKey))
            #expect(try await pair.central.next(HCIEvents.AuthenticationComplete.self).status == .success)
            try await Self.encrypt(pair, isSecure: isSecure)
            try await Self.switchRoles(pair)
        }
    }

    /// Encryption pauses and continues in the new piconet.
    private static func switchRoles(_ pair: BREDRConnectionTests.Pair) async throws {
        try await pair.peripheral.succeed(
            HCICommands.WriteLinkPolicySettings(connectionHandle: pair.atPeripheral, linkPolicySettings: 1))
        try await pair.central.succeed(HCICommands.SwitchRole(bdADDR: addresses.1, role: .peripheral))
        for (host, role) in [(pair.central, ConnectionRole.peripheral), (pair.peripheral, .central)] {
            let change: HCIEvents.RoleChange = try await host.next()
            #expect(change.status == .success && change.newRole == role)
            #expect(try await host.next(HCIEvents.EncryptionKeyRefreshComplete.self).status == .success)
        }
        pair.central.sendData(pair.atCentral, [7, 8, 9])
        #expect(try await pair.peripheral.nextData().suffix(3) == [7, 8, 9])
        pair.peripheral.sendData(pair.atPeripheral, [10, 11, 12])
        #expect(try await pair.central.nextData().suffix(3) == [10, 11, 12])
    }

    private static func pair(_ pair: BREDRConnectionTests.Pair) async throws -> HCIEvents.LinkKeyNotification {
        try await authenticate(pair)
        _ = try await pair.central.next(HCIEvents.LinkKeyRequest.self)
        try await pair.central.succeed(HCICommands.LinkKeyRequestNegativeReply(bdADDR: addresses.1))
        for (host, peer) in [(pair.central, addresses.1), (pair.peripheral, addresses.0)] {
            _ = try await host.next(HCIEvents.IOCapabilityRequest.self)
            try await host.succeed(
                HCICommands.IOCapabilityRequestReply(
                    bdADDR: peer, ioCapability: .displayYesNo, oobDataPresent: 0, authenticationRequirements: 3))
        }
        let numbers = (
            try await pair.central.next(HCIEvents.UserConfirmationRequest.self).numericValue,
            try await pair.peripheral.next(HCIEvents.UserConfirmationRequest.self).numericValue
        )
        #expect(numbers.0 == numbers.1)
        try await pair.central.succeed(HCICommands.UserConfirmationRequestReply(bdADDR: addresses.1))
        try await pair.peripheral.succeed(HCICommands.UserConfirmationRequestReply(bdADDR: addresses.0))
        for host in [pair.central, pair.peripheral] {
            #expect(try await host.next(HCIEvents.SimplePairingComplete.self).status == .success)
        }
        let keys = (
            try await pair.central.next(HCIEvents.LinkKeyNotification.self),
            try await pair.peripheral.next(HCIEvents.LinkKeyNotification.self)
        )
        #expect(keys.0.linkKey == keys.1.linkKey && keys.0.keyType == keys.1.keyType)
        #expect(try await pair.central.next(HCIEvents.AuthenticationComplete.self).status == .success)
        return keys.0
    }

    private static func encrypt(_ pair: BREDRConnectionTests.Pair, isSecure: Bool) async throws {
        try await pair.central.succeed(HCICommands.SetConnectionEncryption(connectionHandle: pair.atCentral, encryptionEnable: 1))
        for (host, handle) in [(pair.central, pair.atCentral), (pair.peripheral, pair.atPeripheral)] {
            let changed: HCIEvents.EncryptionChange = try await host.next()
            #expect(changed.status == .success && changed.encryptionEnabled == (isSecure ? 2 : 1))
            #expect(try await host.returns(HCICommands.ReadEncryptionKeySize(connectionHandle: handle)).keySize == 16)
        }
        pair.central.sendData(pair.atCentral, [1, 2, 3])
        #expect(try await pair.peripheral.nextData().suffix(3) == [1, 2, 3])
        pair.peripheral.sendData(pair.atPeripheral, [4, 5, 6])
        #expect(try await pair.central.nextData().suffix(3) == [4, 5, 6])
    }

    /// The receiver of the third wrong MIC in succession pauses encryption. Both ends resume with another IV, and data continues. The
    /// fourth ends the link.
    @Test(arguments: 2...4, [false, true]) func wrongMICsOverALink(_ count: Int, _ isSentByCentral: Bool) throws {
        try InquiryTests.run(hosts: 2, seed: UInt64(count)) { world in
            try await Self.prepare(world, isSecure: true)
            let pair = try await BREDRConnectionTests.connect(world)
            _ = try await Self.pair(pair)
            try await Self.encrypt(pair, isSecure: true)
            let packets = PacketList()
            world.simulation.observeBaseband { packets.all.append($0) }
            world.simulation.spoilMIC(of: ControllerID(rawValue: isSentByCentral ? 0 : 1), count: count)
            let (sender, receiver) = isSentByCentral ? (pair.central, pair.peripheral) : (pair.peripheral, pair.central)
            let handles = isSentByCentral ? (pair.atCentral, pair.atPeripheral) : (pair.atPeripheral, pair.atCentral)
            sender.sendData(handles.0, [1, 2, 3])
            guard count < 4 else {
                #expect(try await receiver.next(HCIEvents.DisconnectionComplete.self).reason == .connectionTerminatedDueToMICFailure)
                return
            }
            #expect(try await receiver.nextData().suffix(3) == [1, 2, 3])
            for host in count == 3 ? [sender, receiver] : [] {
                #expect(try await host.next(HCIEvents.EncryptionKeyRefreshComplete.self).status == .success)
            }
            sender.sendData(handles.0, [4, 5, 6])
            #expect(try await receiver.nextData().suffix(3) == [4, 5, 6])
            receiver.sendData(handles.1, [7, 8, 9])
            #expect(try await sender.nextData().suffix(3) == [7, 8, 9])
            #expect([sender, receiver].allSatisfy { $0.all(HCIEvents.DisconnectionComplete.self).isEmpty })
            let pauses = packets.all.compactMap { packet in
                guard case .pauseEncryptionAESReq(let pause)? = packet.message.flatMap(LMPMessage.init)?.pdu else { return nil as [UInt8]? }
                return pause.randomNumber
            }
            #expect(Set(pauses).count == (count == 3 ? 1 : 0))
            guard let random = pauses.first else { return }
            // The key and the IV that both link managers derive open the first data of either end after the pause.
            for index in 0...1 {
                let link = try #require(world.simulation.controller(ControllerID(rawValue: index))?.bredr.links.first?.connection)
                guard case .aesCCM(let key, let iv)? = link.state.encryption(with: random, size: 16, resumedFrom: random) else {
                    Issue.record("no AES-CCM")
                    return
                }
                #expect(iv == Array(random.prefix(8)))
                for (isFromCentral, text) in [(isSentByCentral, [4, 5, 6]), (!isSentByCentral, [7, 8, 9])] as [(Bool, [UInt8])] {
                    let data = packets.all.filter { $0.logicalLink == LLID.start && ($0.sender.rawValue == 0) == isFromCentral }
                    var opened: [UInt8] = []
                    let last = try #require(data.last).data
                    let fits = LinkCipher(sessionKey: key, iv: iv)
                        .open(last.span.bytes, counter: 0, fromCentral: isFromCentral, header: LLID.start, into: &opened)
                    #expect(fits && opened.suffix(3) == text)
                }
            }
        }
    }

    @Test func aWrongKeyFailsAndAMissingOneIsTold() throws {
        try InquiryTests.run(hosts: 2) { world in
            try await Self.prepare(world, isSecure: true)
            let pair = try await BREDRConnectionTests.connect(world)
            for answer in [nil, [UInt8](repeating: 2, count: 16)] {
                try await Self.authenticate(pair)
                _ = try await pair.central.next(HCIEvents.LinkKeyRequest.self)
                try await pair.central.succeed(
                    HCICommands.LinkKeyRequestReply(bdADDR: Self.addresses.1, linkKey: [UInt8](repeating: 1, count: 16)))
                _ = try await pair.peripheral.next(HCIEvents.LinkKeyRequest.self)
                if let answer {
                    try await pair.peripheral.succeed(HCICommands.LinkKeyRequestReply(bdADDR: Self.addresses.0, linkKey: answer))
                } else {
                    try await pair.peripheral.succeed(HCICommands.LinkKeyRequestNegativeReply(bdADDR: Self.addresses.0))
                }
                let complete: HCIEvents.AuthenticationComplete = try await pair.central.next()
                #expect(complete.status == (answer == nil ? .pinOrKeyMissing : .authenticationFailure))
            }
            #expect(try await pair.peripheral.next(HCIEvents.DisconnectionComplete.self).reason == .authenticationFailure)
        }
    }

    /// Replies without a request are rejected. Core Vol 4, Part E, 7.1.10.
    @Test func repliesToNothingAreRefused() throws {
        try InquiryTests.run(hosts: 2) { world in
            let host = world.hosts[0]
            let reply = HCICommands.LinkKeyRequestNegativeReply(bdADDR: Self.addresses.1)
            #expect(try await host.run(reply) == .unknownConnectionIdentifier)
            let pair = try await BREDRConnectionTests.connect(world)
            #expect(try await host.run(reply) == .commandDisallowed)
            let size = HCICommands.ReadEncryptionKeySize(connectionHandle: pair.atCentral)
            #expect(try await host.run(size) == .insufficientSecurity)
        }
    }
}

/// Packets seen on the air.
private final class PacketList {
    var all: [BasebandObservation] = []
}
