import BBHost
import BBPackets
import BBTiming

/// Pipes between channels and this machine, with messages about their progress.
final class LocalPipes {
    private let loop: RunLoop
    private let screen: any Screen
    private let keepsOpen: Bool
    private let showsProgress: Bool
    private var pipes: [LocalPipe] = []
    private var opening: [Activity<Void>] = []
    private let end: Promise<Void>
    private var listener: LoopbackListener?
    /// A channel that its peer refused, broke off or kept without credits.
    private var fault: HostError?

    /// Time for the peer to acknowledge what the controller has, before the link is disconnected.
    private static let drainTime = Microseconds.seconds(5)

    init(_ host: Host, on screen: any Screen, keepsOpen: Bool, showsProgress: Bool) {
        (loop, self.screen, self.keepsOpen, self.showsProgress) = (host.loop, screen, keepsOpen, showsProgress)
        end = Promise(on: host.loop)
    }

    // MARK: Pipes

    /// Joins channels with a local end.
    ///
    /// - Parameter isLast: the command ends with this pipe.
    func add(_ channels: [CreditBasedChannel], local: LocalEnd, isLast: Bool = false) {
        let pipe = LocalPipe(channels, local, keepsOpen: keepsOpen, on: loop)
        pipes.append(pipe)
        for channel in channels {
            screen.complain(
                "\(L2CAPSession.title(channel)): open, SDUs of \(channel.peerMTU) octets, K-frames of \(channel.peerMPS), \(channel.credits) credits"
            )
        }
        pipe.onEnd = { [weak self, unowned pipe] in self?.ended(pipe, isLast: isLast) }
        pipe.start()
    }

    /// Joins channels with a new TCP connection to a port of this machine.
    func add(_ channels: [CreditBasedChannel], connectingTo port: UInt16) {
        do { add(channels, local: try LoopbackSocket.connect(to: port, on: loop)) } catch {
            screen.complain("\(CommandFailure(error).message)")
            for channel in channels { channel.disconnect() }
        }
    }

    /// Opens a channel for each TCP connection.
    func serve(_ listener: LoopbackListener, _ open: @escaping () async throws -> CreditBasedChannel) {
        self.listener = listener
        listener.start { [self] local in
            opening.removeAll(where: \.isOver)
            opening.append(
                loop.start { [self] in
                    do { add([try await open()], local: local) } catch {
                        screen.complain("no channel: \(CommandFailure(error).message)")
                        local.close()
                    }
                })
        }
    }

    private func ended(_ pipe: LocalPipe, isLast: Bool) {
        if screen.showsProgress { screen.progress("") }
        let names = pipe.channels.map(L2CAPSession.title).joined(separator: ", ")
        let end = pipe.reason.map { "\($0)" } ?? "closed"
        screen.complain("\(names): \(figures(pipe)); \(end)")
        if let reason = pipe.reason, Self.isFault(reason), fault == nil { fault = reason }
        pipes.removeAll { $0 === pipe }
        if isLast { self.end.fulfil(()) }
    }

    private static func isFault(_ reason: HostError) -> Bool {
        switch reason {
        case .peer(.channel(.byPeer)), .peer(.channel(.byThisSide)): false
        default: true
        }
    }

    /// - Throws: the fault for which a pipe ended, if one did.
    func check() throws {
        if let fault, listener == nil { throw fault }
    }

    // MARK: Run

    /// Runs the pipes until the last one has ended, the link is lost, or Ctrl-C, which closes the channels.
    func run(until link: ACLLink?, _ begin: () -> Void) async throws {
        begin()
        tick()
        let lost = link.map { link in
            loop.start { [self] in
                _ = try await link.ended(within: .seconds(86_400 * 365))
                // What has arrived is still written.
                while !pipes.isEmpty { try await loop.sleep(for: .milliseconds(10)) }
                end.fulfil(())
            }
        }
        defer {
            lost?.cancel()
            listener?.close()
        }
        do { try await end.value() } catch is CancellationError {
            await loop.cleanUp(within: .seconds(2)) { [self] in
                for pipe in pipes { pipe.close() }
                while !pipes.isEmpty || link?.hasUnsent == true { try await loop.sleep(for: .milliseconds(5)) }
            }
        }
        for activity in opening { activity.cancel() }
        for pipe in pipes where !pipe.isOver { pipe.close() }
    }

    /// Waits until the peer has acknowledged everything, as far as it does.
    func drain(_ link: ACLLink) async {
        await loop.cleanUp(within: Self.drainTime) { [loop] in
            while link.hasUnsent { try await loop.sleep(for: .milliseconds(5)) }
        }
    }

    // MARK: Progress

    private func tick() {
        guard screen.showsProgress || showsProgress else { return }
        loop.schedule(after: .seconds(1)) { [weak self] in
            guard let self, !end.isSettled else { return }
            for pipe in pipes {
                if screen.showsProgress { screen.progress(figures(pipe)) } else { screen.complain(figures(pipe)) }
            }
            tick()
        }
    }

    private func figures(_ pipe: LocalPipe) -> String {
        let seconds = max(0.001, (loop.now - pipe.begin).seconds)
        let rate = Double(pipe.sent + pipe.received) * 8 / 1_000 / seconds
        return "sent \(pipe.sent) octets, received \(pipe.received), "
            + "\((seconds * 10).rounded() / 10) s, \((rate * 10).rounded() / 10) kbit/s"
    }
}

extension ACLLink {
    /// True if the peer has not acknowledged everything that was sent.
    fileprivate var hasUnsent: Bool { isConnected && queuedFragments + fragmentsInController > 0 }
}
