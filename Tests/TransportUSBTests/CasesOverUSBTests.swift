#if os(Linux)
    import Foundation
    import Packets
    import Testing
    import VirtualDongle

    /// The cases with the tag `usb`, driven by `bluebench run` over libusb, tester and subject on dongles of a fake usbfs.
    @Suite(
        .enabled(if: isPreloadInstalled, "umockdev is not installed"),
        .enabled(if: FileManager.default.isExecutableFile(atPath: programUnderTest), "bluebench was not built beside the tests"))
    struct CasesOverUSBTests {
        @Test func theVerdictsAreThoseInProcess() async throws {
            let expected = try #require(try TaggedRun.inProcess())
            let found = try await TaggedRun.overUSB(expected)
            TaggedRun.compare(found, with: expected)
        }

        @Test(.enabled(if: TaggedRun.soaks, "set SOAK=1: it takes minutes and all cores"))
        func aBusyMachineChangesNoVerdict() async throws {
            let expected = try #require(try TaggedRun.inProcess())
            let load = try BusyMachine()
            defer { load.end() }
            for turn in 1...10 {
                let found = try await TaggedRun.overUSB(expected)
                TaggedRun.compare(found, with: expected)
                print("turn \(turn) beside \(load.count) busy processes: \(TaggedRun.summary(found))")
            }
        }

        /// Events come late by what real dongles show, so that data of the other pipe overtakes some of them.
        @Test func dataThatOvertakesItsConnectionIsNotLost() async throws {
            let result = try await TaggedRun.one(
                ["gap-conn/first-data", "--set", "times=80"], lateBy: .milliseconds(4)...(.milliseconds(11)))
            let subject = try #require(result.document.run.devices?.first { $0.side == "subject" }, "\(result.output)")
            #expect(result.code == 0, "\(result.output)")
            #expect(subject.held > 0 && subject.dropped == 0 && subject.worstWaitMs > 0 && subject.worstWaitMs < 100, "\(subject)")
            let evidence = result.document.cases.flatMap(\.evidence).filter { $0.side == "subject" && $0.packet == 0 }.map(\.text)
            #expect(evidence.contains { $0.hasPrefix("held \(subject.held) packet") }, "\(evidence)")
            #expect(result.output.contains("subject usb:1-2: held \(subject.held) packet"), "\(result.output)")
        }

        @Test func dataThatWaitsTooLongIsDroppedAndTheRunSaysSo() async throws {
            let result = try await TaggedRun.one(["gap-conn/first-data"], lateBy: .milliseconds(250)...(.milliseconds(250)))
            let subject = try #require(result.document.run.devices?.first { $0.side == "subject" }, "\(result.output)")
            #expect(result.code == 1, "\(result.output)")
            #expect(result.document.cases.map(\.verdict) == ["FAIL"])
            #expect(subject.dropped > 0, "\(subject)")
            #expect(result.output.contains("dropped \(subject.dropped) packet"), "\(result.output)")
            #expect(result.document.cases.flatMap(\.evidence).contains { $0.text.contains("dropped") })
        }
    }
#endif
