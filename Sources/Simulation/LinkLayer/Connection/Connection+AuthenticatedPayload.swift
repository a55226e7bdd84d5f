import BBPackets

/// Effects of encryption changes, and the authenticated payload timeout. Core Vol 6, Part B, 5.4.
extension Connection {
    /// authenticatedPayloadTO: maximum time without a received packet with a valid MIC.
    var authenticatedPayloadTimeout: Microseconds { state.encryption.payloadTimeout }

    func setAuthenticatedPayloadTimeout(_ timeout: Microseconds) {
        let step = LinkEncryption.Step.payloadTimeout(timeout)
        apply(.encryption(step))
        follow(step)
    }

    /// Sends the next `count` encrypted PDUs with a wrong MIC.
    func spoilMIC(_ count: Int) { apply(.encryption(.spoils(count))) }

    /// Called after each encryption step: logs a new key and restarts the authenticated payload timer of an encrypted link.
    func follow(_ step: LinkEncryption.Step) {
        if role == .central, case .session(let session) = step { air.keyLog?(parameters.accessAddress, session.longTermKey) }
        guard state.encryption.isOn else { return payloadTimer.cancel() }
        restartPayloadTimer()
    }

    private func restartPayloadTimer() {
        apply(.encryption(.payloadTimerRestarted(at: air.loop.now)))
        payloadTimer.start()
    }

    /// Time of the next ping: the peer gets four of its events to reply, but at most half of the timeout.
    var pingTime: Microseconds {
        let events = state.timing.time(untilHeard: 4)
        return state.encryption.lastAuthenticated + authenticatedPayloadTimeout - min(events, authenticatedPayloadTimeout / 2)
    }

    /// Sends a ping if it is due, or reports an expired timeout.
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
