import BBCapture
import BBPackets
import BBTiming
import Testing

@Suite struct NameTests {
    private func att(_ octets: [UInt8]) -> HCIPacket {
        let length = UInt8(octets.count)
        return HCIPacket(.acl, [0x40, 0x20, length + 4, 0, length, 0, 4, 0] + octets)
    }

    private func connected(_ address: UInt8) -> HCIPacket {
        HCIPacket(
            event: HCIEvents.LEConnectionComplete(
                status: .success, connectionHandle: ConnectionHandle(0x40), peerAddress: BDADDR(UInt64(address)), connectionInterval: 24))
    }

    /// Discovery of Heart Rate with a measurement and its descriptor.
    private var discovery: [(HCIPacket, CaptureDirection)] {
        [
            (att([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28]), .hostToController),
            (att([0x11, 6, 0x10, 0, 0x14, 0, 0x0D, 0x18]), .controllerToHost),
            (att([0x08, 0x10, 0, 0x14, 0, 0x03, 0x28]), .hostToController),
            (att([0x09, 7, 0x11, 0, 0x10, 0x12, 0, 0x37, 0x2A]), .controllerToHost),
            (att([0x04, 0x13, 0, 0x13, 0]), .hostToController), (att([0x05, 1, 0x13, 0, 0x02, 0x29]), .controllerToHost),
        ]
    }

    private let uses: [(octets: [UInt8], direction: CaptureDirection, text: String)] = [
        ([0x1B, 0x12, 0, 0x00, 0x48], .controllerToHost, "0x0012 (Heart Rate Measurement)"),
        ([0x12, 0x13, 0, 1, 0], .hostToController, "0x0013 (Client Characteristic Configuration of Heart Rate Measurement)"),
        ([0x0A, 0x11, 0], .hostToController, "0x0011 (Heart Rate Measurement declaration)"),
        ([0x0A, 0x10, 0], .hostToController, "0x0010 (Heart Rate service)"),
        // The same handle at the other end, whose services are unknown.
        ([0x0A, 0x12, 0], .controllerToHost, "Attribute_Handle=0x0012"),
    ]

    private func line(_ decoder: inout PacketDecoder, _ packet: HCIPacket, _ direction: CaptureDirection) -> String {
        TextBuffer.text { decoder.write(CaptureRecord(time: .virtualEpoch, content: .hci(packet, direction)), to: &$0) }
    }

    @Test func attributesAreNamedAfterDiscovery() {
        var decoder = PacketDecoder(names: true)
        var plain = PacketDecoder()
        _ = line(&decoder, connected(1), .controllerToHost)
        // A notification before discovery has no name, also not from the cache after it.
        #expect(line(&decoder, att(uses[0].octets), .controllerToHost).contains("Attribute_Handle=0x0012 "))
        for (packet, direction) in discovery { _ = line(&decoder, packet, direction) }
        for (octets, direction, text) in uses {
            let shown = line(&decoder, att(octets), direction)
            #expect(shown.contains(text), "\(shown)")
            #expect(!line(&plain, att(octets), direction).contains("("), "names are off by default")
        }
        #expect(!line(&decoder, att(uses[4].octets), .controllerToHost).contains("("))
    }

    @Test func attributesAreKnownInTheNextConnectionOfTheSameDeviceOnly() {
        var decoder = PacketDecoder(names: true)
        _ = line(&decoder, connected(1), .controllerToHost)
        for (packet, direction) in discovery { _ = line(&decoder, packet, direction) }
        let end = HCIPacket(.event, [0x05, 0x04, 0x00, 0x40, 0x00, 0x13])
        for (address, isKnown) in [(UInt8(2), false), (1, true)] {
            _ = line(&decoder, end, .controllerToHost)
            _ = line(&decoder, connected(address), .controllerToHost)
            #expect(line(&decoder, att(uses[0].octets), .controllerToHost).contains("Heart Rate") == isKnown)
        }
    }

    @Test func devicesAreNamedAsTheyAdvertise() {
        var decoder = PacketDecoder(names: true)
        // ADV_IND of 00:00:00:00:00:01 with the name "A\u{1B}b".
        let report: [UInt8] = [0x3E, 17, 0x02, 1, 0, 0, 1, 0, 0, 0, 0, 0, 5, 4, 0x09, 0x41, 0x1B, 0x62, 0xC0]
        let text = line(&decoder, HCIPacket(.event, report), .controllerToHost)
        #expect(text.contains("Complete_Local_Name"), "\(text)")
        #expect(line(&decoder, connected(1), .controllerToHost).contains("Connection_Handle=0x0040 (A\\u{1B}b)"))
        #expect(line(&decoder, att([0x0A, 1, 0]), .hostToController).hasPrefix("ACL 0x0040 (A\\u{1B}b) ATT_READ_REQ"))
        #expect(line(&decoder, HCIPacket(.event, [0x05, 0x04, 0x00, 0x40, 0x00, 0x13]), .controllerToHost).contains("0x0040 (A"))
        _ = line(&decoder, connected(2), .controllerToHost)
        #expect(line(&decoder, att([0x0A, 1, 0]), .hostToController).hasPrefix("ACL 0x0040 ATT_READ_REQ"))
    }

    /// Supplement to the Core Specification, Part A, 1.23.
    @Test func encryptedAdvertisingDataIsShownInItsParts() {
        var decoder = PacketDecoder(names: false)
        let structure: [UInt8] = [13, 0x31, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
        let report: [UInt8] = [0x3E, 26, 0x02, 1, 0, 0, 1, 0, 0, 0, 0, 0, 14] + structure + [0xC0]
        let text = line(&decoder, HCIPacket(.event, report), .controllerToHost)
        for part in ["Encrypted_Advertising_Data", "Randomizer=", "Encrypted_Payload=", "MIC="] {
            #expect(text.contains(part), "\(text)")
        }
    }

    /// Connections with two devices that advertise, under changing names, and are discovered, in any order.
    @Test("A line with names that is looked up is the one that would be decoded", arguments: [1, 2, 3] as [UInt64])
    func knownLines(seed: UInt64) {
        let reports = [("A", UInt8(1)), ("B", 1), ("C", 2)].map { name, address in
            [0x3E, 15, 0x02, 1, 0, 0, address, 0, 0, 0, 0, 0, 3, 2, 0x09] + Array(name.utf8) + [0xC0]
        }
        let other: [(HCIPacket, CaptureDirection)] =
            reports.map { (HCIPacket(.event, $0), .controllerToHost) } + [1, 2].map { (connected($0), .controllerToHost) } + [
                (HCIPacket(.event, [0x05, 0x04, 0x00, 0x40, 0x00, 0x13]), .controllerToHost),
                (att([0x01, 0x08, 0x10, 0, 0x0A]), .controllerToHost),
                (att([0x08, 1, 0, 0xFF, 0xFF, 0x00, 0x2A]), .hostToController), (att([0x09, 3, 3, 0, 0x44]), .controllerToHost),
                (HCIPacket(.acl, [0x40, 0x00, 7, 0, 3, 0, 6, 0, 5, 8, 0]), .hostToController),
            ]
        let packets = discovery + uses.map { (att($0.octets), $0.direction) } + other
        var random = RandomSource(seed: seed)
        var (decoding, writing) = (PacketDecoder(names: true), PacketDecoder(names: true))
        var named = 0
        for _ in 0..<3_000 {
            let (packet, direction) = packets[Int.random(in: packets.indices, using: &random)]
            let text = line(&writing, packet, direction)
            #expect(text == decoding.decode(packet, direction).description)
            if text.contains("(Heart Rate") { named += 1 }
        }
        #expect(named > 100)
    }

    /// The capture begins in the middle of a connection, so nothing says with whom.
    @Test func aLineIsNamedAfterDiscoveryAlsoIfItWasShownWithoutNames() {
        var decoder = PacketDecoder(names: true)
        let error = att([0x01, 0x08, 0x10, 0, 0x0A])
        #expect(line(&decoder, error, .controllerToHost).contains("Attribute_Handle_In_Error=0x0010 Error"))
        for (packet, direction) in discovery { _ = line(&decoder, packet, direction) }
        #expect(line(&decoder, error, .controllerToHost).contains("0x0010 (Heart Rate service)"))
    }
}
