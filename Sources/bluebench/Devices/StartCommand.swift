import ArgumentParser
import BBTiming
import BBTransport
import BBTransportUSB
import Foundation

/// Starts hosts on several devices concurrently, scans and advertises, and reports the result, for tests of dongles.
struct StartCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "start", abstract: "Start a host on each device and print the outcome.", shouldDisplay: false)

    @Argument(help: .device) var devices: [String]
    @OptionGroup var firmware: FirmwareOptions

    func run() throws {
        let loop = BBTiming.RunLoop(mode: .wall)
        let selectors = try devices.map { try DeviceSelector($0) }
        let opener = try firmware.opener()
        let outcomes = try loop.run { [slowness = firmware.usbTimeout] in
            let trials = selectors.map { selector in
                loop.start { await StartTrial.run(selector, opener, slowness: slowness, on: loop) }
            }
            var outcomes: [StartTrial.Outcome] = []
            for trial in trials { outcomes.append(try await trial.value()) }
            return outcomes
        }
        let isClean = USBTally.current.isClean
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        for var outcome in outcomes {
            outcome.isClean = isClean
            Console.line(String(decoding: try encoder.encode(outcome), as: UTF8.self))
        }
        if !isClean { throw ExitCode.bench }
    }
}
