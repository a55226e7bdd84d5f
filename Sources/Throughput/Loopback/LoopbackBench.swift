import BBPackets
import BBTiming
import BBTransport

/// A loopback test on a transport, which measures the limits of the pipe and of the controller's buffers without the air.
///
/// It talks to the controller directly, without a host stack.
public final class LoopbackBench {
    public let loop: RunLoop

    private let transport: any HCITransport
    private var run: LoopbackRun
    private let done: Promise<LoopbackResult>
    /// Fulfilled by the answer to the final reset.
    private var left: Promise<Void>?
    private var timer: Timer?

    /// - Parameter voicePace: the voice pace for a number of handles and a maximum packet length; called once the mode is on.
    public init(
        _ plan: LoopbackPlan, on transport: any HCITransport, loop: RunLoop,
        voicePace: @escaping (_ handles: Int, _ longest: Int) throws(LoopbackError) -> VoicePace = { _, longest in
            VoicePace(octets: longest, interval: .milliseconds(3))
        }
    ) {
        self.loop = loop
        self.transport = transport
        run = LoopbackRun(plan, voicePace: voicePace)
        done = Promise(on: loop)
    }

    /// Runs the test; the transport stays open.
    ///
    /// - Throws: `LoopbackError`.
    public func measure() async throws -> LoopbackResult {
        do throws(TransportError) { try transport.open(self) } catch { throw LoopbackError.transport(error) }
        run.start(at: loop.now) { transport.send($0) }
        watch()
        return try await done.value()
    }

    /// Resets the controller, which ends loopback mode in any state, and closes the transport, within half a second.
    public func leave() async {
        let answered = Promise<Void>(on: loop)
        left = answered
        await loop.cleanUp(within: .milliseconds(500)) { [self] in
            transport.send(HCIPacket(command: HCICommands.Reset()))
            try await answered.value()
        }
        transport.close()
    }

    /// Ends the test early and keeps the results so far.
    public func stop() {
        run.stop(at: loop.now) { transport.send($0) }
        settle()
    }

    private func settle() {
        switch run.outcome {
        case .result(let result): done.fulfil(result)
        case .failure(let error): done.fail(error)
        case nil: return watch()
        }
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    /// Time for which the timer is set: at most the deadline of the run, which moves with every packet.
    private var watched = Microseconds.never

    private func watch() {
        if let timer { loop.cancel(timer) }
        watched = run.deadline
        timer = loop.schedule(at: run.deadline) { [weak self] in
            guard let self else { return }
            timer = nil
            watched = .never
            if run.deadline <= loop.now { run.timeOut(at: loop.now) { transport.send($0) } }
            settle()
        }
    }
}

extension LoopbackBench: HCITransportSink {
    public func received(_ packet: HCIPacket, at time: Microseconds) {
        if packet.completedOpcode == HCICommands.Reset.opcode { left?.fulfil(()) }
        run.received(packet, at: time, now: loop.now) { transport.send($0) }
        if run.deadline < watched || run.outcome != nil { settle() }
    }

    public func closed(_ reason: TransportError) {
        done.fail(LoopbackError.transport(reason))
        left?.fulfil(())
        if let timer { loop.cancel(timer) }
        timer = nil
    }
}
