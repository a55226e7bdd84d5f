#if os(Linux)
    import Foundation
    import BBPackets
    import BBSimulation
    import Testing
    import BBTiming
    import BBVirtualDongle

    /// Cases with the tag `usb`, run by `bluebench run` over libusb, with tester and subject on dongles of a fake usbfs.
    @Suite(.onFakeUSB)
    struct CasesOverUSBTests {
        /// A sample of the cases; all of them with SOAK=1.
        @Test func theVerdictsAreThoseInProcess() async throws {
            let expected = try TaggedRun.sample(of: 120, seed: 7)
            let found = try await TaggedRun.overUSB(expected)
            TaggedRun.compare(found, with: expected)
        }

        @Test(.enabled(if: TaggedRun.soaks, "set SOAK=1: it takes minutes and all cores"))
        func aBusyMachineChangesNoVerdict() async throws {
            let expected = try TaggedRun.inProcess()
            for turn in 1...10 {
                let found = try await TaggedRun.overUSB(expected, on: BusyMachine())
                TaggedRun.compare(found, with: expected)
                print("turn \(turn) beside busy processes on all cores: \(TaggedRun.summary(found))")
            }
        }

        /// 3 % packet loss, four background devices and a busy core: the device still passes. A sample of the cases; all of them, on ten
        /// airs, with SOAK=1.
        @Test func aBusyDeskFailsNoGoodDevice() async throws {
            let cases = try TaggedRun.sample(of: 40, seed: 8)
            for seed in 1...(TaggedRun.soaks ? 10 : 1) as ClosedRange<UInt64> {
                let found = try await TaggedRun.overUSB(cases, seed: seed, on: BusyMachine(cores: 1)) { simulation in
                    simulation.setLoss(corrupted: 0.03)
                    try simulation.settle(Neighbours(devices: 4))
                }
                #expect(found.map(\.id).sorted() == cases.map(\.id).sorted())
                for testCase in found where testCase.verdict == "FAIL" || testCase.verdict == "ERROR" {
                    Issue.record("air \(seed): \(testCase.id) is \(testCase.verdict): \(testCase.message)")
                }
                #expect(found.count { $0.verdict == "PASS" } * 5 >= cases.count * 4, "\(TaggedRun.summary(found))")
                if TaggedRun.soaks { print("air \(seed): \(TaggedRun.summary(found))") }
            }
        }

        /// Events are delayed as by real dongles, so that data on the other pipe overtakes some of them.
        @Test func dataThatOvertakesItsConnectionIsNotLost() async throws {
            let result = try await TaggedRun.one(
                ["gap-conn/first-data", "--set", "times=80"], lateBy: "4-11")
            let subject = try #require(result.document.run.devices?.first { $0.side == "subject" }, "\(result.output)")
            // What a busy machine delays by a quarter of a second is dropped, and the run says so.
            #expect((result.code == 0) == (subject.dropped == 0), "\(result.output)")
            #expect(subject.held > 0 && subject.worstWaitMs > 0, "\(subject)")
            #expect(subject.dropped == 0 && subject.worstWaitMs < 100 || result.starved > .milliseconds(50), "\(subject)")
            let evidence = result.document.cases.flatMap(\.evidence).filter { $0.side == "subject" && $0.packet == 0 }.map(\.text)
            #expect(evidence.contains { $0.hasPrefix("held \(subject.held) packet") }, "\(evidence)")
            #expect(result.output.contains("subject usb:1-2: held \(subject.held) packet"), "\(result.output)")
        }

        @Test func dataThatWaitsTooLongIsDroppedAndTheRunSaysSo() async throws {
            let result = try await TaggedRun.one(["gap-conn/first-data"], lateBy: "250")
            let subject = try #require(result.document.run.devices?.first { $0.side == "subject" }, "\(result.output)")
            #expect(result.code == 1, "\(result.output)")
            #expect(result.document.cases.map(\.verdict) == ["FAIL"])
            #expect(subject.dropped > 0, "\(subject)")
            #expect(result.output.contains("dropped \(subject.dropped) packet"), "\(result.output)")
            #expect(result.document.cases.flatMap(\.evidence).contains { $0.text.contains("dropped") })
        }
    }
#endif
