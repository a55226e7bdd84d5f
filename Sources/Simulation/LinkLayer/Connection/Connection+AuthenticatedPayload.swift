import Packets

/// The authenticated payload time-out. Core Vol 6, Part B, 5.4.
extension Connection {
    /// The time that the other side has to send something with a MIC.
    var authenticatedPayloadTimeout: Microseconds {
        get { state.encryption.payloadTimeout }
        set {
            state.encryption.payloadTimeout = newValue
            followEncryption()
        }
    }

    /// Sends so many encrypted PDUs with a wrong MIC.
    func spoilMIC(_ count: Int) { state.encryption.spoils = count }

    /// Encryption has begun, ended, or its time-out is another.
    func followEncryption() {
        guard state.encryption.isOn else { return payloadTimer.cancel() }
        state.encryption.restartPayloadTimeout(at: air.loop.now)
        payloadTimer.set(at: pingTime)
    }

    /// When a ping is due: the other side has four of its events, or half of the time.
    private var pingTime: Microseconds {
        let events = state.timing.interval * (1 + state.timing.peripheralLatency) * 4
        return state.encryption.lastAuthenticated + authenticatedPayloadTimeout - min(events, authenticatedPayloadTimeout / 2)
    }

    /// Like the supervision timer, it is set rarely.
    func superviseAuthentication() {
        guard !isClosed, state.encryption.isOn else { return }
        let now = air.loop.now
        let deadline = state.encryption.lastAuthenticated + authenticatedPayloadTimeout
        if now >= deadline {
            state.encryption.restartPayloadTimeout(at: now)
            delegate?.connectionAuthenticatedPayloadExpired(self)
        } else if now >= pingTime {
            if configuration.features.contains(.lePing), !engine.isBusy(with: .ping) { ping() }
            return payloadTimer.set(at: deadline)
        }
        payloadTimer.set(at: pingTime)
    }
}
