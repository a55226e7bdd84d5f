import BBHCI
import BBHost
import BBPackets
import BBTiming

/// A session that pairs over LE and opens profiles over BR/EDR, on one host.
package final class BridgeSession {
    private let host: Host
    private let plan: BridgePlan
    private let screen: any Screen
    private let report: BridgeReport
    private var session: ProfileSession?
    private var hasFailed = false

    /// - Parameter side: `phone` or `accessory`, if both are reported.
    package init(_ host: Host, _ plan: BridgePlan, on screen: any Screen, side: String? = nil) {
        (self.host, self.plan, self.screen) = (host, plan, screen)
        report = BridgeReport(on: host.loop, screen, json: plan.isJSON, side: side)
        var settings = PairingSettings()
        settings.ioCapability = plan.compares ? .displayYesNo : .noInputNoOutput
        settings.asksForMITM = plan.compares
        host.pairingSettings = settings
        host.pairingDialogue = dialogue()
    }

    // MARK: Phone

    package func asPhone(_ peer: DeviceAddress, _ profiles: [ClassicProfile]) async throws {
        var settings = ConnectSettings()
        settings.limit = .seconds(plan.timeout)
        let bridge = try await host.connect(to: peer, bridging: profiles, settings) { [self] step in
            if case .paged = step { session = host.classicConnections.first?.profiles }
            tell(step)
        }
        session = bridge.profiles
        hasFailed = !bridge.failures.isEmpty
        let token = bridge.profiles.steps.add { [self] in tell(.profile($0)) }
        defer { bridge.profiles.steps.remove(token) }
        if bridge.profiles.isStreaming || bridge.profiles.hasAudio { try await play(bridge) }
        try await bridge.classic.drained()
        try await bridge.classic.disconnect()
        try await bridge.connection.disconnect()
    }

    /// Plays the tone for its duration, ends the audio connection, and suspends the stream.
    private func play(_ bridge: Bridge) async throws {
        let profiles = bridge.profiles
        do { _ = try await bridge.classic.ended(within: .seconds(plan.seconds)) } catch HostError.environment(.timedOut(.disconnection)) {}
        if let failure = host.failure { throw failure }
        try await profiles.endAudio()
        guard profiles.isStreaming else { return }
        let suspended = Promise<Void>(on: host.loop)
        let token = profiles.steps.add { if $0 == .suspended { suspended.fulfil(()) } }
        defer { profiles.steps.remove(token) }
        profiles.setStreaming(false)
        try await suspended.value(until: host.loop.now + .seconds(10))
    }

    // MARK: Accessory

    /// Accepts the connection of a phone and waits until it disconnects.
    package func asAccessory(_ profiles: Set<ClassicProfile>) async throws {
        let left = Promise<ErrorCode>(on: host.loop)
        // A phone may page before the advertising is confirmed.
        let arrived = Promise<Void>(on: host.loop)
        let token = host.newClassicConnections.add { _ in arrived.fulfil(()) }
        defer { host.newClassicConnections.remove(token) }
        try await offer(profiles, named: plan.advertised, left: left)
        report.tell(BridgeEvent("advertising", peer: host.address.argument), "advertising as '\(plan.advertised)', \(host.address)")
        do { try await arrived.value(until: host.loop.now + .seconds(plan.timeout)) } catch is TimeOut {
            throw CommandFailure(.fail, "no phone connected over BR/EDR within \(plan.timeout) s; --wait sets the time")
        }
        _ = try await left.value()
    }

    /// Accepts bridging and reports the events of the phone.
    package func offer(_ profiles: Set<ClassicProfile>, named name: String, left: Promise<ErrorCode>? = nil) async throws {
        host.newConnections.add { [self] link in
            tell(.connected(link.peer))
            link.events.add { [self] in
                switch $0 {
                case .paired(let result): tell(.paired(result))
                case .pairingFailed(let error): report.tell(BridgeEvent("failed", reason: "\(error)"), "the pairing failed: \(error)")
                default: break
                }
            }
        }
        host.newClassicConnections.add { [self] link in
            tell(.paged(link.address))
            link.events.add { [self] in
                switch $0 {
                case .secured(let level):
                    tell(.secured(level))
                    if link.isDowngraded { tell(.downgraded) }
                case .disconnected(let reason): left?.fulfil(reason)
                default: break
                }
            }
        }
        try await host.acceptBridging(profiles, named: name) { [self] started in
            session = started
            started.steps.add { [self] in tell(.profile($0)) }
        }
    }

    // MARK: Output

    private func tell(_ step: BridgeStep) {
        if case .profile(.audioEnded) = step, let session, let voice = session.voice {
            let (event, line) = BridgeEvent.audioEnded(session, voice)
            return report.tell(event, line)
        }
        report.tell(BridgeEvent(step), BridgeEvent.line(step))
    }

    /// Reports the transferred data after `work`, even if it fails.
    package func conclude(_ work: () async throws -> Void) async throws {
        do {
            try await work()
        } catch {
            summarize()
            let isInterrupted = error is CancellationError
            let failure = isInterrupted ? CommandFailure(.bench, "interrupted") : PairAdvice.failure(error)
            report.tell(BridgeEvent(isInterrupted ? "interrupted" : "failed", reason: failure.message), nil)
            throw failure
        }
        summarize()
        report.tell(BridgeEvent("ended"), "ended")
        if hasFailed { throw CommandFailure(.fail, "not every profile was connected; the lines above have the reasons") }
    }

    /// Reports the media sent or received.
    package func summarize() {
        guard let session, session.coding != nil else { return }
        var event = BridgeEvent("media")
        if let sink = session.sink {
            (event.packets, event.frames, event.lost, event.malformed) = (sink.packets, sink.frames, sink.lost, sink.malformed)
            report.tell(event, "taken: \(sink.packets) packets of \(sink.frames) frames, \(sink.lost) lost, \(sink.malformed) malformed")
        } else {
            (event.packets, event.dropped) = (session.mediaSent, session.mediaDropped)
            report.tell(event, "sent: \(session.mediaSent) packets, \(session.mediaDropped) of them dropped for lack of buffers")
        }
    }

    // MARK: Questions

    private func dialogue() -> PairingDialogue {
        var dialogue = PairingDialogue.unattended(accepts: true)
        dialogue.compare = { [self] _, number, answer in
            let digits = PairEvent.digits(number)
            var event = BridgeEvent("compare")
            event.number = digits
            report.tell(event, "does the other side show \(digits), too?" + (plan.accepts ? " yes" : " yes or no:"))
            if plan.accepts { return answer(true) }
            screen.ask { line in answer(["y", "yes"].contains(line?.lowercased().filter { !$0.isWhitespace })) }
        }
        return dialogue
    }
}
