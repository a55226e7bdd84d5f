import BBCapture
import BBPackets
import BBTiming
import Testing

@Suite struct FormatTests {
    /// The reasons why packets of a file were not read.
    static let unread: [(type: UInt32, packet: [UInt8], says: String)] = [
        (201, [0, 0, 0, 1, 9, 1, 2, 3], "201 (Bluetooth H4 with direction), and its first packet has the type 0x09, where H4 has 1 to 5"),
        (187, [7], "187 (Bluetooth H4), and its first packet has the type 0x07"), (187, [4, 0x0E], "begins with 040E"),
        (272, [1, 2, 3], "272 (nRF Sniffer), and its first packet begins with 010203"),
        (1, [1], "its link type is 1, which is not Bluetooth's"),
    ]

    @Test(arguments: unread) func unreadPacketsHaveAReason(type: UInt32, packet: [UInt8], says: String) {
        #expect(LinkType(rawValue: type).impediment(to: packet).contains(says))
    }

    private static let controllers = ["tester", "subject"].map { CaptureInterface(name: $0, linkType: .h4WithDirection) }

    @Test(arguments: ["btsnoop", "pcapng", "pklg"])
    func everyKindOfPacketSurvivesARoundTrip(ending: String) throws {
        try withTemporaryFile(ending) { path in
            try write(sampleRecords, to: path, interfaces: Self.controllers)
            let (records, failure) = try CaptureReader.readAll(path)
            #expect(records == sampleRecords)
            #expect(failure == nil)
        }
    }

    @Test func pcapngKeepsInterfacesCommentsAndAir() throws {
        try withTemporaryFile("pcapng") { path in
            var first = sampleRecords[0]
            first.comment = "phy/update: step 3, \"PHY\" ÄÖ"
            first.isFlagged = true
            var second = sampleRecords[3]
            second.interface = 1
            let frame = CaptureRecord(time: .virtualEpoch + 7, interface: 2, content: .air(sampleFrame))
            let baseband = CaptureRecord(time: .virtualEpoch + 9, interface: 3, content: .baseband(sampleBasebandFrame))
            var noted = baseband
            noted.comment = "POLL"
            noted.content = .baseband(sampleBasebandFrame.noted(isFromCentral: false, onAir: [1, 2, 3, 4, 5, 6, 7]))
            let interfaces =
                Self.controllers + [
                    CaptureInterface(name: "air", linkType: .leLinkLayerWithHeader),
                    CaptureInterface(name: "air, BR/EDR", linkType: .bredrBaseband),
                ]
            try write([first, second, frame, baseband, noted], to: path, interfaces: interfaces)
            let reader = try CaptureReader(path: path)
            var records: [CaptureRecord] = []
            while let record = try reader.next() { records.append(record) }
            #expect(records == [first, second, frame, baseband, noted])
            #expect(reader.interfaces == interfaces)
            #expect(reader.count == 5)
        }
    }

    @Test func btsnoopIsWrittenAsOthersReadIt() throws {
        try withTemporaryFile("btsnoop") { path in
            try write([sampleRecords[1]], to: path)
            let octets = try contents(path)
            #expect(octets.prefix(16) == [0x62, 0x74, 0x73, 0x6E, 0x6F, 0x6F, 0x70, 0, 0, 0, 0, 1, 0, 0, 0x03, 0xEA])
            #expect(octets.dropFirst(16).prefix(16) == [0, 0, 0, 7, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 0])
            #expect(octets.suffix(7) == [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00])
        }
    }

    @Test(arguments: ["btsnoop", "pcapng", "pklg"])
    func aFileCutAnywhereKeepsWhatCameBefore(ending: String) throws {
        try withTemporaryFile(ending) { path in
            try write(sampleRecords, to: path, interfaces: Self.controllers)
            let whole = try contents(path)
            for length in 0..<whole.count {
                try put(whole.prefix(length), into: path)
                do {
                    let (records, failure) = try CaptureReader.readAll(path)
                    #expect(records == Array(sampleRecords.prefix(records.count)))
                    if let failure {
                        guard case .truncated(_, _, let packets) = failure else {
                            Issue.record("\(length): \(failure)")
                            continue
                        }
                        #expect(packets == records.count)
                    }
                } catch CaptureError.truncated(_, _, let packets) {
                    #expect(packets == 0)
                } catch CaptureError.unknownFormat {
                    #expect(length < 32)
                } catch CaptureError.withoutPackets {
                    #expect(length < 32, "a part of the magic number is text")
                }
            }
        }
    }

    @Test(arguments: ["btsnoop", "pcapng", "pklg"])
    func damagedFilesEndInAnErrorNotATrap(ending: String) throws {
        var random = RandomSource(seed: 1, label: ending)
        try withTemporaryFile(ending) { path in
            try write(sampleRecords, to: path, interfaces: Self.controllers)
            let whole = try contents(path)
            for _ in 0..<400 {
                var damaged = whole
                for _ in 0..<3 {
                    damaged[Int.random(in: 0..<whole.count, using: &random)] = [0, 1, 0x7F, 0xFF].randomElement(using: &random) ?? 0
                }
                try put(damaged, into: path)
                _ = try? CaptureReader.readAll(path)
            }
        }
    }

    @Test func aFullDiskIsOneTypedError() throws {
        #expect(throws: CaptureError.writeFailed(path: "/dev/full", reason: "No space left on device")) {
            try CaptureLog(path: "/dev/full", format: .btsnoop)
        }
    }

    @Test func equalRunsGiveEqualFiles() throws {
        func once(_ path: String) throws -> [UInt8] {
            let log = try CaptureLog(path: path)
            let tester = try log.addController("tester")
            for (index, record) in sampleRecords.enumerated() {
                guard case .hci(let packet, let direction?) = record.content else { continue }
                if index == 2 { log.comment("case") }
                #expect(log.record(packet, direction, interface: tester, at: Microseconds(index)) == index + 1)
            }
            try log.finish()
            return try contents(path)
        }
        try withTemporaryFile("pcapng") { path in
            let first = try once(path)
            #expect(try once(path) == first)
        }
    }

    @Test(arguments: [
        ("x.txt", CaptureError.unknownExtension(path: "x.txt")),
        ("/nonexistent/x.btsnoop", CaptureError.cannotOpen(path: "/nonexistent/x.btsnoop", reason: "No such file or directory")),
    ])
    func badNamesAreRefused(path: String, error: CaptureError) {
        #expect(throws: error) { try CaptureWriter(path: path) }
    }

    @Test func whatAFormatCannotCarryIsRefused() throws {
        try withTemporaryFile("btsnoop") { path in
            let writer = try CaptureWriter(path: path)
            #expect(throws: CaptureError.self) {
                try writer.addInterface(CaptureInterface(name: "air", linkType: .leLinkLayerWithHeader))
            }
            #expect(throws: CaptureError.self) { try writer.write(CaptureRecord(time: .virtualEpoch, content: .air(sampleFrame))) }
            try put([1, 2, 3], into: path)
            #expect(throws: CaptureError.unknownFormat(path: path)) { try CaptureReader(path: path) }
        }
    }
}
