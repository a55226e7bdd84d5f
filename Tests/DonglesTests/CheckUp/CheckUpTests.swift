import BBDongles
import BBPackets
import BBSimulation
import BBTiming
import BBVirtualDongle
import Testing

@Suite struct CheckUpTests {
    /// Injected switches; each is found, and no other.
    static let planted: [String] =
        refusals.flatMap { [$0, $0 + "=disallowed"] }
        + [
            // Answers.
            "no-erroneous-data-reporting", "event-filter-locks", "no-extended-features-page-2", "no-extended-features-page-2=garbage",
            "legacy-scan-unanswered", "no-scan-beside-links", "one-le-role", "le-states-lie", "status-for-complete", "wrong-opcode",
            "wrong-opcode=all", "refuses=Read_Local_Name", "silent=LE_Rand", "silent=Read_Class_Of_Device", "command-lost-after-disconnect",
            "reserved-mask-refused",
            // The start.
            "first-reset-unanswered", "port-reset-needed", "reset-first", "stale-data", "credit-zero", "reset-slow",
            // Values.
            "unclaimed-le-commands", "features-without-commands", "advertising-sets", "advertising-data-length", "absurd-sco-buffers",
            "zero-address", "default-address", "shared-address",
            // Data.
            "credits-missing", "credits-missing=64", "credits-never", "credits-excess", "credits-after-disconnect",
            "completed-packets-masked",
            "acl-debug", "acl-dead", "acl-size-hole", "event-size-hole", "event-size-hole=64", "continuation-first", "iso-flood",
            // On the air.
            "deaf-rom", "coded-deaf", "set-terminated-after-disable", "random-address-late", "encryption-change-masked",
            "payload-timeout-breaks-pairing", "links-starve-scan=1", "reports-own-address", "reserved-phy-bits", "reserved-report-bits",
            "report-228-lost", "strict-duplicates", "max-links", "max-links=7", "legacy-reports-in-extended-scan",
            // Crashes.
            "hardware-error", "coredump", "acl-dump", "mute-after-commands",
        ]

    private static let refusals = [
        "no-supported-commands", "no-stored-link-key", "no-voice-setting", "no-page-scan-type", "no-mws-transport",
        "no-authenticated-payload-timeout", "no-enhanced-synchronous", "no-transmit-power", "no-rpa-timeout", "no-encryption-key-size",
        "no-advertising-sets-read", "no-advertising-length-read", "no-ext-scan", "no-ext-create",
    ]

    @Test(arguments: planted) func namesWhatIsPlantedAndNothingElse(_ quirk: String) throws {
        let report = try CheckUpBench([quirk]).run()
        let name = String(quirk.prefix { $0 != "=" })
        #expect(report.findings.map(\.name) == [name], "\(report.findings.map { "\($0.name): \($0.text)" }), ended: \(report.ended ?? "-")")
    }

    /// Behaviour that the specification allows.
    static let legal: [[String]] = [
        [], ["vendor-events"], ["noop-first"], ["credits-by-noop"], ["command-credits=3"], ["scan-disable-slow"], ["answer-slow"],
        ["acl-buffers=310x10"], ["le-buffers=27x7"], ["shared-buffers"], ["credits-one-by-one"], ["credits-late=480"],
        ["data-overtakes-events=1"], ["acl-after-disconnect"], ["unasked-data-length"], ["suggested-length-ignored"],
        ["host-completed-refused"], ["no-simultaneous-discovery"], ["max-links=8"], ["hci-version=6", "lmp-version=6", "company=29"],
        ["lacks=LE_Read_Transmit_Power", "lacks=Read_Local_Name"], ["reads-choose-family"],
    ]

    @Test(arguments: legal) func findsNothingWhereNothingIsWrong(_ quirks: [String]) throws {
        let report = try CheckUpBench(quirks).run()
        #expect(report.findings.isEmpty, "\(report.findings.map { "\($0.name): \($0.text)" })")
        #expect(report.ended == nil && report.skipped.isEmpty, "\(report.ended ?? "") \(report.skipped)")
    }

    /// The total time of the checks is limited for a controller that answers each command late, but in time. Omitted checks are named.
    @Test(arguments: [1, 5, 20]) func allChecksTogetherHaveALimit(_ seconds: Int) throws {
        var bench = try CheckUpBench(["answer-slow=800-900"])
        bench.plan.listening = .seconds(1)
        bench.plan.limit = .seconds(seconds)
        let (report, length) = try bench.timed()
        let most = Microseconds.seconds(1 + seconds)
        #expect(length <= most + .seconds(1), "\(length)")
        #expect(report.ended == "it took longer than \(most.seconds) s", "\(report.ended ?? "-"), \(length)")
        #expect(report.skipped.contains { $0.reason == "the time for all checks was up" })
    }

    @Test(arguments: [UInt8(6), 8, 9, 11]) func findsNothingInOlderVersions(_ version: UInt8) throws {
        var bench = try CheckUpBench()
        bench.change = { $0.limit(to: version) }
        #expect(try bench.run().findings.map(\.name) == [])
    }

    @Test func withoutASecondDongleItSaysWhatItLeavesOut() throws {
        var bench = try CheckUpBench()
        bench.hasHelper = false
        let report = try bench.run()
        #expect(report.findings.map(\.name) == ["hears-nothing"])
        #expect(report.skipped.map(\.check) == ["extended hearing", "own address", "links", "links at once"])
        #expect(report.skipped.allSatisfy { $0.reason.contains("--with") })
    }

    @Test func aCloneIsSentNothingThatLocksItUp() throws {
        let report = try CheckUpBench(["hci-version=9", "hci-revision=0x3120", "lmp-subversion=0x22BB", "company=10", "event-filter-locks"])
            .run()
        #expect(report.findings.map(\.name) == ["csr-clone"])
        #expect(report.known == ["csr-clone"])
        #expect(report.skipped.map(\.check) == ["what locks some up"])
    }

    @Test func findingsHaveStableNamesOfSwitches() {
        let names = Set(DongleQuirk.all.map(\.name))
        for quirk in Self.planted { #expect(names.contains(String(quirk.prefix { $0 != "=" }))) }
        #expect(Set(Self.planted.map { $0.prefix { $0 != "=" } }).count >= 60)
    }
}
