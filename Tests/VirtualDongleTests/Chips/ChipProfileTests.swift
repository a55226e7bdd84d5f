import BBPackets
import BBSimulation
import BBTiming
import BBTransport
import Foundation
import Testing

@testable import BBVirtualDongle

/// Each chip reports the values of the real chip.
@Suite struct ChipProfileTests {
    private final class Host: HCITransportSink {
        var packets: [HCIPacket] = []
        func received(_ packet: HCIPacket, at time: Microseconds) { packets.append(packet) }
        func closed(_ reason: TransportError) {}

        func returns<Command: HCICommand>(of type: Command.Type) throws -> Command.Return? {
            try packets.last { $0.completedOpcode == Command.opcode }
                .map { try $0.event(as: HCIEvents.CommandComplete.self).returns(of: type) }
        }
    }

    private static let questions: [HCIPacket] = [
        HCIPacket(command: HCICommands.Reset()), HCIPacket(command: HCICommands.Reset()),
        HCIPacket(command: HCICommands.ReadLocalVersionInformation()), HCIPacket(command: HCICommands.ReadLocalSupportedCommands()),
        HCIPacket(command: HCICommands.ReadLocalSupportedFeatures()), HCIPacket(command: HCICommands.LEReadLocalSupportedFeatures()),
        HCIPacket(command: HCICommands.ReadBufferSize()), HCIPacket(command: HCICommands.LEReadBufferSize()),
        HCIPacket(command: HCICommands.ReadBDADDR()),
    ]

    private func ask(_ chip: ChipProfile, _ more: [HCIPacket] = []) throws -> Host {
        let loop = RunLoop()
        let conduct = DongleConduct(chip: chip)
        let backend = try conduct.makeBackend(
            Simulation(loop: loop, seed: 1), configurations: [ControllerConfiguration(address: DeviceAddress(value: 0x02BB_0000_0001))],
            on: loop)
        let host = Host()
        let pipe = try backend.pipe(to: 0, on: loop)
        try pipe.open(host)
        try loop.run {
            for packet in Self.questions + more {
                pipe.send(packet)
                try await loop.sleep(for: .milliseconds(800))
            }
        }
        pipe.close()
        try loop.run { try await loop.sleep(for: .milliseconds(10)) }
        return host
    }

    @Test(arguments: ChipProfile.all.filter { !$0.needsLoader }.map(\.name))
    func itSaysWhatItIs(name: String) throws {
        let chip = try #require(ChipProfile.named(name))
        let host = try ask(chip)
        let version = try #require(try host.returns(of: HCICommands.ReadLocalVersionInformation.self))
        let known = try #require(chip.version)
        #expect(version.companyIdentifier == known.company)
        #expect(version.hciVersion == known.hci || chip.boot != nil)
        #expect(version.lmpSubversion == known.lmpSubversion && version.hciSubversion == known.hciSubversion)
        if let commands = chip.commands, !chip.quirks.contains(where: { $0.hasPrefix("no-") || $0.hasPrefix("refuses") }) {
            #expect(try host.returns(of: HCICommands.ReadLocalSupportedCommands.self)?.supportedCommands == commands.padded(to: 64))
        }
        if let features = chip.leFeatures {
            #expect(try host.returns(of: HCICommands.LEReadLocalSupportedFeatures.self)?.leFeatures.rawValue == features)
        }
        if let features = chip.lmpFeatures {
            #expect(try host.returns(of: HCICommands.ReadLocalSupportedFeatures.self)?.lmpFeatures == features)
        }
        let le = try #require(try host.returns(of: HCICommands.LEReadBufferSize.self))
        #expect(Int(le.leACLDataPacketLength) == chip.le?.length ?? 0 && Int(le.totalNumLEACLDataPackets) == chip.le?.count ?? 0)
    }

    @Test func aROMIsAControllerThatHearsNothingAndSaysSo() throws {
        let host = try ask(try #require(ChipProfile.named("realtek-rom")))
        let version = try #require(try host.returns(of: HCICommands.ReadLocalVersionInformation.self))
        #expect(version.lmpSubversion == 0x8761 && version.companyIdentifier == 93)
        #expect(try host.returns(of: HCICommands.LEReadBufferSize.self)?.status == .success)
    }

    /// A reported command that the simulation lacks: answered if it only sets or reads a value, disallowed if it would start an activity.
    @Test func claimedCommandsAreAnswered() throws {
        let claimed = [
            // LE_Set_Connectionless_CTE_Transmit_Enable and LE_Accept_CIS_Request.
            HCIPacket(.command, [0x52, 0x20, 2, 0, 0]), HCIPacket(.command, [0x66, 0x20, 2, 0, 0]),
        ]
        let host = try ask(try #require(ChipProfile.named("apple-broadcom")), claimed)
        let complete = host.packets.compactMap { try? $0.event(as: HCIEvents.CommandComplete.self) }
        #expect(complete.last { $0.commandOpcode == 0x2052 }?.returnParameters == [ErrorCode.success.rawValue])
        let statuses = host.packets.compactMap { try? $0.event(as: HCIEvents.CommandStatus.self) }
        #expect(statuses.last { $0.commandOpcode == 0x2066 }?.status == .commandDisallowed)
    }

    @Test func theTableOfChipsHasNoErrors() throws {
        let entries = try ChipEntry.read()
        #expect(entries.count == 15 && ChipProfile.all.count == 19)
        for (entry, chip) in zip(entries, ChipProfile.all) {
            #expect(entry.boot == nil || chip.boot != nil, "\(entry.name)")
            #expect(entry.commands == nil || chip.commands?.isEmpty == false, "\(entry.name)")
            #expect(entry.acl == nil || entry.acl == "\(chip.acl.length)x\(chip.acl.count)", "\(entry.name)")
            #expect((entry.le == "shared") == (chip.le == nil), "\(entry.name)")
        }
    }

    /// `make docs` writes the pages.
    @Test func thePagesAreMadeFromTheTable() throws {
        let folder = #filePath.split(separator: "/").dropLast(4).reduce(into: "") { $0 += "/" + $1 } + "/docs/guide/chips/"
        for (name, text) in ChipProfile.pages {
            #expect(try String(contentsOfFile: folder + name, encoding: .utf8) == text, "\(name)")
        }
    }

    @Test(arguments: [
        ("csr-clone", 0x0A12, 0x0001, 0x2520), ("csr8510", 0x0A12, 0x0001, 0x8891), ("realtek-rom", 0x0BDA, 0x8771, 0x0200),
        ("intel-boot", 0x8087, 0x0029, 0x0001), ("barrot", 0x33FA, 0x0010, 0x0100), ("actions", 0x10D7, 0xB012, 0x8891),
        ("broadcom", 0x0A5C, 0x21E8, 0x0112), ("nrf52-zephyr", 0x2FE3, 0x000B, 0x0306),
    ])
    func driversFindItByItsNumbers(name: String, vendor: UInt16, product: UInt16, release: UInt16) throws {
        let descriptors = DongleConduct(chip: try #require(ChipProfile.named(name))).describe(serialNumber: "1")
        #expect((descriptors.vendorID, descriptors.productID, descriptors.release) == (vendor, product, release))
    }
}
