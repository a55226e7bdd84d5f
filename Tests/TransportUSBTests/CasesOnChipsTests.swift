#if os(Linux)
    import Foundation
    import BBPackets
    import Testing
    import BBTiming
    import BBVirtualDongle

    /// Cases with the tag `usb` between a plain dongle and each chip, over libusb on the fake usbfs. A sample of chips and cases; all with
    /// SOAK=1.
    @Suite(.serialized, .onFakeUSB)
    struct CasesOnChipsTests {
        /// Cases, or single rounds of a case, that a chip as the subject fails because of known faults.
        static let deserved: [String: Set<String>] = [
            // Reserved bits of Event_Type are set (Core Vol 4, Part E, 7.7.65.2 and 7.7.65.13). LE_Read_Transmit_Power is reported as
            // supported, but unknown (3.1).
            "apple-broadcom": [
                "gap-scan/active-asks", "gap-scan/extended-report", "gap-scan/extended-sees-legacy", "gap-scan/report-fields",
                "hci/power-levels", "privacy/directed-to-identity", "privacy/scanner-resolves",
            ],
            // Extended scanning commands, LE_Read_Transmit_Power and LE_Set_Resolvable_Private_Address_Timeout are reported as supported,
            // but unknown (3.1).
            "actions": [
                "gap-scan/duplicate-filter-two", "gap-scan/duration", "gap-scan/extended-disallowed-after-legacy",
                "gap-scan/extended-report", "gap-scan/extended-sees-legacy", "hci/power-levels", "privacy/timeout-beyond-range",
                "privacy/timeout-range",
            ],
            // Number_Of_Completed_Packets is not sent if a reserved bit of the event mask is clear (7.3.1).
            "nrf52-zephyr": ["hci/completed-packets[size=few]", "hci/completed-packets[size=all]"],
        ]

        /// Chips that run without firmware, because none is loaded here: no case has a verdict.
        static let unloaded: Set<String> = ["mediatek"]

        /// Chips selected by `BLUEBENCH_CHIPS`, separated by commas.
        static let chips: [ChipProfile] = {
            let named = ProcessInfo.processInfo.environment["BLUEBENCH_CHIPS"]?.split(separator: ",").map(String.init)
            if let named { return ChipProfile.all.filter { named.contains($0.name) } }
            var random = RandomSource(seed: 4)
            return TaggedRun.soaks ? ChipProfile.all : Array(ChipProfile.all.shuffled(using: &random).prefix(1))
        }()

        private static let cases = Result {
            var random = RandomSource(seed: 5)
            let all = try TaggedRun.inProcess()
            return TaggedRun.soaks ? all : Array(all.shuffled(using: &random).prefix(8))
        }

        @Test(arguments: chips.map(\.name)) func asTheTesterItIsNeverTheSubjectsFail(name: String) async throws {
            let found = try await Self.found(name, isTester: true)
            for testCase in found where testCase.verdict == "FAIL" || testCase.verdict == "ERROR" {
                Issue.record("\(testCase.id) is \(testCase.verdict): \(testCase.message)")
            }
        }

        @Test(arguments: chips.map(\.name)) func asTheSubjectItFailsForItsDefectsAlone(name: String) async throws {
            let found = try await Self.found(name, isTester: false)
            for testCase in found where testCase.verdict == "FAIL" || testCase.verdict == "ERROR" {
                let deserved = Self.deserved[name] ?? []
                if deserved.contains(testCase.id) || deserved.contains(String(testCase.id.prefix { $0 != "[" })) { continue }
                Issue.record("\(testCase.id) is \(testCase.verdict): \(testCase.message)")
            }
            if Self.unloaded.contains(name) {
                #expect(found.allSatisfy { $0.verdict == "INCONC" && $0.message.contains("runs without its firmware") })
            } else if TaggedRun.soaks {
                #expect(found.contains { $0.verdict == "PASS" }, "\(TaggedRun.summary(found))")
            }
        }

        private static func found(_ name: String, isTester: Bool) async throws -> [TaggedRun.Document.Case] {
            let chip = try #require(ChipProfile.named(name))
            let firmware = try ChipStartTests.folder(for: BootModel.allCases)
            defer { try? FileManager.default.removeItem(atPath: firmware) }
            let (plain, other) = (DongleConduct(), DongleConduct(chip: chip))
            let cases = try Self.cases.get()
            let found = try await TaggedRun.between(isTester ? other : plain, isTester ? plain : other, cases, firmware: firmware)
            #expect(found.map(\.id).sorted() == cases.map(\.id).sorted())
            if TaggedRun.soaks { print("\(name) as the \(isTester ? "tester" : "subject"): \(TaggedRun.summary(found))") }
            return found
        }
    }
#endif
