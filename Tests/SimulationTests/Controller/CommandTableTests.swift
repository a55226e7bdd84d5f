import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Rules for every supported command: its answer, its lengths, its bit. `facts`: Core Vol 4, Part E, 4.4 to 4.5 and 6.27.
@Suite struct CommandTableTests {
    static let rows = CommandTable.dual.rows.values.sorted { $0.opcode < $1.opcode }

    /// The configuration of a controller that has a command: LE only if that suffices.
    static func template(for opcode: UInt16) -> ControllerConfiguration {
        template(CommandTable.le.rows[opcode] == nil ? .dual : .le)
    }

    /// With a version that has every command.
    static func template(_ profile: ControllerConfiguration.Profile) -> ControllerConfiguration {
        var template = ControllerConfiguration(address: World.address(0))
        template.profile = profile
        template.version = 0x11
        return template
    }

    static func type(_ opcode: UInt16) -> (any HCICommand.Type)? {
        PDUCatalog.command(opcode: opcode).flatMap { PDUCatalog.type(of: $0) as? any HCICommand.Type }
    }

    static func parses(_ type: any PDU.Type, _ parameters: [UInt8]) -> Bool { (try? type.init(parameters: parameters)) != nil }

    /// Length of the complete return parameters in octets.
    static func returnCount(_ type: any HCICommand.Type) -> Int {
        func count<Command: HCICommand>(_ type: Command.Type) -> Int {
            (0...255).first { parses(Command.Return.self, [UInt8](repeating: 0, count: $0)) } ?? 0
        }
        return count(type)
    }

    /// Position of each command in Supported_Commands. Core Vol 4, Part E, 6.27, table 3.1; octet, bit, opcode.
    static let positions: [(Int, Int, UInt16)] = [
        (0, 0, 0x0401), (0, 1, 0x0402), (6, 0, 0x0C05), (7, 0, 0x0C13), (7, 1, 0x0C14), (7, 2, 0x0C15), (7, 3, 0x0C16), (7, 4, 0x0C17),
        (7, 5, 0x0C18), (7, 6, 0x0C19), (7, 7, 0x0C1A), (8, 0, 0x0C1B), (8, 1, 0x0C1C), (8, 2, 0x0C1D), (8, 3, 0x0C1E), (9, 0, 0x0C23),
        (9, 1, 0x0C24), (9, 2, 0x0C25), (9, 3, 0x0C26), (11, 2, 0x0C38), (11, 3, 0x0C39), (11, 4, 0x0C3A), (12, 4, 0x0C42),
        (12, 5, 0x0C43), (12, 6, 0x0C44), (12, 7, 0x0C45), (17, 0, 0x0C51), (17, 1, 0x0C52), (18, 0, 0x0C58), (18, 1, 0x0C59),
        (24, 5, 0x0C6C), (24, 6, 0x0C6D), (0, 4, 0x0405), (0, 7, 0x0408), (1, 0, 0x0409), (1, 1, 0x040A), (1, 6, 0x040F),
        (11, 0, 0x0C36), (11, 1, 0x0C37), (13, 0, 0x0C46), (13, 1, 0x0C47),
        (0, 5, 0x0406), (2, 7, 0x041D), (5, 6, 0x0C01), (5, 7, 0x0C03), (10, 2, 0x0C2D), (10, 5, 0x0C31), (10, 6, 0x0C33), (10, 7, 0x0C35),
        (14, 3, 0x1001), (14, 5, 0x1003), (14, 6, 0x1004), (14, 7, 0x1005), (15, 0, 0x1007), (15, 1, 0x1009),
        (15, 5, 0x1405), (16, 0, 0x1801), (16, 1, 0x1802), (22, 2, 0x0C63),
        (25, 0, 0x2001), (25, 1, 0x2002), (25, 2, 0x2003), (25, 4, 0x2005), (25, 5, 0x2006), (25, 6, 0x2007), (25, 7, 0x2008),
        (26, 0, 0x2009), (26, 1, 0x200A), (26, 2, 0x200B), (26, 3, 0x200C), (26, 4, 0x200D), (26, 5, 0x200E), (26, 6, 0x200F),
        (26, 7, 0x2010), (27, 0, 0x2011), (27, 1, 0x2012), (27, 2, 0x2013), (27, 3, 0x2014), (27, 4, 0x2015), (27, 5, 0x2016),
        (27, 6, 0x2017), (27, 7, 0x2018), (28, 0, 0x2019), (28, 1, 0x201A), (28, 2, 0x201B), (28, 3, 0x201C), (28, 4, 0x201D),
        (28, 5, 0x201E), (28, 6, 0x201F), (29, 3, 0x043D), (29, 4, 0x043E), (29, 5, 0x100B), (32, 4, 0x0C7B), (32, 5, 0x0C7C),
        (33, 4, 0x2020),
        (33, 5, 0x2021), (33, 6, 0x2022), (33, 7, 0x2023), (34, 0, 0x2024), (34, 1, 0x2025), (34, 2, 0x2026), (34, 3, 0x2027),
        (34, 4, 0x2028), (34, 5, 0x2029), (34, 6, 0x202A), (34, 7, 0x202B), (35, 0, 0x202C),
        (35, 1, 0x202D), (35, 2, 0x202E), (35, 3, 0x202F),
        (35, 4, 0x2030), (35, 5, 0x2031), (35, 6, 0x2032),
        (35, 7, 0x2033), (36, 0, 0x2034), (36, 1, 0x2035), (36, 2, 0x2036), (36, 3, 0x2037), (36, 4, 0x2038), (36, 5, 0x2039),
        (36, 6, 0x203A), (36, 7, 0x203B), (37, 0, 0x203C), (37, 1, 0x203D), (37, 2, 0x203E), (37, 3, 0x203F), (37, 4, 0x2040),
        (37, 5, 0x2041), (37, 6, 0x2042), (37, 7, 0x2043),
        (38, 0, 0x2044), (38, 1, 0x2045), (38, 2, 0x2046), (38, 3, 0x2047), (38, 4, 0x2048), (38, 5, 0x2049), (38, 6, 0x204A),
        (38, 7, 0x204B), (39, 0, 0x204C), (39, 1, 0x204D), (39, 2, 0x204E), (41, 2, 0x205E), (41, 3, 0x100C), (41, 5, 0x2060),
        (44, 1, 0x2074), (46, 2, 0x207F), (47, 4, 0x2097),
        (1, 2, 0x040B), (1, 3, 0x040C), (1, 4, 0x040D), (1, 5, 0x040E), (1, 7, 0x0411), (2, 0, 0x0413), (2, 3, 0x0419), (2, 4, 0x041A),
        (2, 5, 0x041B), (2, 6, 0x041C), (3, 0, 0x041F), (17, 2, 0x0C53), (17, 5, 0x0C55), (17, 6, 0x0C56), (17, 7, 0x0C57), (18, 7, 0x042B),
        (19, 0, 0x042C), (19, 1, 0x042D), (19, 2, 0x042E), (19, 3, 0x042F), (19, 4, 0x0430), (19, 7, 0x0433), (20, 2, 0x0C60),
        (20, 3, 0x0434), (20, 4, 0x1408), (32, 1, 0x0445), (32, 2, 0x0C79), (32, 3, 0x0C7A), (32, 6, 0x0C7D), (45, 7, 0x0C84),
        (48, 2, 0x209E), (49, 0, 0x1010), (49, 1, 0x20A4), (4, 6, 0x0807), (4, 7, 0x0809), (5, 0, 0x080B), (5, 1, 0x080C), (5, 2, 0x080D),
        (5, 3, 0x080E), (5, 4, 0x080F),
        (5, 5, 0x0810), (15, 4, 0x1403), (15, 6, 0x1406), (15, 7, 0x1407), (12, 1, 0x0C3F), (13, 2, 0x0C48), (13, 3, 0x0C49),
        (2, 1, 0x0415), (4, 2, 0x0803), (4, 3, 0x0804), (16, 3, 0x0428), (16, 4, 0x0429), (16, 5, 0x042A),
    ]

    @Test(arguments: [CommandTable.le, .dual, CommandTable()]) func theIndexKnowsTheRowsOfItsTableAndNoOthers(table: CommandTable) {
        let index = CommandIndex(table)
        for opcode in 0...UInt16.max where index[opcode] !== table.rows[opcode] { Issue.record("0x\(String(opcode, radix: 16))") }
    }

    @Test(arguments: [ControllerConfiguration.Profile.le, .dual])
    func theMaskIsWhatIsImplemented(_ profile: ControllerConfiguration.Profile) throws {
        let mask = try World.run(hosts: 1, template: Self.template(profile)) {
            try await $0.hosts[0].returns(HCICommands.ReadLocalSupportedCommands()).supportedCommands
        }
        var claimed: Set<UInt16> = []
        for (octet, bit, opcode) in Self.positions where mask[octet] >> UInt8(bit) & 1 == 1 { claimed.insert(opcode) }
        #expect(mask.reduce(0) { $0 + $1.nonzeroBitCount } == claimed.count, "a bit that belongs to no known position")
        // Every controller has the command that reads the mask, so the mask has no bit for it.
        let withoutBit = [CommandTable.writeAddress, HCICommands.ReadLocalSupportedCommands.opcode]
        #expect(claimed == Set(CommandTable.of(profile).rows.keys).subtracting(withoutBit))
    }

    @Test(arguments: [ControllerConfiguration.Profile.le, .dual])
    func whatIsNotImplementedIsUnknown(_ profile: ControllerConfiguration.Profile) throws {
        try World.run(hosts: 1, template: Self.template(profile)) { world in
            let known = Set(CommandTable.of(profile).rows.keys)
            let declared = PDUCatalog.all.filter { $0.layer == .hciCommands }.map { UInt16($0.code) }
            for opcode in Set(declared + [0x0000, 0x0C02, 0x20FF, 0x3FFF, 0xFC00, 0xFFFF]).subtracting(known).sorted() {
                for count in [0, 1, 7, 255] {
                    let answer = try await world.hosts[0].raw(opcode, [UInt8](repeating: 0, count: count))
                    #expect(answer.status == .unknownHCICommand && !answer.isComplete && answer.credits == 1, "\(opcode)")
                }
            }
        }
    }

    @Test(arguments: rows.map(\.opcode)) func aWrongLengthIsInvalid(_ opcode: UInt16) throws {
        guard let type = Self.type(opcode) else { return #expect(opcode == CommandTable.writeAddress) }
        try World.run(hosts: 1, template: Self.template(for: opcode)) { world in
            let host = world.hosts[0]
            let before = try await host.raw(HCICommands.ReadBDADDR.opcode, [])
            for count in 0...255 {
                let parameters = [UInt8](repeating: 0, count: count)
                guard !Self.parses(type, parameters) else { continue }
                let answer = try await host.raw(opcode, parameters)
                #expect(answer.status == .invalidHCICommandParameters, "\(count) octets")
                #expect(answer.isComplete == (type.completion == .complete) && answer.credits == 1)
                if answer.isComplete { #expect(answer.returns.count == Self.returnCount(type), "\(count) octets") }
            }
            #expect(try await host.raw(HCICommands.ReadBDADDR.opcode, []).returns == before.returns)
        }
    }

    @Test(arguments: rows.map(\.opcode)) func anUnknownHandleIsNamed(_ opcode: UInt16) throws {
        guard let type = Self.type(opcode), let first = PDUCatalog.command(opcode: opcode)?.fields.first else { return }
        let isConnection = first.name == "Connection_Handle" || first.name == "Handle"
        // Parameters of zeros are out of range, or make a set.
        let isSet =
            first.name == "Advertising_Handle" && !type.name.hasPrefix("LE_Set_Extended_Advertising_Parameters")
            && !type.name.hasPrefix("LE_Set_Periodic_Advertising_Parameters")
        // Reading the local clock needs no connection.
        guard isConnection || isSet, opcode != HCICommands.ReadClock.opcode,
            let count = (1...255).first(where: { Self.parses(type, [UInt8](repeating: 0, count: $0)) })
        else {
            return
        }
        try World.run(hosts: 1, template: Self.template(for: opcode)) { world in
            var parameters = [UInt8](repeating: 0, count: count)
            if isConnection { (parameters[0], parameters[1]) = (0xFF, 0x0E) }
            let answer = try await world.hosts[0].raw(opcode, parameters)
            #expect(answer.status == (isConnection ? .unknownConnectionIdentifier : .unknownAdvertisingIdentifier))
            if answer.isComplete, isConnection { #expect(answer.returns[1...2] == [0xFF, 0x0E]) }
        }
    }

    @Test func aPacketWhoseLengthFieldIsWrongIsRefused() throws {
        try World.run(hosts: 1) { world in
            let host = world.hosts[0]
            for bytes: [UInt8] in [[0x03, 0x0C, 5], [0x03, 0x0C, 0, 1], [0x01, 0x0C, 8, 0]] {
                host.transport.send(HCIPacket(.command, bytes))
                let answer = try await host.next(HCIEvents.CommandComplete.self)
                #expect(answer.returnParameters == [ErrorCode.invalidHCICommandParameters.rawValue])
            }
            for bytes: [UInt8] in [[], [3], [3, 0x0C]] { host.transport.send(HCIPacket(.command, bytes)) }
            for bytes: [UInt8] in [[], [1], [1, 0, 0], [1, 0, 9, 0, 1]] { host.transport.send(HCIPacket(.acl, bytes)) }
            try await host.succeed(HCICommands.ReadBDADDR())
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>) func randomPacketsNeverEndIt(_ seed: UInt64) throws {
        try World.run(hosts: 2, seed: seed, template: Self.template(.dual)) { world in
            var random = RandomSource(seed: seed)
            let opcodes = Self.rows.map(\.opcode)
            for round in 0..<1_500 {
                let host = world.hosts[Int(random.next() % 2)]
                guard let opcode = opcodes.randomElement(using: &random), let type = Self.type(opcode) else { continue }
                let lengths = (0...80).filter { Self.parses(type, [UInt8](repeating: 0, count: $0)) }
                guard let length = lengths.randomElement(using: &random) else { continue }
                let small = random.next() % 2 == 0
                let parameters = random.octets(length).map { small ? $0 % 4 : $0 }
                guard opcode != HCICommands.HostNumberOfCompletedPackets.opcode else {
                    // There is an answer only if the command fails.
                    host.transport.send(HCIPacket(opcode: opcode, parameters: parameters))
                    continue
                }
                try await host.raw(opcode, parameters)
                // In loopback mode hardly any command is executed.
                if opcode == HCICommands.WriteLoopbackMode.opcode { try await host.succeed(HCICommands.Reset()) }
                if round % 50 == 0 { host.sendData(ConnectionHandle(UInt16(random.next() % 4)), random.octets(9)) }
                if round % 20 == 0 { try await world.loop.sleep(for: .milliseconds(30)) }
            }
            for host in world.hosts {
                try await host.succeed(HCICommands.Reset())
                try await world.loop.sleep(for: .seconds(1))
                let before = host.log.count
                try await world.loop.sleep(for: .seconds(10))
                #expect(host.log.count == before, "something goes on after a reset")
            }
        }
    }
}
