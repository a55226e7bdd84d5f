#if os(Linux)
    import Foundation
    import Testing
    import BBTiming
    import BBVirtualDongle

    /// A host on a dongle with each switch, through libusb on the fake usbfs: it starts, or fails with a reason, in time, and leaves
    /// nothing behind.
    @Suite(.serialized, .onFakeUSB)
    struct QuirkStartTests {
        /// Switches with which no host starts, and a part of the reason.
        static let impediments = [
            "vendor-interface": "no such dongle", "hid-proxy": "no such dongle", "amp-protocol": "AMP controller",
            "vendor-requests": "does not answer HCI_Reset", "unplugged-after-commands": "went away",
        ]
        /// Switches with which the host starts but ends later, and a part of the reason.
        static let troubles = ["mute-after-commands": "did not answer command"]
        /// Switches that the host reports, with the kind of quirk.
        static let lessons = [
            "class-request-stalls": "stalled-request", "first-reset-unanswered": "deaf-at-start",
            "status-for-complete": "status-for-complete", "reserved-mask-refused": "small-event-mask",
            "no-advertising-sets-read": "legacy-commands-only", "advertising-sets": "legacy-commands-only",
            "no-ext-scan": "legacy-commands-only", "zero-address": "address-missing", "default-address": "address-is-default",
            "acl-debug": "debug-data", "reenumerates-on-reset": "re-enumerated", "port-reset-needed": "deaf-at-start",
            "stale-data": "stale-data",
        ]

        /// Values to use if the default value takes longer than these hosts wait, or comes at the very end of the start and not in its middle.
        static let values = ["scan-disable-slow": "300", "unplugged-after-commands": "10"]

        /// Each switch once, with its default value, in groups that share a bus and a process. All of them take minutes; without `SOAK`
        /// every third of those without a special expectation.
        static let groups: [[String]] = {
            let whole = ProcessInfo.processInfo.environment["SOAK"] != nil
            let expected = Set(impediments.keys).union(troubles.keys).union(lessons.keys)
            let seen = DongleQuirk.all.map(\.declaration).filter { $0.standard != nil && !$0.knownOf.isEmpty }
            let names = seen.indices.compactMap { index -> String? in
                let name = seen[index].name
                return whole || index % 3 == 0 || expected.contains(name) || values[name] != nil ? name : nil
            }
            return stride(from: 0, to: names.count, by: 14).map { Array(names[$0..<min($0 + 14, names.count)]) }
        }()

        @Test(arguments: groups)
        func itStartsOrSaysWhyNot(names: [String]) throws {
            let bus = try QuirkBus(names.map { name in try DongleConduct([Self.values[name].map { "\(name)=\($0)" } ?? name]) })
            let outcomes = try #require(try bus.start(timeout: 1), "it hangs with one of \(names)")
            for (name, outcome) in zip(names, outcomes) {
                #expect(Self.fits(outcome.impediment, Self.impediments[name]), "\(name): \(outcome)")
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
