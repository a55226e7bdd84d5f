import BBPackets
import BBTiming
import BBTransport
import Testing

@testable import BBVirtualDongle

/// Each switch changes the behaviour of a dongle.
@Suite struct SwitchesActTests {
    /// Values for switches without a default, or whose default takes effect too late for a short script.
    static let values = [
        "refuses": "LE_Set_PHY/0x0C", "lacks": "LE_Read_Buffer_Size", "silent": "Read_Buffer_Size", "pretends": "LE_Set_PHY",
        "commands": "FFFF", "le-features": "FF01", "lmp-features": "875bffdbfe8fffff", "supported-states": "ff", "hci-version": "9",
        "hci-revision": "0x3120", "lmp-version": "9", "lmp-subversion": "0x22BB", "company": "10", "usb-id": "0a12:0001",
        "usb-release": "0x2520", "max-links": "1", "links-starve-scan": "1", "credits-never": "0", "scan-disable-slow": "100",
        "advertising-sets": "0", "address-command-lies": "csr", "address-command": "csr", "event-size-hole": "40",
        "credits-late": "40", "acl-buffers": "310x10", "split-events": "8", "unplugged-after-commands": "2", "unplugged-after-data": "1",
        "leaves-in-load": "0bda:8772",
    ]

    static func text(_ quirk: DongleQuirk) -> String { values[quirk.name].map { "\(quirk.name)=\($0)" } ?? quirk.name }

    /// Results of each script without switches.
    private static let plain: [[String]] = StageScripts.all.map { (try? ConductStage.play($0, DongleConduct())) ?? [] }

    /// Voice needs a link that the scripts do not have; it has its own test.
    static let packetSwitches = DongleQuirk.all.filter {
        $0.declaration.part != .usb && !$0.declaration.knownOf.isEmpty && $0.name != "voice-padding"
    }.map { text($0) }

    @Test(arguments: packetSwitches) func onPackets(switch text: String) throws {
        #expect(Self.plain.allSatisfy { $0.count > 20 })
        let conduct = try DongleConduct([text])
        var differs = false
        for (script, plain) in zip(StageScripts.all, Self.plain) where !differs {
            differs = try ConductStage.play(script, conduct) != plain
        }
        #expect(differs, "\(text) changes nothing")
    }

    /// The feature is gone, and nothing else changes: Write_Inquiry_Mode still works.
    @Test func rssiInquiryIsNotClaimed() throws {
        for (script, plain) in zip(StageScripts.all, Self.plain) {
            let changed = zip(try ConductStage.play(script, DongleConduct(["unclaimed-rssi-inquiry"])), plain).filter { $0 != $1 }
            #expect(changed.count <= 1 && changed.allSatisfy { $0.0.count == $0.1.count })
        }
    }

    @Test func theSameSwitchAndSeedGiveTheSameRun() throws {
        let conduct = try DongleConduct(["data-overtakes-events=1-9", "vendor-events", "acl-debug"])
        #expect(try ConductStage.play(StageScripts.legacy, conduct) == ConductStage.play(StageScripts.legacy, conduct))
    }

    @Test func voiceIsPadded() throws {
        let rules = try DongleConduct(["voice-padding"]).makeRules()
        let loop = RunLoop()
        let (_, end) = InProcessTransport.pair(on: loop)
        let transport = ConductTransport(end, conduct: DongleConduct(), on: loop)
        let wire = ConductWire(transport: transport, position: 0)
        let voice = HCIData.SynchronousData(connectionHandle: 1, data: [UInt8](repeating: 7, count: 60))
        let padded = try #require(rules.first?.toHost(HCIPacket(.sco, voice.parameters), wire))
        #expect(try HCIData.SynchronousData(prefixOf: padded.bytes).data == [UInt8](repeating: 0, count: 20) + voice.data)
        withExtendedLifetime(transport) {}
    }

    static let requestSwitches = DongleQuirk.all.filter { $0.declaration.part == .usb }.map { text($0) }

    @Test(arguments: requestSwitches) func onRequests(switch text: String) throws {
        let base = text == "serialised-mode" ? [] : ["serialised-mode"]
        let plain = try USBStage.play(DongleConduct(base))
        #expect(try USBStage.play(DongleConduct(base + [text])) != plain, "\(text) changes nothing")
    }
}

/// A dongle whose controller and host follow a script; packets received by both.
enum USBStage {
    private final class Controller: HCITransportSink {
        let pipe: any HCITransport
        var log: [String] = []

        init(_ pipe: any HCITransport) throws {
            self.pipe = pipe
            try pipe.open(self)
        }

        func received(_ packet: HCIPacket, at time: Microseconds) {
            log.append("controller \(packet.kind) \(Hex.octets(packet.bytes))")
            guard let opcode = packet.commandOpcode else { return }
            pipe.send(HCIPacket(completeOpcode: opcode, returns: [UInt8](repeating: 0, count: 11)))
            pipe.send(HCIPacket(event: HCIEvents.VendorSpecific(data: [1, 2, 3])))
        }

        func closed(_ reason: TransportError) { log.append("closed") }
    }

    static func play(_ conduct: DongleConduct) throws -> [String] {
        let loop = RunLoop()
        let (host, end) = InProcessTransport.pair(on: loop)
        let controller = try Controller(end)
        let dongle = try USBDongle(
            descriptors: conduct.describe(serialNumber: "BB-1"), pipe: host, loop: loop, conduct: conduct.usb)
        var log = ["\(dongle.descriptors.device)", "\(dongle.descriptors.configuration)"]
        dongle.complete = { log.append("\($0.id) \($0.status) \($0.data) \($0.lostPackets)") }
        dongle.onLeaving = { log.append("leaves: \($0.map { "\($0.vendorID):\($0.productID)" } ?? "for good")") }
        for index in 0...3 { request(dongle, UInt32(index), [0x80, 6, UInt8(index), 3, 9, 4, 255, 0]) }
        try loop.run {
            try await transfers(dongle, controller.pipe, loop)
            dongle.suspend()
            try await loop.sleep(for: .milliseconds(5))
            dongle.submit(USBRequest(id: 80, endpoint: 1, isIn: true, length: 64))
            request(dongle, 81, [0x20, 0, 0, 0, 0, 0, 3, 0], [0x09, 0x10, 0])
            try await loop.sleep(for: .milliseconds(5))
            // After a reset of the port, setting 1 of the first interface.
            dongle.reset()
            request(dongle, 82, [0x01, 0x0B, 1, 0, 0, 0, 0, 0])
            try await loop.sleep(for: .milliseconds(5))
            for id in 0..<200 { dongle.cancel(UInt32(id)) }
        }
        return log + controller.log
    }

    private static func request(_ dongle: USBDongle, _ id: UInt32, _ setup: [UInt8], _ data: [UInt8] = []) {
        dongle.submit(USBRequest(id: id, endpoint: 0, isIn: setup[0] & 0x80 != 0, setup: setup, data: data, length: 255))
    }

    private static func transfers(_ dongle: USBDongle, _ pipe: any HCITransport, _ loop: RunLoop) async throws {
        for id in 10..<20 { dongle.submit(USBRequest(id: UInt32(id), endpoint: 1, isIn: true, length: 64)) }
        for id in 20..<24 { dongle.submit(USBRequest(id: UInt32(id), endpoint: 2, isIn: true, length: 64)) }
        // Read_Local_Extended_Features, Reset, and four vendor commands.
        for (id, opcode) in [(30, 0x1004), (31, 0x0C03), (32, 0xFC20), (33, 0xFC20), (34, 0xFC20), (35, 0xFC20)] {
            request(dongle, UInt32(id), [0x20, 0, 0, 0, 0, 0, 3, 0], [UInt8(opcode & 0xFF), UInt8(opcode >> 8), 0])
            try await loop.sleep(for: .milliseconds(4))
        }
        request(dongle, 40, [0x40, 0, 0, 0, 0, 0, 3, 0], [0x09, 0x10, 0])
        pipe.send(HCIPacket(acl: 1, .first, [1, 2, 3]))
        dongle.submit(USBRequest(id: 41, endpoint: 2, isIn: false, data: HCIPacket(acl: 1, .first, [UInt8](repeating: 1, count: 60)).bytes))
        request(dongle, 42, [0x01, 11, 1, 0, 1, 0, 0, 0])
        pipe.send(HCIPacket(.sco, HCIData.SynchronousData(connectionHandle: 1, data: [UInt8](repeating: 5, count: 240)).parameters))
        try await loop.sleep(for: .milliseconds(1))
        let frames = [Int](repeating: 9, count: 30)
        dongle.submit(USBRequest(id: 43, endpoint: 3, isIn: true, length: 270, packetLengths: frames))
        try await loop.sleep(for: .milliseconds(40))
        request(dongle, 44, [0x01, 11, 1, 0, 0, 0, 0, 0])
        request(dongle, 45, [0x01, 11, 0, 0, 1, 0, 0, 0])
        request(dongle, 46, [0x21, 0xE0, 0, 0, 0, 0, 0, 0], [0x09, 0x10, 0])
        try await loop.sleep(for: .milliseconds(4))
        // An event of one full USB packet, with no other one after it.
        for id in 100..<110 { dongle.submit(USBRequest(id: UInt32(id), endpoint: 1, isIn: true, length: 64)) }
        try await loop.sleep(for: .milliseconds(4))
        pipe.send(HCIPacket(event: HCIEvents.VendorSpecific(data: [UInt8](repeating: 6, count: 14))))
        try await loop.sleep(for: .milliseconds(4))
        await modes(dongle, pipe, loop)
    }

    /// Switches the mode with an event and data pending, and uses the bulk endpoints in both modes.
    private static func modes(_ dongle: USBDongle, _ pipe: any HCITransport, _ loop: RunLoop) async {
        for id in [Int](10..<24) + [Int](100..<110) { dongle.cancel(UInt32(id)) }
        let long = HCIPacket(acl: 1, .first, [UInt8](repeating: 3, count: 123))
        pipe.send(HCIPacket(event: HCIEvents.VendorSpecific(data: [4])))
        pipe.send(long)
        try? await loop.sleep(for: .milliseconds(4))
        for (round, alternate) in [UInt8(1), 0].enumerated() {
            let first = UInt32(50 + 20 * round)
            request(dongle, first, [0x01, 11, alternate, 0, 0, 0, 0, 0])
            for id in first + 1..<first + 9 { dongle.submit(USBRequest(id: id, endpoint: 2, isIn: true, length: 512)) }
            dongle.submit(USBRequest(id: first + 9, endpoint: 1, isIn: true, length: 64))
            pipe.send(HCIPacket(event: HCIEvents.VendorSpecific(data: [5])))
            for _ in 0..<2 { pipe.send(HCIPacket(acl: 1, .first, [UInt8](repeating: 6, count: alternate == 1 ? 59 : 60))) }
            request(dongle, first + 10, [0x20, 0, 0, 0, 0, 0, 3, 0], [0x09, 0x10, 0])
            request(dongle, first + 11, [0x01, 11, 2, 0, 1, 0, 0, 0])
            dongle.submit(USBRequest(id: first + 12, endpoint: 2, isIn: false, data: alternate == 1 ? long.serialised : long.bytes))
            try? await loop.sleep(for: .milliseconds(4))
        }
    }
}
