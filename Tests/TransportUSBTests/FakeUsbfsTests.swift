#if os(Linux)
    import Foundation
    import Packets
    import Simulation
    import Testing
    import Timing
    import VirtualDongle

    private let program = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
        .appendingPathComponent(".build/debug/bluebench").path
    private let preload = "libumockdev-preload.so.0"
    private let isPreloadInstalled = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"].contains {
        FileManager.default.fileExists(atPath: "\($0)/\(preload)")
    }

    /// Programs on unmodified libusb meet virtual dongles through a fake usbfs: `bluebench` in a process of its own, the simulation in this one.
    @Suite(
        .serialized, .enabled(if: isPreloadInstalled, "umockdev is not installed"),
        .enabled(if: FileManager.default.isExecutableFile(atPath: program), "bluebench was not built beside the tests"))
    struct FakeUsbfsTests {
        /// Two dongles on one air, and what programs did with them. `@unchecked Sendable`: lives on one loop.
        private final class Bus: @unchecked Sendable {
            let loop = Timing.RunLoop(mode: .wall)
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bb\(UInt32.random(in: 0 ... .max))").path
            let server: UsbfsServer

            init() throws {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                let configurations = (1...2).map { ControllerConfiguration(address: DeviceAddress(value: 0x02BB_0000_0000 + UInt64($0))) }
                let backend = try SimulatedBackend(Simulation(loop: loop, seed: 1), configurations: configurations, on: loop)
                server = try UsbfsServer(folder: folder, serialNumbers: ["BB1", "BB2"], on: loop) { [loop] in
                    try backend.pipe(to: $0, on: loop)
                }
            }

            deinit { try? FileManager.default.removeItem(atPath: folder) }

            /// Runs the program to its end; its exit code and what it printed, or nil when it had to be killed.
            func run(_ arguments: [String], within seconds: Int, meanwhile: (@Sendable () -> Void)? = nil, after: Microseconds = .zero)
                throws
                -> (code: Int32, output: String)?
            {
                let process = Process()
                process.executableURL = URL(fileURLWithPath: program)
                process.arguments = arguments
                process.environment = ProcessInfo.processInfo.environment.merging(["UMOCKDEV_DIR": folder, "LD_PRELOAD": preload]) { $1 }
                let output = folder + ".out"
                _ = FileManager.default.createFile(atPath: output, contents: nil)
                defer { try? FileManager.default.removeItem(atPath: output) }
                process.standardOutput = FileHandle(forWritingAtPath: output)
                process.standardError = process.standardOutput
                try process.run()
                let running = process
                let hasEnded = try loop.run { [loop] in
                    if let meanwhile { loop.schedule(after: after, meanwhile) }
                    let deadline = loop.now + .seconds(seconds)
                    while running.isRunning, loop.now < deadline { try await loop.sleep(for: 2_000) }
                    try await loop.sleep(for: 20_000)
                    return !running.isRunning
                }
                guard hasEnded else {
                    process.terminate()
                    return nil
                }
                return (process.terminationStatus, (try? String(contentsOfFile: output, encoding: .utf8)) ?? "")
            }
        }

        @Test func donglesAreListedWithWhatTheySay() throws {
            let bus = try Bus()
            let result = try #require(try bus.run(["devices", "--json", "--probe"], within: 20))
            #expect(result.code == 0)
            for text in ["usb:1-1", "usb:1-2", "02:BB:00:00:00:01", "BB2", "5.4"] {
                #expect(result.output.contains(text), "\(result.output)")
            }
            for index in 0..<2 {
                #expect(bus.server.counters(index).openHandles == 0)
                #expect(bus.server.counters(index).pending == 0)
            }
        }

        @Test func aSelectorThatFitsSeveralDonglesIsRefusedWithTheList() throws {
            let bus = try Bus()
            let result = try #require(try bus.run(["run", "hci/random-numbers", "--tester", "usb", "--subject", "usb:1-2"], within: 20))
            #expect(result.code != 0)
            #expect(result.output.contains("usb:1-1") && result.output.contains("usb:1-2"), "\(result.output)")
        }

        @Test func casesRunOverTwoDongles() throws {
            let bus = try Bus()
            let cases = ["hci/random-numbers", "hci/unsupported-command", "hci/reset-while-advertising", "hci/reset-while-connected"]
            let result = try #require(try bus.run(["run"] + cases + ["--tester", "usb:1-1", "--subject", "usb:1209:0001/BB2"], within: 60))
            #expect(result.code == 0, "\(result.output)")
            #expect(result.output.components(separatedBy: "PASS ").count == 1 + cases.count, "\(result.output)")
            for index in 0..<2 {
                #expect(bus.server.counters(index).openHandles == 0)
                #expect(bus.server.counters(index).pending == 0)
            }
        }

        @Test func aDonglePulledOutAtAnyMomentEndsTheRunAtOnce() throws {
            var random = RandomSource(seed: 7)
            for _ in 0..<50 {
                let bus = try Bus()
                let moment = Microseconds(Int.random(in: 5_000...900_000, using: &random))
                let victim = Int.random(in: 0...1, using: &random)
                let server = bus.server
                let ended = try bus.run(
                    ["run", "hci", "--tester", "usb:1-1", "--subject", "usb:1-2"], within: 15, meanwhile: { server.unplug(victim) },
                    after: moment)
                let result = try #require(ended, "the run hung after an unplug at \(moment.milliseconds) ms")
                #expect(result.code == 3, "\(moment.milliseconds) ms: \(result.output)")
                #expect(result.output.contains("INCONC") || result.output.contains("cannot reach usb:"), "\(result.output)")
                #expect(server.counters(1 - victim).openHandles == 0)
                #expect(server.counters(1 - victim).pending == 0)
            }
        }
    }
#endif
