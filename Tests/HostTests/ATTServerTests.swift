import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Requests and their responses, as octets, on one database.
@Suite struct ATTServerTests {
    /// 1800: 1 decl, 2/3 name "bench", 4/5 appearance; 1801: 6 decl, 7/8/9 service changed + CCCD, 10/11 hash;
    /// FFF0: 12 decl, 13 include of 1800, 14/15 read+write "0123..." of 60 octets, 16/17 notify, 18 CCCD, 19/20 write only, 21/22 protected, 23 description,
    /// 24/25 dynamic.
    static func database() -> GATTDatabase {
        let database = GATTDatabase(deviceName: "bench", isCacheable: false)
        let long = BluetoothUUID(long: 0x0000_FFF0_0000_1111_2222_3333_4444_5555)
        database.add(
            ServiceDefinition(
                0xFFF0, includes: [database.services[0]],
                characteristics: [
                    CharacteristicDefinition(0xFFF1, properties: [.read, .write], value: [UInt8](0..<60), maximumLength: 64),
                    CharacteristicDefinition(0xFFF2, properties: [.notify]),
                    CharacteristicDefinition(0xFFF3, properties: [.write, .writeWithoutResponse], maximumLength: 4),
                    CharacteristicDefinition(
                        long, properties: [.read, .write], permissions: [.read, .write, .readEncrypted, .writeAuthenticated],
                        descriptors: [DescriptorDefinition(.userDescription, value: [0x68, 0x69])]),
                    CharacteristicDefinition(
                        0xFFF5, properties: [.read, .write], onRead: { _ in .value([7]) },
                        onWrite: { _, value in value.byteCount == 1 ? nil : ATTErrorCode(rawValue: 0x80) }),
                ]))
        return database
    }

    static func server(_ database: GATTDatabase = database()) -> ATTServer {
        ATTServer(client: GATTServerSession(client: PeerIdentity(DeviceAddress(value: 0)), database: database))
    }

    static let rows: [(name: String, exchange: [(request: String, response: String?)])] = [
        ("MTU", [("02 f700", "03 0502"), ("0a 0f00", "0b" + hex([UInt8](0..<60)))]),
        ("MTU below 23 counts as 23", [("02 0500", "03 0502"), ("0a 0f00", "0b" + hex([UInt8](0..<22)))]),
        ("MTU cut short (DA14680)", [("02 17", "01 02 0000 04")]),
        (
            "services",
            [("10 0100 ffff 0028", "11 06 0100 0500 0018 0600 0b00 0118 0c00 1900 f0ff"), ("10 1a00 ffff 0028", "01 10 1a00 0a")]
        ),
        ("groups of other types", [("10 0100 ffff 0328", "01 10 0100 10")]),
        (
            "handle 0 and reversed ranges",
            [("10 0000 ffff 0028", "01 10 0000 01"), ("08 0500 0400 0328", "01 08 0500 01"), ("04 0200 0100", "01 04 0200 01")]
        ),
        ("services by UUID", [("06 0100 ffff 0028 f0ff", "07 0c00 1900"), ("06 0100 ffff 0028 efff", "01 06 0100 0a")]),
        ("include", [("08 0c00 1900 0228", "09 08 0d00 0100 0500 0018")]),
        (
            "characteristics",
            [
                ("08 0c00 1900 0328", "09 07 0e00 0a 0f00 f1ff 1000 10 1100 f2ff 1300 0c 1400 f3ff"),
                ("08 1400 1900 0328", "09 15 1500 0a 1600 5555444433332222 11110000f0ff0000"),
            ]
        ),
        ("read by type of one value", [("08 0100 ffff 002a", "09 07 0300 62656e6368"), ("08 0100 ffff ff2a", "01 08 0100 0a")]),
        (
            "information",
            [
                ("04 1000 1200", "05 01 1000 0328 1100 f2ff 1200 0229"), ("04 1600 1600", "05 02 1600 5555444433332222 11110000f0ff0000"),
                ("04 1a00 ffff", "01 04 1a00 0a"),
            ]
        ),
        ("read", [("0a 0300", "0b 62656e6368"), ("0a 0000", "01 0a 0000 01"), ("0a 6300", "01 0a 6300 01"), ("0a 1400", "01 0a 1400 02")]),
        ("long read", [("0c 0f00 1600", "0d" + hex([UInt8](22..<44))), ("0c 0f00 3c00", "0d"), ("0c 0f00 3d00", "01 0c 0f00 07")]),
        ("read multiple", [("0e 0300 0500", "0f 62656e6368 0000"), ("0e 0300", "01 0e 0000 04"), ("0e 0300 1400", "01 0e 1400 02")]),
        ("read multiple variable", [("20 0300 0500", "21 0500 62656e6368 0200 0000")]),
        (
            "write",
            [("12 0f00 aabb", "13"), ("0a 0f00", "0b aabb"), ("12 0300 00", "01 12 0300 03"), ("12 1400 0102030405", "01 12 1400 0d")]
        ),
        ("protection", [("0a 1600", "01 0a 1600 05"), ("12 1600 00", "01 12 1600 05")]),
        ("commands never answer", [("52 0300 00", nil), ("52 14", nil), ("52 0f00 01", nil), ("0a 0f00", "0b 01"), ("f2 0000", nil)]),
        ("signed write without a key", [("d2 0f00 09 000000000000000000000000", nil), ("0a 0f00", "0b" + hex([UInt8](0..<22)))]),
        (
            "configuration",
            [
                ("0a 1200", "0b 0000"), ("12 1200 0100", "13"), ("0a 1200", "0b 0100"), ("12 1200 0200", "01 12 1200 13"),
                ("12 1200 01", "01 12 1200 0d"),
            ]
        ),
        (
            "prepared writes",
            [
                ("16 0f00 0000 010203", "17 0f00 0000 010203"), ("16 0f00 0300 04", "17 0f00 0300 04"), ("18 01", "19"),
                ("0a 0f00", "0b 01020304"),
            ]
        ),
        ("cancelled writes", [("16 0f00 0000 ff", "17 0f00 0000 ff"), ("18 00", "19"), ("18 01", "19"), ("0c 0f00 3a00", "0d 3a3b")]),
        (
            "prepared into the middle",
            [("16 0f00 0200 ff", "17 0f00 0200 ff"), ("18 01", "19"), ("0c 0f00 0000", "0d 0001ff" + hex([UInt8](3..<22)))]
        ),
        ("prepared past the end", [("16 0f00 3d00 ff", "17 0f00 3d00 ff"), ("18 01", "01 18 0f00 07")]),
        ("prepared too long", [("16 0f00 3c00 0102030405", "17 0f00 3c00 0102030405"), ("18 01", "01 18 0f00 0d")]),
        ("prepared where nothing may be written", [("16 0300 0000 ff", "01 16 0300 03"), ("18 02", "01 18 0000 04")]),
        ("dynamic value", [("0a 1900", "0b 07"), ("12 1900 01", "13"), ("12 1900 0102", "01 12 1900 80")]),
        ("unknown requests", [("22", "01 22 0000 06"), ("1a 00", "01 1a 0000 06"), ("00", "01 00 0000 06")]),
        (
            "requests beyond ATT_MTU",
            [
                ("16 0f00 0000" + hex([UInt8](0..<19)), "01 16 0000 04"),
                ("16 0f00 0000" + hex([UInt8](0..<18)), "17 0f00 0000" + hex([UInt8](0..<18))),
                ("02 1900", "03 0502"), ("16 0f00 0000" + hex([UInt8](0..<19)), "17 0f00 0000" + hex([UInt8](0..<19))),
            ]
        ),
        (
            "requests of the wrong length",
            [("0a 03", "01 0a 0000 04"), ("0a 030000", "01 0a 0000 04"), ("18", "01 18 0000 04"), ("04 0100", "01 04 0000 04")]
        ),
    ]

    @Test(arguments: rows) func exchange(name: String, exchange: [(request: String, response: String?)]) {
        let server = Self.server()
        for (request, response) in exchange {
            let pdu = octets(request)
            #expect(server.receive(pdu.span.bytes, from: AttributeAccess()).map(hex) == response.map { hex(octets($0)) }, "\(request)")
        }
    }

    @Test func thePreparedQueueIsBounded() {
        let server = Self.server()
        let part = octets("16 0f00 0000 01")
        for _ in 0..<ATTServer.preparedLimit { #expect(server.receive(part.span.bytes, from: AttributeAccess())?.first == 0x17) }
        #expect(server.receive(part.span.bytes, from: AttributeAccess()) == octets("01 16 0f00 09"))
    }

    /// A characteristic that takes parts gives them to the application, which checks offsets and keeps the value; those of others are
    /// assembled.
    @Test func partsGoToTheApplicationThatTakesThem() {
        let database = GATTDatabase(deviceName: "bench", isCacheable: false)
        var parted = CharacteristicDefinition(0xFFF1, properties: .write)
        parted.takesParts = true
        let service = database.add(
            ServiceDefinition(0xFFF0, characteristics: [parted, CharacteristicDefinition(0xFFF2, properties: .write)]))
        let handles = service.characteristics.map(\.value)
        var decisions: [[AttributeWrite]] = []
        database.decides = { _, writes in
            decisions.append(writes)
            return .proceed
        }
        let server = Self.server(database)
        func send(_ bytes: [UInt8]) -> [UInt8]? { server.receive(bytes.span.bytes, from: AttributeAccess()) }
        for (handle, offset, value) in [(handles[0], 30, 1), (handles[1], 0, 2), (handles[0], 0, 3), (handles[1], 1, 4)]
            as [(UInt16, UInt8, UInt8)]
        {
            #expect(send([0x16, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8), offset, 0, value])?.first == 0x17)
        }
        #expect(send([0x18, 1]) == [0x19])
        let parts = [AttributeWrite(handle: handles[0], value: [1], offset: 30), AttributeWrite(handle: handles[0], value: [3])]
        #expect(decisions == [parts + [AttributeWrite(handle: handles[1], value: [2, 4])]])
        #expect(database[handles[0]] == [] && database[handles[1]] == [2, 4])
    }

    @Test func noRequestTrapsAndEveryResponseFits() {
        var random = RandomSource(seed: 4)
        let server = Self.server()
        for round in 0..<30_000 {
            var pdu = random.octets(1 + Int(random.next() % 12))
            if round & 1 == 0 { pdu[0] = UInt8(random.next() % 0x24) }
            if pdu.count > 2, round & 2 == 0 {
                pdu[2] = 0
                pdu[1] &= 31
            }
            if let response = server.receive(pdu.span.bytes, from: AttributeAccess()) { #expect(response.count <= max(server.mtu, 23)) }
        }
    }

    static let faults: [(name: String, change: @Sendable (inout HostQuirks) -> Void, request: [String], last: String)] = [
        ("off by one", { $0.longReadOffByOne = true }, ["0c 0f00 3a00"], "0d 3b"),
        ("forgets", { $0.forgetsPreparedWrites = true }, ["16 0f00 0000 ff", "18 01", "0c 0f00 3a00"], "0d 3a3b"),
        ("lets anybody in", { $0.ignoresPermissions = true }, ["0a 1600"], "0b"),
        ("another code", { $0.errorCode = .unlikelyError }, ["0a 1400"], "01 0a 1400 0e"),
    ]

    @Test(arguments: faults)
    func faultOnPurpose(name: String, change: @Sendable (inout HostQuirks) -> Void, request: [String], last: String) {
        let server = Self.server()
        change(&server.quirks)
        var response: [UInt8]?
        for text in request {
            let pdu = octets(text)
            response = server.receive(pdu.span.bytes, from: AttributeAccess())
        }
        #expect(response.map(hex) == hex(octets(last)))
    }
}
