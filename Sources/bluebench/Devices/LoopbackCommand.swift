import ArgumentParser
import BBBench
import BBPackets
import BBReport
import BBSessions
import BBThroughput
import BBTiming
import BBTransport
import BBTransportUSB
import Foundation

/// `bluebench loopback`: measures the throughput of the transport to a controller, without any air.
struct LoopbackCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "loopback",
        abstract: "Measure the goodput of the transport to a controller in local loopback mode, without air.",
        discussion: """
            Puts the controller into local loopback mode (HCI_Write_Loopback_Mode), sends numbered packets with a checksum as fast as its buffers \
            allow, and names the limit. Compare with `bluebench throughput`: what the air carries cannot be more than this. The exit code is 1 when \
            a packet is lost, doubled, out of order or damaged.
            """)

    @Argument(help: .device) var device: String
    @Option(help: "Number of packets.", transform: Arguments.whole(1...Int.max)) var packets = 10_000
    @Option(help: "Octets of data in a packet. Default: the controller's buffer length.", transform: Arguments.whole(1...65_535))
    var octets: Int?
    @Flag(help: "Send voice on synchronous channels, at the rate of voice, instead of data.") var voice = false
    @Option(
        help: ArgumentHelp(
            "Change the mode of a USB dongle at this interval while packets are under way.", valueName: "ms", visibility: .hidden),
        transform: Arguments.whole(1...60_000))
    var switchEvery: Int?
    @Option(
        help: ArgumentHelp("Seconds to wait for an answer or the next packet.", visibility: .hidden), transform: Arguments.whole(1...3_600))
    var timeout = 2
    @Option(help: ArgumentHelp("Write the figures as JSON.", valueName: "file"), completion: .file()) var json: String?
    @OptionGroup var firmware: FirmwareOptions

    func run() throws {
        let signals = SignalHandler()
        let output = try json.map { try OutputFile($0) }
        var plan = LoopbackPlan()
        (plan.packets, plan.octets, plan.channel) = (packets, octets, voice ? .voice : .data)
        plan.timeout = .seconds(timeout)
        let loop = BBTiming.RunLoop(mode: .wall)
        let (result, leaked): (LoopbackResult, Int)
        do {
            let selector = try DeviceSelector(device)
            let opened = try firmware.open(selector, on: loop)
            plan.pipe = Self.pipe(selector, opened)
            (result, leaked) = try measure(plan, opened, loop, signals)
        } catch let error as LoopbackError {
            throw CommandFailure(Self.code(of: error), "\(device): \(error)")
        } catch {
            throw CommandFailure(error)
        }
        if let output { try output.write(ResultsJSON.encode(result)) }
        for line in Self.lines(result) { Console.line(line) }
        guard leaked == 0 else { throw CommandFailure(.bench, "\(device): \(leaked) USB transfers were not completed") }
        if !result.isClean { throw ExitCode.fail }
    }

    private func measure(_ plan: LoopbackPlan, _ device: BenchDevice, _ loop: BBTiming.RunLoop, _ signals: SignalHandler) throws
        -> (
            LoopbackResult, Int
        )
    {
        let usb = device.dongle
        let bench = LoopbackBench(plan, on: device.transport, loop: loop) { handles, longest throws(LoopbackError) in
            try Self.pace(usb, longest: longest)
        }
        signals.onStop(on: loop) { bench.stop() }
        let isMeasuring = Held(true)
        if let usb, let switchEvery { Self.switchModes(of: usb, every: .milliseconds(switchEvery), while: isMeasuring, on: loop) }
        let result = try loop.run {
            let work = loop.start { try await bench.measure() }
            await work.ended()
            isMeasuring.value = false
            await bench.leave()
            return try await work.value()
        }
        if plan.channel == .voice, let usb {
            let pipe = usb.voiceStatistics
            Console.line(
                "isochronous: \(pipe.lostFrames) frames lost, \(pipe.discarded) octets thrown away, \(usb.droppedVoice) packets not sent")
            if case .unavailable(let problem) = usb.voice { Console.complain("\(problem)") }
        }
        return (result, usb?.leakedTransfers ?? 0)
    }

    private final class Held {
        var value: Bool
        init(_ value: Bool) { self.value = value }
    }

    /// Changes the mode of a dongle again and again.
    private static func switchModes(of usb: USBTransport, every time: Microseconds, while isOn: Held, on loop: BBTiming.RunLoop) {
        loop.schedule(after: time) {
            guard isOn.value else { return }
            usb.select(serialised: !usb.isSerialised)
            switchModes(of: usb, every: time, while: isOn, on: loop)
        }
    }

    /// Returns the packet interval: over USB the packet's number of 1 ms frames, otherwise 3 ms.
    private static func pace(_ usb: USBTransport?, longest: Int) throws(LoopbackError) -> VoicePace {
        guard let usb, !usb.isSerialised else { return VoicePace(octets: longest, interval: .milliseconds(3)) }
        do throws(VoiceProblem) {
            let setting = try usb.voiceSetting()
            let octets = min(longest, setting.packetOctets)
            Console.line("voice: alternate setting \(setting.number), \(setting.frameSize) octets a frame")
            return VoicePace(octets: octets, interval: .milliseconds(setting.frames(for: octets)))
        } catch {
            throw .noVoice("\(error)")
        }
    }

    /// Returns the known properties of the transport.
    private static func pipe(_ selector: DeviceSelector, _ device: BenchDevice) -> LoopbackPipe? {
        if case .serial(_, let speed) = selector { return .serial(bitsPerSecond: Int(speed)) }
        switch device.dongle?.speed {
        case .full: return .fullSpeedBulk
        case .high: return .highSpeedBulk
        case .low, .superSpeed, nil: return nil
        }
    }

    private static func code(of error: LoopbackError) -> CommandFailure.Code {
        if case .wrongLength = error { .usage } else { .bench }
    }

    private static func lines(_ result: LoopbackResult) -> [String] {
        let figures = [
            String(format: "%.1f packets/s", result.packetsPerSecond), String(format: "%.1f kbit/s each way", result.kilobitsPerSecond),
            String(format: "round trip %.2f ms, worst %.2f ms", result.meanRoundTrip.milliseconds, result.worstRoundTrip.milliseconds),
        ]
        return [
            "\(result.returned) of \(result.sent) packets of \(result.octets) octets came back in "
                + String(format: "%.2f s", result.time.seconds)
                + (result.sent < result.planned ? "; then no buffer became free for the other \(result.planned - result.sent)" : ""),
            figures.joined(separator: "   "),
            "lost \(result.lost)   duplicated \(result.duplicated)   out of order \(result.reordered)   damaged \(result.corrupted)   "
                + "overflows \(result.overflows)",
            "limit: " + (result.limit.map { "\($0.rawValue): " } ?? "") + result.explanation,
        ]
    }
}
