import BBHCI
import BBPackets
import BBTiming
import BBTransport
import Foundation
import Testing

@testable import BBCases
@testable import BBConformance

/// Resources of a case are limited, whatever the case and its peers do.
struct RunBoundsTests {
    private static let head = "title: t\npurpose: p\nreference: Core Vol 6, Part B, 5.1.10\n"

    private static func wait(for event: String, _ steps: String) -> String {
        "\(head)steps:\n  - until: \(event)\n    as: subject\n    states: It comes.\n    atMost: 10000\n    steps: [{repeat: 10, steps: [\(steps)]}]\n"
    }

    /// The maximum number of steps, none of which takes any time.
    @Test func stepsThatTakeNoTimeEndAtTheirLimit() throws {
        var bounds = RunBounds()
        let most = bounds.steps
        bounds.steps = most / 2
        let catalogue = try Trial.catalogue(with: Self.wait(for: "Disconnection_Complete", "{mark: x}"))
        var result = try Trial.run("phy/made", bounds: bounds, catalogue: catalogue) { [$1] }
        #expect(result.verdict == .inconclusive && result.message.contains("\(most / 2) steps"), "\(result.message)")
        bounds.steps = most
        result = try Trial.run("phy/made", bounds: bounds, catalogue: catalogue) { [$1] }
        #expect(result.verdict == .fail && result.message.contains("none came"), "\(result.message)")
        #expect(result.virtualMilliseconds < 100)
    }

    @Test func aCaseWhoseTimeStandsStillEndsByTheMachinesClock() throws {
        let catalogue = try Trial.catalogue(with: Self.wait(for: "Disconnection_Complete", "{mark: x}"))
        let result = try Trial.run("phy/made", bounds: RunBounds(machineTime: .milliseconds(5)), catalogue: catalogue) { [$1] }
        #expect(result.verdict == .inconclusive && result.message.contains("5 ms of the machine's time"), "\(result.message)")
    }

    @Test func aStoppedRunEndsAtTheNextStep() throws {
        let catalogue = try Trial.catalogue(with: Self.wait(for: "Disconnection_Complete", "{mark: x}"))
        let setup = BenchSetup(tester: .virtual, subject: .virtual, seed: 1)
        let plan = try RunPlan(catalogue: catalogue, setup: setup, filters: ["phy/made"])
        final class Stopper: RunObserver {
            var stop: () -> Void = {}
            var steps = 0
            func began(_ testCase: TestCase, index: Int) {}
            func reached(_ step: String, in testCase: TestCase) {
                steps += 1
                if steps == 50 { stop() }
            }
            func ended(_ result: CaseResult) {}
            func waits(for device: String, because reason: String, left: Microseconds) {}
            func isBack(_ device: String, after time: Microseconds) {}
        }
        let stopper = Stopper()
        let runner = Runner(plan, recorder: try Recorder(path: nil), observer: stopper)
        stopper.stop = { runner.stopping.raise() }
        let result = try runner.run()
        #expect(stopper.steps == 50 && result.cases.map(\.verdict) == [.inconclusive])
    }

    /// Packets that the capture cannot contain are numbered and reported.
    @Test func theCapturesOfARunAreBounded() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).btsnoop").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let recorder = try Recorder(path: path, mostOctets: 1 << 20)
        let packet = HCIPacket(eventCode: 0xFF, parameters: [UInt8](repeating: 1, count: 200))
        let numbers = (0..<10_000).map { recorder.record(packet, .controllerToHost, .subject, at: .milliseconds($0)) }
        try recorder.finish()
        #expect(numbers == Array(1...10_000))
        #expect(recorder.shortfall?.contains("full at 1 MiB") == true, "\(recorder.shortfall ?? "")")
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        #expect((1 << 19)...(2 << 20) ~= size)
    }

    /// A controller that answers one command with more packets than a case may observe, during a wait.
    @Test(arguments: [(RunBounds().packets + 10, 2, RunBounds()), (40_000, 60, RunBounds(octets: 1 << 20))])
    func aFloodEndsTheCase(_ count: Int, _ octets: Int, _ bounds: RunBounds) throws {
        let text = "\(Self.head)steps:\n  - {send: LE_Rand, as: subject}\n  - {check: 1, is: 1, states: One is one.}\n  - {wait: 5 s}\n"
        let flood = HCIPacket(eventCode: 0xFF, parameters: [UInt8](repeating: 1, count: octets))
        let result = try Trial.run("phy/made", bounds: bounds, catalogue: try Trial.catalogue(with: text)) { direction, packet in
            guard direction == .toHost, packet.completedOpcode == HCICommands.LERand.opcode else { return [packet] }
            return [packet] + [HCIPacket](repeating: flood, count: count)
        }
        #expect(result.verdict == .inconclusive, "\(result.message)")
        #expect(result.message.contains("from the subject") && result.message.contains("limit of a case"), "\(result.message)")
    }
}
