#if os(Linux)
    import Foundation
    import Testing
    import BBTiming
    import BBVirtualDongle

    /// A host on each chip that a virtual dongle can emulate, through libusb on the fake usbfs: it starts, or fails with a reason, in time,
    /// and leaves nothing behind.
    @Suite(.serialized, .onFakeUSB)
    struct ChipStartTests {
        struct Expected: Sendable {
            /// A part of the reason why no host starts.
            var impediment: String?
            /// Kinds of quirks that the host reports.
            var lessons: Set<String> = []
        }

        private static let starts = Expected()
        private static func learns(_ kinds: String...) -> Expected { Expected(lessons: Set(kinds)) }
        private static let noController = Expected(impediment: "LE_Set_Random_Address ended with Unknown_HCI_Command")
        private static func withheld(_ file: String) -> Expected {
            Expected(impediment: "runs only its boot loader and needs the firmware \(file)")
        }
        private static func needs(_ file: String) -> Expected { Expected(impediment: "needs firmware: \(file)") }

        /// Results with an empty firmware folder.
        static let withoutFirmware: [String: Expected] = [
            "broadcom": starts, "apple-broadcom": starts, "qualcomm": learns("debug-data"),
            "mediatek": learns("address-missing", "firmware-missing"),
            "realtek": learns("deaf-at-start"), "intel": starts, "csr8510": starts, "csr-clone": starts,
            "barrot": starts, "actions": learns("legacy-commands-only"), "nrf52-zephyr": learns("address-missing"), "packetcraft": starts,
            "realtek-rom": needs("rtl_bt/rtl8761bu_fw.bin"), "rtl8761b": needs("rtl_bt/rtl8761bu_fw.bin"),
            "rtl8852b": needs("rtl_bt/rtl8852bu_fw.bin"), "intel-boot": needs("intel/ibt-20-1-3.sfi"),
            "intel-8260": needs("intel/ibt-11-5.sfi"), "intel-ax210": needs("intel/ibt-0041-0041.sfi"),
            "serialised": starts,
        ]

        /// Results of chips that need firmware, without firmware loading. Some work as a controller with their ROM.
        static let unloaded: [String: Expected] = [
            "realtek-rom": starts, "rtl8761b": noController, "rtl8852b": noController, "intel-boot": withheld("intel/ibt-20-1-3.sfi"),
            "intel-8260": withheld("intel/ibt-11-5.sfi"), "intel-ax210": withheld("intel/ibt-0041-0041.sfi"),
        ]

        static let waiting = ChipProfile.all.filter { $0.boot != nil && $0.needsLoader }.map(\.name)

        @Test func everyChipIsInTheTable() {
            #expect(Set(Self.withoutFirmware.keys) == Set(ChipProfile.all.map(\.name)))
            #expect(Set(Self.unloaded.keys) == Set(Self.waiting))
        }

        @Test func eachStartsOrNamesItsFirmware() throws {
            let folder = try Self.folder(for: [])
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try Self.start(Self.withoutFirmware, firmware: folder)
        }

        @Test func thoseThatNobodyLoadsSayWhatTheyAre() throws { try Self.start(Self.unloaded, firmware: "none") }

        @Test func thoseThatAreLoadedStart() throws {
            let folder = try Self.folder(for: BootModel.allCases)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let outcomes = try Self.start(Dictionary(uniqueKeysWithValues: Self.waiting.map { ($0, Self.starts) }), firmware: folder)
            for (name, outcome) in outcomes { #expect(outcome.startup?.contains("it runs firmware") == true, "\(name): \(outcome)") }
        }

        @discardableResult
        private static func start(_ expected: [String: Expected], firmware: String) throws -> [String: StartOutcome] {
            let chips = ChipProfile.all.filter { expected[$0.name] != nil }
            let bus = try QuirkBus(chips.map { DongleConduct(chip: $0) })
            let outcomes = try #require(try bus.start(firmware: firmware, timeout: 1), "it hangs")
            for (chip, outcome) in zip(chips, outcomes) {
                let row = expected[chip.name] ?? starts
                #expect(
                    row.impediment.map { outcome.impediment?.contains($0) == true } ?? (outcome.impediment == nil),
                    "\(chip.name): \(outcome)")
                #expect(outcome.trouble == nil && outcome.isClean, "\(chip.name): \(outcome)")
                #expect(row.lessons.isSubset(of: outcome.learned.keys), "\(chip.name): \(outcome)")
            }
            #expect(bus.server.leftBehind.pending + bus.server.leftBehind.claims == 0)
            return Dictionary(uniqueKeysWithValues: zip(chips.map(\.name), outcomes))
        }

        static func folder(for models: [BootModel]) throws -> String {
            let root = FileManager.default.temporaryDirectory.appendingPathComponent("fw\(UInt64.random(in: 0 ... .max))").path
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
            for file in models.flatMap(\.madeFirmware) {
                let url = URL(fileURLWithPath: root + "/" + file.name)
                try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(file.octets).write(to: url)
            }
            return root
        }
    }
#endif
