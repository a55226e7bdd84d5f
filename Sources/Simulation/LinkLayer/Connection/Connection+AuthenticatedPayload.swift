import Packets

/// What follows a change of the link's encryption, and the authenticated payload time-out. Core Vol 6, Part B, 5.4.
extension Connection {
    /// The time that the other side has to send something with a MIC.
    var authenticatedPayloadTimeout: Microseconds { state.encryption.payloadTimeout }

    func setAuthenticatedPayloadTimeout(_ timeout: Microseconds) {
        let step = LinkEncryption.Step.payloadTimeout(timeout)
        apply(.encryption(step))
        follow(step)
    }

    /// Sends so many encrypted PDUs with a wrong MIC.
    func spoilMIC(_ count: Int) { apply(.encryption(.spoils(count))) }

    /// A step of the encryption has been made: the key goes to the air's log, and the other side's time begins anew while the link is encrypted.
    func follow(_ step: LinkEncryption.Step) {
        if role == .central, case .session(let session) = step { air.keyLog?(parameters.accessAddress, session.longTermKey) }
        guard state.encryption.isOn else { return payloadTimer.cancel() }
        restartPayloadTimer()
    }

    private func restartPayloadTimer() {
        apply(.encryption(.payloadTimerRestarted(at: air.loop.now)))
        payloadTimer.start()
    }

    /// When a ping is due: the other side has four of its events, or half of the time.
    var pingTime: Microseconds {
        let events = state.timing.interval * (1 + state.timing.peripheralLatency) * 4
        return state.encryption.lastAuthenticated + authenticatedPayloadTimeout - min(events, authenticatedPayloadTimeout / 2)
    }

    /// A ping is due, or the time is over.
    func payloadTimerExpired() {
        let deadline = state.encryption.lastAuthenticated + authenticatedPayloadTimeout
        if air.loop.now >= deadline {
            restartPayloadTimer()
            delegate?.connectionAuthenticatedPayloadExpired(self)
        } else {
            payloadTimer.start(at: deadline)
            if configuration.features.contains(.lePing), !engine.isBusy(with: .ping) { ping() }
        }
    }
}
