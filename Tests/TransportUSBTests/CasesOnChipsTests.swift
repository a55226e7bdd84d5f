#if os(Linux)
    import Foundation
    import Packets
    import Testing
    import Timing
    import VirtualDongle

    /// The cases with the tag `usb` between a plain dongle and each chip, over libusb on the fake usbfs. A sample of chips and cases; all of them with SOAK=1.
    @Suite(.serialized, .onFakeUSB)
    struct CasesOnChipsTests {
        /// Cases in which a chip as the subject fails for what it is known to do wrong.
        static let deserved: [String: Set<String>] = [:]

        static let chips: [ChipProfile] = {
            var random = RandomSource(seed: 4)
            return TaggedRun.soaks ? ChipProfile.all : Array(ChipProfile.all.shuffled(using: &random).prefix(1))
        }()

        /// All of them at once would be asked for by their tag.
        private static func cases() throws -> [String] {
            guard !TaggedRun.soaks else { return ["--tag", "usb"] }
            var random = RandomSource(seed: 5)
            let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().appendingPathComponent("Conformance")
            let suites = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            let files = suites.flatMap { suite in
                let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent(suite).path)) ?? []
                return names.sorted().map { "\(suite)/\($0)" }
            }
            let tagged = files.filter { file in
                let text = (try? String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)) ?? ""
                return text.split(separator: "\n").contains { $0.hasPrefix("tags:") && $0.contains("usb") }
            }
            return tagged.shuffled(using: &random).prefix(8).map { String($0.dropLast(".yaml".count)) }
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
                guard Self.deserved[name]?.contains(testCase.id) != true else { continue }
                Issue.record("\(testCase.id) is \(testCase.verdict): \(testCase.message)")
            }
            if TaggedRun.soaks { #expect(found.contains { $0.verdict == "PASS" }, "\(TaggedRun.summary(found))") }
        }

        private static func found(_ name: String, isTester: Bool) async throws -> [TaggedRun.Document.Case] {
            let chip = try #require(ChipProfile.named(name))
            let firmware = try ChipStartTests.folder(for: BootModel.allCases)
            defer { try? FileManager.default.removeItem(atPath: firmware) }
            let (plain, other) = (DongleConduct(), DongleConduct(chip: chip))
            return try await TaggedRun.between(isTester ? other : plain, isTester ? plain : other, try cases(), firmware: firmware)
        }
    }
#endif
