import BBBenchTesting
import BBPackets
import BBTiming
import BBTransport
import BBVirtualDongle
import Testing

@testable import BBTransportUSB

/// Any defect of files or dongle yields one line with the cause, in time, and never a hang.
@Suite struct FirmwareFailureTests {
    private struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var model: BootModel
        var change: @Sendable (inout FirmwareBench) -> Void
        var fails: @Sendable (FirmwareError) -> Bool
        var testDescription: String { "\(model.rawValue): \(name)" }

        init(
            _ name: String, _ model: BootModel, _ change: @escaping @Sendable (inout FirmwareBench) -> Void,
            fails: @escaping @Sendable (FirmwareError) -> Bool
        ) {
            (self.name, self.model, self.change, self.fails) = (name, model, change, fails)
        }
    }

    private static func unusable(_ wanted: FirmwareImageError) -> @Sendable (FirmwareError) -> Bool {
        { if case .unusable(_, wanted) = $0 { true } else { false } }
    }

    private static func isCorrupt(_ error: FirmwareError) -> Bool {
        if case .unusable(_, .corrupt) = error { true } else { false }
    }

    private static let fragment: [UInt8] = [0x20, 0xFC]
    private static let secureSend: [UInt8] = [0x09, 0xFC]

    private static let files: [Row] = [
        Row("empty", .rtl8761b, { $0["_fw.bin"] = [] }, fails: unusable(.empty)),
        Row("another signature", .rtl8761b, { $0["_fw.bin"][0] = 0x72 }, fails: unusable(.signature)),
        Row("another ending", .rtl8761b, { $0["_fw.bin"][$0["_fw.bin"].count - 1] = 0x78 }, fails: unusable(.ending)),
        Row(
            "another chip", .rtl8761b, { $0["_fw.bin"] = RealtekImageMaker.rtl8761a.patches() },
            fails: unusable(.otherChip(project: 3, wanted: 14))),
        Row(
            "no patch for the ROM", .rtl8761b,
            {
                var maker = RealtekImageMaker.rtl8761b
                maker.romVersions = [0, 2, 7]
                $0["_fw.bin"] = maker.patches()
            }, fails: unusable(.noPatch(romVersion: 1))),
        Row(
            "no project", .rtl8761b, { $0["_fw.bin"] = $0["_fw.bin"].dropLast(7) + [0, 1, 0xFF, 0x51, 0x04, 0xFD, 0x77] },
            fails: unusable(.noProject)),
        Row("a patch beyond the end", .rtl8761b, { $0["_fw.bin"] = FirmwareBench.closed($0["_fw.bin"][..<9_000]) }, fails: isCorrupt),
        Row("only a header", .rtl8761b, { $0["_fw.bin"] = FirmwareBench.closed($0["_fw.bin"][..<14]) }, fails: isCorrupt),
        Row("many patches", .rtl8761b, { for place in 12...13 { $0["_fw.bin"][place] = 0xFF } }, fails: isCorrupt),
        Row(
            "a changed octet in the patch", .rtl8761b, { $0["_fw.bin"][50_000] ^= 1 },
            fails: { $0 == .refused(.verification, .unspecifiedError) }),
        Row("settings cut short", .rtl8761b, { $0["_config.bin"].removeLast() }, fails: unusable(.configuration)),
        Row("settings that are none", .rtl8761b, { $0["_config.bin"][0] = 0 }, fails: unusable(.configuration)),
        Row(
            "sections beyond the end", .rtl8852b, { $0["_fw.bin"] = FirmwareBench.closed($0["_fw.bin"][..<9_000], project: 20) },
            fails: isCorrupt),
        Row(
            "no parts for the ROM", .rtl8852b,
            {
                var maker = RealtekImageMaker.rtl8852b
                maker.romVersions = [3]
                $0["_fw.bin"] = maker.sections()
            }, fails: unusable(.noPatch(romVersion: 1))),
        Row("empty", .intel, { $0[".sfi"] = [] }, fails: unusable(.empty)),
        Row("another header", .intel, { $0[".sfi"][0] = 7 }, fails: unusable(.signature)),
        Row("a header of the other kind", .intel, { $0[".sfi"][10] = 2 }, fails: unusable(.signature)),
        Row("an image of an older generation", .intelAX210, { $0[".sfi"] = IntelImageMaker().image() }, fails: unusable(.signature)),
        Row(
            "a changed octet in the commands", .intel, { $0[".sfi"][5_000] ^= 1 },
            fails: { $0 == .refused(.verification, .authenticationFailure) }),
        Row(
            "a changed octet in the signature", .intel, { $0[".sfi"][500] ^= 1 },
            fails: { $0 == .refused(.verification, .authenticationFailure) }),
        Row(
            "another length in the header", .intel, { $0[".sfi"][25] ^= 0x10 },
            fails: { if case .refused(.download, .invalidHCICommandParameters) = $0 { true } else { $0 == .silent(.verification) } }),
        Row("settings cut short", .intel, { $0[".ddc"].removeLast() }, fails: unusable(.configuration)),
        Row("settings without a value", .intel, { $0[".ddc"] = [0] }, fails: unusable(.configuration)),
    ]

    private static func broken(
        _ name: String, _ model: BootModel, _ fault: TransportFault, fails: @escaping @Sendable (FirmwareError) -> Bool
    ) -> Row { Row(name, model, { $0.faults = [fault] }, fails: fails) }

    private static let dongles: [Row] = [
        broken(
            "vanishes during the download", .rtl8761b, TransportFault(.disconnect, way: .sent, prefix: fragment, after: 70),
            fails: { _ in false }),
        broken(
            "falls silent during the download", .rtl8761b, TransportFault(.silence, way: .sent, prefix: fragment, after: 70),
            fails: { $0 == .silent(.download(fragment: 71, of: 159)) }),
        broken(
            "loses one fragment", .rtl8761b, TransportFault(.drop, way: .sent, prefix: fragment, after: 3, times: 1),
            fails: { $0 == .silent(.download(fragment: 4, of: 159)) }),
        broken(
            "gets a wrong index", .rtl8761b,
            TransportFault(.corrupt(offset: 3, mask: 0x10), way: .sent, prefix: fragment, after: 9, times: 1),
            fails: { $0 == .refused(.download(fragment: 10, of: 159), .invalidHCICommandParameters) }),
        broken(
            "gets a wrong octet", .rtl8761b,
            TransportFault(.corrupt(offset: 40, mask: 1), way: .sent, prefix: fragment, after: 9, times: 1),
            fails: { $0 == .refused(.verification, .unspecifiedError) }),
        broken(
            "does not tell its ROM's version", .rtl8761b, TransportFault(.silence, way: .sent, prefix: [0x6D, 0xFC]),
            fails: { $0 == .silent(.romVersion) }),
        broken("does not answer at all", .rtl8761b, TransportFault(.silence, way: .sent, prefix: []), fails: { $0 == .silent(.version) }),
        broken(
            "does not come back from the reset", .rtl8761b, TransportFault(.silence, way: .sent, prefix: [0x03, 0x0C]),
            fails: { $0 == .silent(.reset) }),
        broken(
            "vanishes during the download", .intel, TransportFault(.disconnect, way: .sent, prefix: secureSend, after: 30),
            fails: { _ in false }),
        broken(
            "falls silent during the download", .intel, TransportFault(.silence, way: .sent, prefix: secureSend, after: 30),
            fails: { if case .silent(.download(fragment: 31, of: _)) = $0 { true } else { false } }),
        broken(
            "gets fragments in another order", .intel,
            TransportFault(.corrupt(offset: 3, mask: 3), way: .sent, prefix: secureSend, after: 1, times: 1),
            fails: { if case .refused(.download(fragment: 2, of: _), .commandDisallowed) = $0 { true } else { false } }),
        broken(
            "gives no verdict", .intel, TransportFault(.drop, way: .received, prefix: [0xFF, 0x05, 0x06]),
            fails: { $0 == .silent(.verification) }),
        broken(
            "does not start", .intel, TransportFault(.drop, way: .received, prefix: [0xFF, 0x07, 0x02]), fails: { $0 == .silent(.boot) }),
        broken(
            "does not take its settings", .intel, TransportFault(.drop, way: .sent, prefix: [0x8B, 0xFC]),
            fails: { $0 == .silent(.configuration) }),
        broken(
            "does not tell its boot parameters", .intel, TransportFault(.drop, way: .sent, prefix: [0x0D, 0xFC]),
            fails: { $0 == .silent(.bootParameters) }),
        broken(
            "answers the boot parameters with too little", .intel, TransportFault(.truncate(to: 9), way: .received, prefix: [0x0E, 0x1A]),
            fails: { $0 == .silent(.bootParameters) }),
    ]

    @Test(arguments: files + dongles) private func eachFailureIsOneLineInTime(row: Row) throws {
        var bench = FirmwareBench(row.model)
        row.change(&bench)
        let result = try bench.start()
        let end = try #require(result.end, "it was loaded all the same: \(String(describing: result.outcome))")
        if let failure = result.failure {
            #expect(row.fails(failure), "\(failure)")
            #expect(end == .unprepared("virtual 0: \(failure)"))
        } else {
            #expect(row.name.hasPrefix("vanishes") && end == .lost("virtual 0"), "\(end)")
        }
        #expect(!end.description.contains("\n") && end.description.count > 15)
        #expect(result.duration < .seconds(10))
        #expect(result.hits.allSatisfy { $0 > 0 })
    }

    @Test(arguments: BootModel.allCases) func aFileCutShortAnywhereIsRefused(model: BootModel) throws {
        var random = RandomSource(seed: 3, label: model.rawValue)
        let whole = FirmwareBench(model).files[0]
        let edges = [
            0, 1, 7, 8, 13, 14, 20, 22, 30, 643, 644, 645, 647, 648, 963, 964, 965, 968, whole.octets.count - 4, whole.octets.count - 1,
        ]
        let places = edges + (0..<20).map { _ in Int.random(in: 0..<whole.octets.count, using: &random) }
        for place in places {
            var bench = FirmwareBench(model)
            bench.files[0].octets.removeSubrange(place...)
            let result = try bench.start()
            #expect(result.outcome == nil && result.end != nil, "cut at \(place)")
            switch result.failure {
            case .unusable?, .silent(.verification)?: break
            default: Issue.record("cut at \(place): \(String(describing: result.failure))")
            }
        }
    }

    /// A dongle left in the middle of a download accepts a complete one at the next start.
    @Test(arguments: [BootModel.rtl8761b, .intel]) func aSecondStartSucceedsAfterAFailedOne(model: BootModel) throws {
        let loop = RunLoop()
        let bench = FirmwareBench(model)
        let simulated = NoControllers()
        let backend = BootloaderBackend(simulated, model: model, on: loop)
        let pipe = try backend.pipe(to: 0, on: loop)
        let sink = Collecting()
        try pipe.open(sink)
        try loop.run {
            // Half a download by hand, then the reset of the start-up ladder, then a loader.
            var loader = FirmwareLoader()
            var actions = loader.start()
            var sent = 0
            while sent < 40, let action = actions.first {
                actions.removeFirst()
                switch action {
                case .send(let packet, _):
                    pipe.send(packet)
                    sent += 1
                    try await loop.sleep(for: 10)
                    for packet in sink.take() { actions += loader.received(packet) }
                case .read: actions += loader.found(FirmwareFile(path: "x", octets: bench.files[0].octets), nil)
                default: break
                }
            }
            #expect(sent == 40)
            pipe.send(StartupLadder.reset)
            if model == .intel {
                pipe.send(
                    HCIPacket(command: HCICommands.IntelReset(resetType: 1, patchEnable: 1, ddcReload: 1, bootOption: 0, bootAddress: 0)))
            }
            try await loop.sleep(for: 10)
            _ = sink.take()
            let fragment = bench.firstFragment
            pipe.send(fragment)
            try await loop.sleep(for: 10)
            #expect(sink.take().first?.bytes[5] == 0)
        }
    }
}

private final class Collecting: HCITransportSink {
    private var packets: [HCIPacket] = []
    func received(_ packet: HCIPacket, at time: Microseconds) { packets.append(packet) }
    func closed(_ reason: TransportError) {}
    func take() -> [HCIPacket] {
        defer { packets = [] }
        return packets
    }
}

/// Never used.
private final class NoControllers: DongleBackend {
    var count: Int { 1 }
    func attach(_ index: Int, to end: any HCITransport) throws { throw TransportError.unreachable("nothing") }
}

extension FirmwareBench {
    /// The first fragment of a download.
    fileprivate var firstFragment: HCIPacket {
        model == .intel
            ? HCIPacket(command: HCICommands.IntelSecureSend(fragmentType: 0, data: Array(files[0].octets[..<128])))
            : HCIPacket(command: HCICommands.RealtekDownload(index: 0, data: [UInt8](repeating: 0, count: 252)))
    }
}
