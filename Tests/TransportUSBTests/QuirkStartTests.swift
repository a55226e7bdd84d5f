#if os(Linux)
    import Foundation
    import Testing
    import Timing
    import VirtualDongle

    /// A host on a dongle with each switch, through libusb on the fake usbfs: it starts, or gives up with a reason, in time, and leaves nothing behind.
    @Suite(.serialized, .onFakeUSB)
    struct QuirkStartTests {
        /// Switches with which no host starts, and a part of the reason.
        static let obstacles = [
            "vendor-interface": "no such dongle", "hid-proxy": "no such dongle", "amp-protocol": "AMP controller",
            "vendor-requests": "does not answer HCI_Reset",
        ]
        /// Switches with which it starts and comes to an end, and a part of the reason.
        static let troubles = ["unplugged-after-commands": "went away", "mute-after-commands": "did not answer command"]
        /// Switches that the host tells of, and by which kind.
        static let lessons = [
            "class-request-stalls": "stalled-request", "first-reset-unanswered": "deaf-at-start",
            "status-for-complete": "status-for-complete", "reserved-mask-refused": "small-event-mask",
            "no-advertising-sets-read": "legacy-commands-only", "zero-advertising-sets": "legacy-commands-only",
            "no-ext-scan": "legacy-commands-only", "zero-address": "address-missing", "default-address": "address-is-default",
            "acl-debug": "debug-data",
        ]

        /// Switches about the port, which this bus does not pass on: `ReenumerationTests` and `StaleDongleTests` have their like.
        static let elsewhere: Set<String> = ["reenumerates-on-reset", "port-reset-needed"]

        /// Each switch once, with its standard value, in groups that share a bus and a process.
        static let groups: [[String]] = {
            let names = DongleQuirk.all.filter { $0.standard != nil && !elsewhere.contains($0.name) }.map(\.name)
            return stride(from: 0, to: names.count, by: 21).map { Array(names[$0..<min($0 + 21, names.count)]) }
        }()

        @Test(arguments: groups)
        func itStartsOrSaysWhyNot(names: [String]) throws {
            let bus = try QuirkBus(names.map { try DongleConduct([$0]) })
            let outcomes = try #require(try bus.start(patience: 0.6, within: .seconds(60)), "it hangs with one of \(names)")
            for (name, outcome) in zip(names, outcomes) {
                #expect(Self.fits(outcome.obstacle, Self.obstacles[name]), "\(name): \(outcome)")
                #expect(Self.fits(outcome.trouble, Self.troubles[name]), "\(name): \(outcome)")
                #expect(outcome.isClean, "\(name): \(outcome)")
                if let kind = Self.lessons[name] { #expect(outcome.learned[kind] != nil, "\(name): \(outcome)") }
            }
            #expect(bus.server.leftBehind.pending + bus.server.leftBehind.claims == 0)
        }

        private static func fits(_ text: String?, _ expected: String?) -> Bool {
            expected.map { text?.contains($0) == true } ?? (text == nil)
        }
    }
#endif
