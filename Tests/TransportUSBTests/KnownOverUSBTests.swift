#if os(Linux)
    import Foundation
    import BBPackets
    import Testing
    import BBTiming
    import BBVirtualDongle

    /// USB workarounds from the table of known dongles, over libusb on the fake usbfs.
    @Suite(.serialized, .onFakeUSB)
    struct KnownOverUSBTests {
        private static func bus(_ quirks: [[String]]) throws -> QuirkBus { try QuirkBus(quirks.map { try DongleConduct($0) }) }

        private func start(_ bus: QuirkBus) throws -> [StartOutcome] {
            let outcomes = try #require(try bus.start(timeout: 0.5))
            #expect(outcomes.allSatisfy(\.isClean) && bus.server.leftBehind.pending + bus.server.leftBehind.claims == 0)
            return outcomes
        }

        @Test func whatIsOfNoUseIsRefusedBeforeItIsClaimed() throws {
            let bus = try Self.bus([["usb-id=08fd:0001"], []])
            let outcomes = try start(bus)
            #expect(outcomes[0].impediment?.contains("Digianswer") == true, "\(outcomes[0])")
            #expect(outcomes[1].impediment == nil && bus.server.counters(0).submitted == 0)
        }

        /// Both dongles respond only at every second opening; the port of the known one is reset first.
        @Test func thePortOfAKnownDongleIsResetFirst() throws {
            let bus = try Self.bus([["second-open-deaf", "usb-id=0a5c:21e8"], ["second-open-deaf"]])
            #expect(try start(bus).map(\.startup) == ["answered at once", "answered at once"])
            #expect(try start(bus).map(\.startup) == ["answered at once", "answered after a reset of the USB port"])
        }

        @Test func anEmptyPacketFollowsDataWhereItIsNeeded() throws {
            let bus = try Self.bus([["waits-for-zlp"]])
            let table = bus.folder + ".yaml"
            defer { try? FileManager.default.removeItem(atPath: table) }
            let row = "{id: x, name: n, match: {usb: \"1209:*\"}, conduct: c, source: s, advice: a, do: [needs-zero-length-packets]}"
            try "dongles:\n  - \(row)\n".write(toFile: table, atomically: true, encoding: .utf8)
            let program = try SpawnedProgram(
                ["devices", "usb:1-1", "--probe", "--json", "--listen", "1", "--known-dongles", table], folder: bus.folder)
            #expect(try program.end(on: bus.loop))
            program.reap()
            #expect(
                program.output.contains("\"needs-zero-length-packets\"") && !program.output.contains("\"waits-for-zlp\""),
                "\(program.output)")
        }

        /// Without it, some dongles are unresponsive at the next opening; others do not tolerate it.
        @Test(arguments: [false, true]) func theLastCommandIsAReset(isKnownToFail: Bool) throws {
            let bus = try Self.bus([[]])
            let table = bus.folder + ".yaml"
            defer { try? FileManager.default.removeItem(atPath: table) }
            let row = "{id: x, name: n, match: {usb: \"1209:*\"}, conduct: c, source: s, advice: a, do: [skips-reset-at-close]}"
            try "dongles:\n  - \(row)\n".write(toFile: table, atomically: true, encoding: .utf8)
            let program = try SpawnedProgram(["start", "usb:1-1"] + (isKnownToFail ? ["--known-dongles", table] : []), folder: bus.folder)
            #expect(try program.end(on: bus.loop))
            program.reap()
            let last = try #require(bus.server.traffic(0).lastCommand, "\(program.output)")
            #expect((last == HCICommands.Reset.opcode) != isKnownToFail, "\(last): \(program.output)")
        }

        @Test func aDongleIsKeptAwakeForTheRun() throws {
            let bus = try Self.bus([[]])
            try "auto\n".write(toFile: power(bus, "control"), atomically: false, encoding: .utf8)
            let outcomes = try start(bus)
            #expect(outcomes[0].learned["autosuspend"]?.contains("kept awake") == true, "\(outcomes[0])")
            #expect(try String(contentsOfFile: power(bus, "control"), encoding: .utf8) == "auto\n")
        }

        @Test func aCloneIsSuspendedOnceBeforeItIsOpened() throws {
            let bus = try Self.bus([["data-in-dead", "usb-id=0a12:0001", "usb-release=0x0134"]])
            try "2000\n".write(toFile: power(bus, "autosuspend_delay_ms"), atomically: false, encoding: .utf8)
            try "active\n".write(toFile: power(bus, "runtime_status"), atomically: false, encoding: .utf8)
            let program = try SpawnedProgram(["start", "usb:1-1", "--firmware", "none"], folder: bus.folder)
            let (server, loop, control, status) = (bus.server, bus.loop, power(bus, "control"), power(bus, "runtime_status"))
            let hasEnded = try loop.run {
                let deadline = loop.now + SpawnedProgram.timeout
                while !program.hasEnded, loop.now < deadline {
                    // Emulates the kernel.
                    if (try? String(contentsOfFile: control, encoding: .utf8)) == "auto\n" {
                        server.suspend(0)
                        try? "suspended\n".write(toFile: status, atomically: false, encoding: .utf8)
                    }
                    try await loop.sleep(for: .milliseconds(2))
                }
                return program.hasEnded
            }
            program.reap()
            #expect(hasEnded && program.output.contains("the system has suspended it once: done"), "\(program.output)")
            #expect(try String(contentsOfFile: power(bus, "control"), encoding: .utf8) == "on\n")
        }

        private func power(_ bus: QuirkBus, _ file: String) -> String { "\(bus.folder)/sys/devices/1-1/power/\(file)" }
    }
#endif
