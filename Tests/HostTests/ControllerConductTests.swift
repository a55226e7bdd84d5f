import BBBenchTesting
import BBHCI
import BBPackets
import BBTiming
import BBTransport
import Testing

@testable import BBHost

/// Controllers that do not behave as they report: the host works around it and reports it.
@Suite struct ControllerConductTests {
    struct Row: Sendable, CustomStringConvertible {
        var description: String
        var kind: ObservedQuirk.Kind
        var prepare: @Sendable (FakeController) -> Void
        /// Condition that must hold after the start.
        var holds: @Sendable (FakeController) -> Bool = { _ in true }
    }

    private static func refuse(_ opcode: UInt16, _ status: UInt8, asStatus: Bool = false) -> @Sendable (FakeController) -> Void {
        { fake in
            fake.script[opcode] = { _ in
                [
                    asStatus
                        ? HCIPacket(statusOpcode: opcode, ErrorCode(rawValue: status))
                        : HCIPacket(completeOpcode: opcode, returns: [status])
                ]
            }
        }
    }

    private static func silence(_ opcode: UInt16) -> @Sendable (FakeController) -> Void { { $0.script[opcode] = { _ in [] } } }

    private static func address(_ value: UInt64) -> @Sendable (FakeController) -> Void {
        { fake in
            fake.script[HCICommands.ReadBDADDR.opcode] = { _ in
                [HCIPacket(complete: HCICommands.ReadBDADDR.self, .init(bdADDR: BDADDR(value)))]
            }
        }
    }

    private static let isRandom: @Sendable (FakeController) -> Bool = {
        OwnAddress.isStatic($0.host.address) && $0.host.randomAddress == $0.host.address
    }

    static let rows: [Row] = [
        Row(description: "no version", kind: .unansweredCommand, prepare: silence(HCICommands.ReadLocalVersionInformation.opcode)) {
            $0.host.controller.manufacturer == 0
        },
        Row(description: "no address", kind: .addressMissing, prepare: refuse(HCICommands.ReadBDADDR.opcode, 0x01), holds: isRandom),
        Row(description: "address of zeros", kind: .addressMissing, prepare: address(0), holds: isRandom),
        Row(
            description: "default address", kind: .addressIsDefault,
            prepare: { fake in
                address(0xAAAA_AAAA_AAAA)(fake)
                fake.host.knowledge = ControllerKnowledge(originOfSharedAddress: { $0 == 0xAAAA_AAAA_AAAA ? "a factory's" : nil })
            }, holds: isRandom),
        Row(
            description: "known by its number", kind: .firmwareMissing,
            prepare: { fake in
                fake.host.knowledge = ControllerKnowledge(workarounds: { _ in
                    var workarounds = ControllerWorkarounds()
                    (workarounds.isROMOnly, workarounds.avoidedCommands) = (true, [HCICommands.LEReadSupportedStates.opcode])
                    return workarounds
                })
            }, holds: { $0.host.controller.leStates == 0 && $0.host.workarounds.isROMOnly }),
        Row(
            description: "another's address", kind: .addressIsShared, prepare: { $0.host.othersAddresses = [BDADDR(0x0102_0304_0506)] },
            holds: isRandom),
        Row(
            description: "no buffers", kind: .unusableBuffers, prepare: refuse(HCICommands.LEReadBufferSize.opcode, 0x01),
            holds: { $0.host.controller.leDataLength == 27 && $0.host.controller.leDataPackets == 1 }),
        Row(
            description: "a mask of 4.0 only", kind: .smallEventMask,
            prepare: { fake in
                fake.leFeatures = [.leExtendedAdvertising]
                fake.script[HCICommands.LESetEventMask.opcode] = { parameters in
                    let isOld = (try? HCICommands.LESetEventMask(prefixOf: parameters))?.leEventMask.rawValue == 0x1F
                    return [HCIPacket(completeOpcode: HCICommands.LESetEventMask.opcode, returns: [isOld ? 0 : 0x12])]
                }
            }),
        Row(
            description: "Status where Complete is due", kind: .statusForComplete,
            prepare: refuse(HCICommands.SetEventMask.opcode, 0, asStatus: true)),
        Row(
            description: "credits stay 0", kind: .creditsWithheld,
            prepare: { fake in
                fake.script[HCICommands.Reset.opcode] = { _ in
                    [HCIPacket(completeOpcode: HCICommands.Reset.opcode, returns: [0], credits: 0)]
                }
            }),
        Row(
            description: "answers late", kind: .slowCommand,
            prepare: { fake in
                fake.script[HCICommands.Reset.opcode] = { [unowned fake] _ in
                    fake.loop.schedule(after: .milliseconds(1_500)) {
                        fake.emit(HCIPacket(completeOpcode: HCICommands.Reset.opcode, returns: [0]))
                    }
                    return []
                }
            }, holds: { $0.host.slowestCommand?.name == "Reset" }),
    ]

    @Test(arguments: rows)
    func theHostStartsAndSaysWhatItMet(row: Row) throws {
        try World.run { world in
            let fake = FakeController(world)
            row.prepare(fake)
            try await fake.host.start()
            #expect(fake.host.learned[row.kind] != nil, "\(fake.host.learned.all)")
            #expect(row.holds(fake))
            #expect(!fake.opcodes.contains(HCICommands.SetEventMaskPage2.opcode))
        }
    }

    @Test func aGoodControllerTeachesNothing() throws {
        try World.run { world in
            let fake = FakeController(world)
            try await fake.host.start()
            #expect(fake.host.learned.all.isEmpty)
        }
    }

    // MARK: Families

    enum Use: Sendable, CaseIterable {
        case scan
        case advertise
        case connect
    }

    /// The first extended command of each kind is rejected; after HCI_Reset, legacy commands are used for everything.
    @Test(arguments: Use.allCases, [UInt8(0x01), 0x0C])
    func whoRefusesExtendedCommandsGetsLegacyOnes(use: Use, status: UInt8) throws {
        try World.run { world in
            let fake = FakeController(world)
            fake.leFeatures = [.leExtendedAdvertising]
            for opcode in [
                HCICommands.LESetExtendedScanParameters.opcode, HCICommands.LEExtendedCreateConnection.opcode,
                HCICommands.LEReadNumberOfSupportedAdvertisingSets.opcode,
            ] {
                Self.refuse(opcode, status)(fake)
            }
            try await fake.host.start()
            switch use {
            case .scan: _ = try await fake.host.scan()
            case .advertise: _ = try await fake.host.advertise(AdvertisingSettings())
            case .connect:
                fake.script[HCICommands.LECreateConnection.opcode] = { [unowned fake] _ in
                    fake.loop.schedule(after: 10) { fake.connect(role: .central) }
                    return [HCIPacket(statusOpcode: HCICommands.LECreateConnection.opcode, .success)]
                }
                _ = try await fake.host.connect(to: DeviceAddress(value: 0xA0_B0C0_D0E0))
            }
            #expect(fake.host.learned[.legacyCommandsOnly] != nil)
            #expect(fake.opcodes.count { $0 == HCICommands.Reset.opcode } == 2)
            let legacy = [
                HCICommands.LESetScanParameters.opcode, HCICommands.LESetAdvertisingParameters.opcode,
                HCICommands.LECreateConnection.opcode,
            ]
            let last = fake.opcodes.lastIndex(of: HCICommands.Reset.opcode) ?? 0
            #expect(fake.opcodes.firstIndex { legacy.contains($0) } ?? 0 > last)
        }
    }

    @Test func aLinkIsNotGivenUpForAnotherFamily() throws {
        try World.run { world in
            let pair = try await Pair.make(world) { $0.leFeatures = [.leExtendedAdvertising] }
            Self.refuse(HCICommands.LESetExtendedScanEnable.opcode, 0x0C)(pair.a)
            await #expect(throws: HostError.peer(.rejected("LE_Set_Extended_Scan_Enable", .commandDisallowed))) {
                _ = try await pair.a.host.scan()
            }
            #expect(pair.central.isConnected)
        }
    }

    // MARK: While running

    @Test func anAnswerUnderNoOpcodeIsTheOneThatIsMissing() throws {
        try World.run { world in
            let fake = FakeController(world)
            try await fake.host.start()
            fake.script[0xFD53] = { _ in [HCIPacket(completeOpcode: 0xFFFF, returns: [1])] }
            let answer = try await fake.host.sendRaw(opcode: 0xFD53, parameters: [])
            #expect(answer.status == .unknownHCICommand && answer.opcode == 0xFD53)
            #expect(fake.host.learned[.answerForAnotherCommand] != nil)
        }
    }

    @Test func aVendorsEventAnswersAVendorsCommand() throws {
        try World.run { world in
            let fake = FakeController(world)
            try await fake.host.start()
            fake.host.workarounds.answersVendorCommandsByEvent = true
            fake.script[0xFC00] = { _ in [HCIPacket(event: HCIEvents.VendorSpecific(data: [0xC2, 7]))] }
            let answer = try await fake.host.sendRaw(opcode: 0xFC00, parameters: [0xC2])
            #expect(answer.returns == [0xC2, 7])
            #expect(fake.host.learned[.vendorEventAsAnswer] != nil)
        }
    }

    @Test func aCommandForAnEndedConnectionNeedsNoAnswer() throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            pair.a.script[HCICommands.LEReadPHY.opcode] = { [unowned a = pair.a] _ in
                a.emit(event: "05 04 00 4000 13")
                return []
            }
            await #expect(throws: HostError.peer(.rejected("LE_Read_PHY", .unknownConnectionIdentifier))) {
                _ = try await pair.a.host.send(HCICommands.LEReadPHY(connectionHandle: ConnectionHandle(0x40)))
            }
            #expect(pair.a.host.learned[.answerMissingAfterDisconnection] != nil)
        }
    }

    @Test func afterAHardwareErrorSilenceIsACrash() throws {
        try World.run { world in
            let fake = FakeController(world)
            try await fake.host.start()
            Self.silence(HCICommands.LERand.opcode)(fake)
            fake.emit(HCIPacket(event: HCIEvents.HardwareError(hardwareCode: 0x42)))
            await #expect(throws: HostError.environment(.controllerCrashed(code: 0x42))) { try await fake.host.send(HCICommands.LERand()) }
            #expect(fake.host.learned[.controllerCrashed] != nil)
            try await fake.host.start()
            await #expect(throws: HostError.environment(.commandTimeOut(opcode: HCICommands.LERand.opcode))) {
                try await fake.host.send(HCICommands.LERand())
            }
        }
    }

    @Test func moreCompletedPacketsThanSentAreCounted() throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            pair.a.emit(event: "13 05 01 4000 0900")
            try await world.loop.sleep(for: .milliseconds(1))
            #expect(pair.a.host.counters.excessCredits == 9)
            #expect(pair.a.host.learned[.excessCredits]?.count == 9)
        }
    }

    @Test func reservedBitsOfReportsAreMasked() throws {
        try World.run { world in
            let fake = FakeController(world)
            fake.leFeatures = [.leExtendedAdvertising]
            try await fake.host.start()
            var reports: [AdvertisingReport] = []
            _ = try await fake.host.scan { reports.append($0) }
            fake.emit(event: "3e 1b 0d 01 1325 00 010203040506 41 80 ff 7f d0 0000 00 000000000000 01 aa")
            fake.emit(event: "3e 0d 02 01 83 00 010203040506 01 aa d0")
            try await world.loop.sleep(for: .milliseconds(1))
            #expect(reports.count == 2 && reports.first?.primaryPHY == .le1M && reports.first?.isConnectable == true)
            #expect(fake.host.counters.reservedBits == 2)
        }
    }
}
