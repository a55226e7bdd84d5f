import BBHCI
import BBPackets
import BBTiming
import BBTransport

/// Start of a dongle, and its return to the bus.
extension USBTransport {
    var mustResetPortFirst: Bool { workarounds.resetsPortFirst && absence.returns == 0 }

    func perform(_ action: StartupLadder.Action) {
        switch action {
        case .drain: break
        case .sendReset: ask()
        case .resetPort: device?.resetPort()
        case .ready(let step): becameReady(step)
        case .fail:
            finish(
                with: .unreachable(
                    "\(name): it does not answer HCI_Reset, not even after a reset of its port; \(adviceOnSilence)"))
        }
        watchLadder()
    }

    /// Sends the question to the device, as Linux does, since composite dongles were tested with it. If there is no answer, sends it to the
    /// interface. Core Vol 4, Part B, 2.2.
    private func ask() {
        if ladder.step == .secondReset, device?.layout.isComposite == true { device?.changeRecipient() }
        _ = device?.send(ladder.question)
    }

    private func becameReady(_ step: StartupStep) {
        startup = max(startup ?? step, step)
        noted.note(.staleData, "packets of the past came before the first command: thrown away", count: ladder.stale)
        if step > .firstReset { noted.note(.deafAtStart, "\(step)") }
        if device?.layout.isComposite == true, device?.oddities.addressesInterface == true {
            noted.note(.requestRecipient, "a composite device that takes commands sent to its interface, not to the device")
        }
        if backlog.isResetOpen { tellReset() }
        for packet in backlog.takeForStart() { pass(packet) }
        onReady?()
        onReady = nil
    }

    /// Answers the host's HCI_Reset if the reset made the dongle re-enumerate and its answer was lost.
    private func tellReset() {
        backlog.isResetOpen = false
        let answer = HCIPacket(complete: HCICommands.Reset.self, .init(status: .success))
        if let change = try? tracker.received(answer) { _ = order.changed(change, at: loop.now) }
        sink?.received(answer, at: loop.now)
    }

    private var adviceOnSilence: String {
        modes.isSerialised
            ? "it was in Bulk Serialization mode; try --usb-mode legacy" : "replug it, or use another port"
    }

    private func watchLadder() {
        if let timer = timers.ladder { loop.cancel(timer) }
        timers.ladder = ladder.deadline.map { deadline in
            loop.schedule(at: deadline) { [weak self] in
                guard let self, !isEnded else { return }
                timers.ladder = nil
                // Events that the thread received in time count, even if the loop is late.
                takeNews()
                guard !isEnded, startup == nil, timers.ladder == nil, !absence.isAway else { return }
                for action in ladder.timeOut(at: loop.now) { perform(action) }
            }
        }
    }

    /// Handles a halted endpoint: resets the port during the start; later, as that would clear the controller's state, ends the pipe.
    func halted(_ endpoint: UInt8) {
        if startup == nil, let actions = ladder.mustResetPort(at: loop.now) {
            for action in actions { perform(action) }
            return
        }
        let cure = startup == nil ? "not even a reset of its port helps" : "its port was reset"
        finishHalted(.unreachable("\(name): its endpoint 0x\(String(endpoint, radix: 16)) halts again whenever it is cleared; \(cure)"))
    }

    // MARK: Re-enumeration

    /// Possible cause of the departure; nil if only unplugging is left.
    private var causeOfDeparture: ReconnectState.Cause? {
        if loading.isActive { return .firmware }
        if startup == nil { return ladder.step.map { $0 == .portReset ? .portReset : .controllerReset } }
        return backlog.isResetOpen || !backlog.hasSpoken ? .controllerReset : nil
    }

    func departed(_ reason: TransportError) {
        probing.fail(.lost(name))
        guard case .lost = reason, let cause = causeOfDeparture else { return finishLost(reason) }
        let isExpected = workarounds.reenumeratesAtReset || absence.returns > 0 || cause != .controllerReset
        let limit = isExpected ? options.limits.expectedReconnectTime : options.limits.unexpectedReconnectTime
        guard absence.left(cause, at: loop.now, within: limit) else { return finishLost(reason) }
        account.leakedTransfers += device?.close() ?? 0
        device = nil
        startup = nil
        if let timer = timers.ladder { loop.cancel(timer) }
        timers.ladder = nil
        look(for: cause, after: reason)
    }

    private func look(for cause: ReconnectState.Cause, after reason: TransportError) {
        timers.reconnect = loop.schedule(after: ReconnectState.pause) { [weak self] in
            guard let self, !isEnded else { return }
            timers.reconnect = nil
            if let opening = try? USBOpening(description.location), opening.description.vendor == description.vendor {
                cameBack(opening, cause)
            } else if absence.isOver(at: loop.now) {
                finishLost(reason)
            } else {
                look(for: cause, after: reason)
            }
        }
    }

    private func cameBack(_ opening: USBOpening, _ cause: ReconnectState.Cause) {
        absence.ended(at: loop.now)
        noted.note(.reenumerated, "left the bus after \(cause.text) and came back")
        if description.serial != nil, opening.description.serial == nil { noted.note(.serialLost, "came back without its serial number") }
        description = opening.description
        ladder = StartupLadder(limits: options.limits, wasReset: cause == .controllerReset)
        voiceControl = VoiceControl(offered: opening.layout.voiceSettings, workarounds)
        modes.returned(offers: opening.layout.serialised != nil && !workarounds.avoidsSerialisedMode)
        for packet in order.changed(.reset, at: loop.now) { sink?.received(packet, at: loop.now) }
        use(opening)
        device?.start()
        if loading.isActive { loading.onReturn?() }
    }
}
