import Bluebench
import Foundation
import Testing

/// A firmware in C, in a process of its own that shares the bench's virtual time: Examples/firmware.
@Suite struct FirmwareTests {
    private static let level: BluetoothUUID = 0x2A19

    /// Compiles the firmware and starts it on a controller of the bench.
    private func start(on dongle: OfferedDongle, in folder: URL) throws -> Process {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../firmware").standardized
        let program = folder.appending(path: "firmware")
        let files = ["firmware.c", "vt_h4.c"].map { sources.appending(path: $0).path() }
        let compiler = try Process.run(URL(filePath: "/usr/bin/env"), arguments: ["cc", "-std=c99", "-o", program.path()] + files)
        compiler.waitUntilExit()
        #expect(compiler.terminationStatus == 0)
        return try Process.run(program, arguments: ["127.0.0.1:\(dongle.port)"])
    }

    /// Its battery loses one percent each minute: an hour of virtual time.
    @Test func anHourOfTheBattery() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "firmware-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let bench = Bench()
        defer { bench.close() }
        let dongle = try #require(try bench.offer().first)
        let firmware = try start(on: dongle, in: folder)
        defer { firmware.terminate() }
        try bench.run {
            try await bench.waitForProgram()
            let phone = try await bench.simulated("Phone")
            let connection = try await phone.connect(to: dongle.address)
            let level = try await connection.discover().characteristic(Self.level)
            #expect(try await connection.read(level) == [100])
            let levels = try await connection.subscribe(to: level)
            for percent in (40...99).reversed() { #expect(try await levels.next(within: .seconds(61)) == [UInt8(percent)]) }
        }
    }
}
