#if os(Linux)
    import Foundation
    import Testing
    import BBVirtualDongle

    /// The check-up of dongles over libusb on the fake usbfs: only the injected USB faults are found.
    @Suite(.serialized, .onFakeUSB)
    struct CheckUpOverUSBTests {
        /// Switches that a check-up over USB finds. All of them take minutes; without `SOAK` a sample.
        static let planted: [String] = sample([
            "stray-octet", "second-open-deaf", "first-reset-unanswered", "port-reset-needed", "stale-data", "class-request-stalls",
            "reenumerates-on-reset", "data-in-dead", "waits-for-zlp",
        ])

        /// USB behaviour that the specification allows.
        static let legal: [String] = sample([
            "composite", "hci-interface", "extra-interfaces", "other-endpoints", "event-packet-size", "high-speed", "no-voice-interface",
            "no-serial", "strings-stall", "split-events", "joined-events", "noop-first", "data-overtakes-events=1-2",
        ])

        private static func sample(_ names: [String]) -> [String] {
            ProcessInfo.processInfo.environment["SOAK"] != nil ? names : names.enumerated().filter { $0.offset % 4 == 0 }.map(\.element)
        }

        private struct Document: Decodable {
            struct Device: Decodable {
                struct CheckUp: Decodable {
                    struct Finding: Decodable {
                        var name: String
                        var text: String
                    }
                    var findings: [Finding]
                    var ended: String?
                }
                var impediment: String?
                var checkUp: CheckUp?
            }
            var devices: [Device]
        }

        private func findings(of quirk: String) throws -> [String] {
            let bus = try QuirkBus([try DongleConduct([quirk])])
            let program = try SpawnedProgram(
                ["devices", "usb:1-1", "--probe", "--json", "--listen", "1", "--usb-timeout", "0.5"], folder: bus.folder)
            #expect(try program.end(on: bus.loop))
            program.reap()
            let text = program.output
            let json = text.firstIndex(of: "{").map { String(text[$0...]) } ?? ""
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            let document = try decoder.decode(Document.self, from: Data(json.utf8))
            let device = try #require(document.devices.first, "\(text)")
            #expect(device.impediment == nil && device.checkUp?.ended == nil, "\(text)")
            #expect(bus.server.leftBehind.pending + bus.server.leftBehind.claims == 0)
            // There is no advertiser here.
            return device.checkUp?.findings.map(\.name).filter { $0 != "hears-nothing" } ?? []
        }

        @Test(arguments: planted) func namesWhatIsPlantedAndNothingElse(quirk: String) throws {
            #expect(try findings(of: quirk) == [quirk])
        }

        @Test(arguments: legal) func findsNothingWhereNothingIsWrong(quirk: String) throws { #expect(try findings(of: quirk) == []) }
    }
#endif
