import BBBenchTesting
import BBHCI
import BBPackets
import BBTiming
import BBTraffic
import BBTransport
import Testing

@testable import BBHost

@Suite struct HostStartTests {
    @Test func startAsksInOrderAndKnowsTheController() throws {
        try World.run { world in
            let fake = FakeController(world)
            fake.leFeatures = [.leExtendedAdvertising, .leDataPacketLengthExtension]
            let information = try await fake.host.start()
            #expect(information.address == DeviceAddress(value: 0x0102_0304_0506))
            #expect(information.resetAttempts == 1)
            #expect(!fake.opcodes.contains(HCICommands.LEReadMaximumAdvertisingDataLength.opcode))
            #expect(information.maximumDataLength.txOctets == 251)
            #expect(fake.opcodes.first == HCICommands.Reset.opcode)
            #expect(fake.opcodes.last == HCICommands.LESetEventMask.opcode)
        }
    }

    @Test func aStaleControllerIsDrainedAndResetAgain() throws {
        try World.run { world in
            let fake = FakeController(world)
            let attempts = Counter()
            fake.script[HCICommands.Reset.opcode] = { _ in
                attempts.value += 1
                return attempts.value < 3 ? [] : [HCIPacket(completeOpcode: HCICommands.Reset.opcode, returns: [0])]
            }
            fake.emit(event: "0e 04 01 1620 00")
            fake.emit(event: "3e 02 00")
            fake.emit(HCIPacket(.acl, octets("40 20 0500 0100 0400 aa")))
            let information = try await fake.host.start()
            #expect(information.resetAttempts == 3)
            #expect(world.loop.now == .seconds(4))
        }
    }

    @Test func aSilentControllerIsTheEnvironmentsFault() throws {
        try World.run { world in
            let fake = FakeController(world)
            fake.script[HCICommands.Reset.opcode] = { _ in [] }
            await #expect(throws: HostError.environment(.commandTimeOut(opcode: HCICommands.Reset.opcode))) {
                try await fake.host.start()
            }
            #expect(world.loop.now == .seconds(10))
        }
    }

    @Test func aRefusedCommandNamesItselfAndTheCode() throws {
        try World.run { world in
            let fake = FakeController(world)
            fake.script[HCICommands.Reset.opcode] = { _ in [HCIPacket(completeOpcode: HCICommands.Reset.opcode, returns: [0x0C])] }
            await #expect(throws: HostError.peer(.rejected("Reset", .commandDisallowed))) { try await fake.host.start() }
        }
    }

    @Test func aControllerThatKnowsLittleIsGoodEnough() throws {
        try World.run { world in
            let fake = FakeController(world)
            fake.leFeatures = [.leExtendedAdvertising, .leDataPacketLengthExtension]
            for opcode in [
                HCICommands.ReadLocalSupportedCommands.opcode, HCICommands.LEReadSupportedStates.opcode,
                HCICommands.LEReadMaximumDataLength.opcode,
                HCICommands.LEReadFilterAcceptListSize.opcode,
            ] {
                fake.script[opcode] = { _ in [HCIPacket(statusOpcode: opcode, .unknownHCICommand)] }
            }
            let information = try await fake.host.start()
            #expect(information.maximumDataLength == DataLength())
        }
    }

    @Test func whenThePipeEndsEverythingFailsAtOnceWithOneError() throws {
        let lost = HostError.environment(.transport(.lost("virtual")))
        try World.run { world in
            let pair = try await Pair.make(world)
            pair.a.script[HCICommands.LEReadPHY.opcode] = { _ in [] }
            pair.a.swallows = { _ in true }
            world.loop.schedule(after: .milliseconds(500)) { pair.a.end.close() }
            let waits = [
                world.loop.start {
                    await failure { _ = try await pair.a.host.send(HCICommands.LEReadPHY(connectionHandle: pair.central.handle)) }
                },
                world.loop.start { await failure { _ = try await pair.central.gatt.read(3) } },
                world.loop.start {
                    await failure { _ = try await pair.a.host.nextEvent(HCIEvents.HardwareError.self, within: .seconds(60)) }
                },
                world.loop.start { await failure { _ = try await pair.central.updatePHY(tx: .le2M, rx: .le2M) } },
                world.loop.start { await failure { _ = try await pair.a.host.nextIncomingConnection() } },
            ]
            var all: [HostError?] = []
            for wait in waits { all.append(try await wait.value()) }
            #expect(all == Array(repeating: lost, count: 5))
            #expect(world.loop.now < .seconds(1))
        }
    }

    @Test func anUnansweredCommandDoesNotBlockTheNext() throws {
        try World.run { world in
            let fake = FakeController(world)
            try await fake.host.start()
            fake.script[HCICommands.LERand.opcode] = { _ in [] }
            let start = world.loop.now
            await #expect(throws: HostError.environment(.commandTimeOut(opcode: HCICommands.LERand.opcode))) {
                try await fake.host.send(HCICommands.LERand())
            }
            #expect(world.loop.now - start == .seconds(2))
            try await fake.host.send(HCICommands.LEClearFilterAcceptList())
        }
    }

    @Test func rawCommandsMayBeWrongAndAnyAnswerIsReturned() throws {
        try World.run { world in
            let fake = FakeController(world)
            try await fake.host.start()
            fake.script[0x3FFF] = { _ in [HCIPacket(statusOpcode: 0x3FFF, .unknownHCICommand)] }
            let answer = try await fake.host.sendRaw(opcode: 0x3FFF, parameters: [1, 2], length: 9)
            #expect(answer == CommandAnswer(opcode: 0x3FFF, kind: .status, status: .unknownHCICommand))
            #expect(fake.commands.last?.bytes == [0xFF, 0x3F, 9, 1, 2])
        }
    }

    /// Events of a faulty or hostile controller; the host works as before afterwards.
    static let hostile: [String] = [
        "", "0e", "0e 00", "0e 04 01 0000", "0e 03 01 0000", "0e 04 01 ffff 00", "0e 04 ff 0000 00", "0f 04 00 00 0320", "0f 02 00 00",
        "13 00", "13 01 ff",
        "13 05 01 4000 ffff", "13 05 02 4000 0100", "13 05 01 990e ffff", "13 09 02 4000 0100 ff0f 0100", "3e 00", "3e 01 00", "3e 01 ff",
        "3e 02 02 00",
        "3e 02 02 1a", "3e 0d 02 01 00 00 010203040506 1f aa", "3e 0c 02 01 00 00 010203040506 40",
        "3e 1b 0d 01 1000 00 010203040506 01 00 ff 7f d0 0000 00 000000000000 e5 aa",
        "3e 3b 0d 01 1000 00 010203040506 01 00 ff 7f d0 0000 00 000000000000 21" + String(repeating: "aa", count: 33), "3e 02 0d ff",
        "3e 13 01 00 4000 00 00 010203040506 1800 0000 c800 00", "3e 13 01 00 ff0f 01 00 010203040506 1800 0000 c800 00",
        "05 04 00 990e 13", "05 04 00 4000",
        "3e 0c 0c 00 4000 07 09", "3e 06 0c 00 4000 07 09", "3e 0b 07 4000 ffff ffff ffff ffff", "3e 0a 03 00 990e ffff ffff ffff",
        "08 04 00 4000 01", "ff 02 0102", "10 01 99", "1a 01 00",
    ]

    @Test func aHostileEventStreamDoesNoHarm() throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            var random = RandomSource(seed: 5)
            for text in Self.hostile { pair.a.emit(event: text) }
            for text in Self.hostile.shuffled(using: &random) {
                var bytes = octets(text)
                if !bytes.isEmpty { bytes[Int(random.next() % UInt64(bytes.count))] ^= UInt8(random.next() & 0xFF) }
                guard bytes.first != 0x0E, bytes.first != 0x0F else { continue }
                pair.a.emit(HCIPacket(.event, bytes))
            }
            for text in [
                "", "40", "40 20", "40 20 ff00", "40 10 0100 00", "40 30 0000", "40 20 0200 0100", "ff ff 0000", "40 20 0400 ff00 0400",
            ] {
                pair.a.emit(HCIPacket(.acl, octets(text)))
            }
            try await world.loop.sleep(for: .seconds(3))
            // The events took away all command credits; the host tries again after one timeout.
            _ = await failure { try await pair.a.host.send(HCICommands.LEClearFilterAcceptList()) }
            try await pair.a.host.send(HCICommands.LEClearFilterAcceptList())
            #expect(pair.a.host.counters.malformedEvents > 10)
            #expect(pair.a.host.counters.strayAnswers > 0)
        }
    }

    @Test func noEventTraps() throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            var random = RandomSource(seed: 6)
            for _ in 0..<200 {
                for _ in 0..<50 {
                    var bytes = random.octets(2 + Int(random.next() % 40))
                    if random.next() & 1 == 0 { bytes[0] = 0x3E }
                    if bytes.count > 2, bytes[0] == 0x3E { bytes[2] &= 0x1F }
                    if random.next() & 3 != 0 { bytes[1] = UInt8(bytes.count - 2) }
                    pair.a.emit(HCIPacket(.event, bytes))
                    pair.b.emit(HCIPacket(.acl, random.octets(Int(random.next() % 40))))
                }
                try await world.loop.sleep(for: .milliseconds(10))
            }
            try await world.loop.sleep(for: .seconds(3))
            _ = await failure { try await pair.a.host.send(HCICommands.LEClearFilterAcceptList()) }
            try await pair.a.host.send(HCICommands.LEClearFilterAcceptList())
        }
    }
}

final class Counter {
    var value = 0
}

/// The host error thrown by `body`, if any.
func failure(_ body: () async throws -> Void) async -> HostError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? HostError
    }
}
